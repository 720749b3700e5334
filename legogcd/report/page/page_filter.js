import { byId } from "../../web/dom.js";
import { data, isKnown, status, total } from "./page_data.js";

const NOTHING = { group: -1, kind: "all", text: "", order: "unsure" };
const orders = {
  unsure: (a, b) => data.confidence[a] - data.confidence[b] || a - b,
  sure: (a, b) => data.confidence[b] - data.confidence[a] || a - b,
  name: (a, b) => (data.names[a] < data.names[b] ? -1 : data.names[a] > data.names[b] ? 1 : a - b),
};

/** What the person wants to see of all images: the filters' fields and their values, always the same. */
export class Filter {
  /** @param {() => void} changed */
  constructor(changed) {
    Object.assign(this, NOTHING);
    this.changed = changed;
    this.fillGroups();
    byId("filter-group").addEventListener("change", ({ target }) => this.set({ group: target.value === "" ? -1 : Number(target.value) }));
    byId("filter-kind").addEventListener("change", ({ target }) => this.set({ kind: target.value }));
    byId("order").addEventListener("change", ({ target }) => this.set({ order: target.value }));
    byId("filter-text").addEventListener("input", ({ target }) => {
      this.text = target.value.trim().toLowerCase();
      changed();
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("filters").addEventListener("reset", (event) => {
      event.preventDefault();
      this.set(NOTHING);
    });
  }

  /** Everything but this is shown again. */
  only(changes) {
    this.set({ ...NOTHING, order: this.order, ...changes });
  }

  set(changes) {
    Object.assign(this, changes);
    byId("filter-group").value = this.group < 0 ? "" : String(this.group);
    byId("filter-kind").value = this.kind;
    byId("filter-text").value = this.text;
    byId("order").value = this.order;
    this.changed();
  }

  passes(row) {
    if (this.group >= 0 && data.group[row] !== this.group) return false;
    if (this.kind === "unsure" ? data.labelled[row] || !data.unsure[row]
      : this.kind === "new" ? isKnown(row)
      : this.kind !== "all" && status(row) !== this.kind) return false;
    return !this.text || data.names[row].toLowerCase().includes(this.text);
  }

  /** The rows that pass, in the order wanted. */
  rows() {
    const passing = [];
    for (let row = 0; row < total; row++) if (this.passes(row)) passing.push(row);
    return passing.sort(orders[this.order]);
  }

  fillGroups() {
    for (const [title, known] of [["New groups", 0], ["Known classes", 1]]) {
      const part = document.createElement("optgroup");
      part.label = title;
      data.groups.forEach((name, group) => {
        if (data.known[group] === known) part.append(new Option(`${known ? "●" : "✚"} ${name}`, String(group)));
      });
      if (part.childElementCount) byId("filter-group").append(part);
    }
  }
}
