import { button, byId, counted } from "../../web/dom.js";
import { ImageGrid } from "../../web/image_grid.js";
import { Viewer } from "../../web/viewer.js";
import { category, data, describe, isKnown, original, path, picture, status, sureness, total } from "./page_data.js";
import { Filter } from "./page_filter.js";
import { createPageMap } from "./page_map.js";
import { fillTiles } from "./page_tiles.js";

let lassoed = null; // rows inside the last lasso, null without one

const viewer = new Viewer({
  full: original,
  small: picture,
  title: (row) => data.names[row],
  facts: (row) => [
    ["Category", category(row)],
    ["Status", { labelled: "labelled by you", known: "found in a known class", new: "in a new group" }[status(row)]],
    ["Model says", sureness(row)],
    ...(data.groups.length > 1 ? [["Second choice", `${data.groups[data.second[row]]} at ${data.secondShare[row]} %`]] : []),
  ],
  actions: [["Show its category", "c", (row) => {
    viewer.dialog.close();
    toMap({ group: data.group[row] });
  }]],
});

const grid = new ImageGrid({
  box: byId("list"), label: "Images that pass the filters", thumb: picture, describe,
  badge: (row) => (isKnown(row) ? "●" : "✚"),
  onOpen: (row, order) => viewer.show(row, order),
  onSelect: () => told(),
  onActive: (row) => map.ring(row),
});
grid.scale = 0.9;

const map = createPageMap({
  onPick(row) {
    lassoed = null;
    filter.set({ group: row < 0 || filter.group === data.group[row] ? -1 : data.group[row] });
  },
  onLasso(rows) {
    lassoed = new Set(rows);
    refresh();
  },
});

const filter = new Filter(() => {
  lassoed = null;
  refresh();
});

function refresh() {
  const rows = lassoed ? filter.rows().filter((row) => lassoed.has(row)) : filter.rows();
  byId("list").hidden = !rows.length;
  grid.show(rows);
  const where = filter.group >= 0 ? ` in ${data.groups[filter.group]}` : "";
  byId("count").textContent = `${rows.length} of ${total} images${where}${lassoed ? " inside the lasso" : ""}`;
  byId("lasso-clear").hidden = !lassoed;
  map.show(lassoed ? rows : rows.length === total ? [...data.group.keys()] : rows);
  told();
}

/** What is selected, and what can be done with it. */
function told() {
  const chosen = grid.selected();
  byId("selected").textContent = chosen.length ? `${counted(chosen.length, "image")} selected` : "";
  byId("copy").disabled = byId("select-none").disabled = !chosen.length;
  map.select(chosen);
}

/** Paths of the selection, one per line; where a page may not write the clipboard, in a field to copy from. */
async function copyPaths() {
  const text = grid.selected().map(path).join("\n");
  const field = byId("paths");
  try {
    await navigator.clipboard.writeText(text);
    byId("selected").textContent = `${counted(grid.selection.size, "path")} copied`;
    field.hidden = true;
  } catch {
    field.value = text;
    field.hidden = false;
    field.select();
    byId("selected").textContent = "Press Ctrl+C to copy the paths below";
  }
}

function toMap(changes) {
  filter.only(changes);
  byId("map").scrollIntoView();
  byId("filter-group").focus({ preventScroll: true });
}

/** The finding's or card's tiles around one are what next and previous go through. */
function viewTile(tile) {
  const around = [...tile.closest(".tiles").querySelectorAll(".tile")].map((other) => Number(other.dataset.row));
  viewer.show(Number(tile.dataset.row), around);
}

function showMore(target) {
  const hidden = target.parentElement.querySelectorAll(".more[hidden]");
  for (const item of hidden) item.hidden = false;
  target.hidden = true;
  hidden[0].querySelector("button").focus();
}

document.addEventListener("click", ({ target }) => {
  const pressed = target.closest("button");
  if (!pressed) return;
  if (pressed.matches(".tile")) viewTile(pressed);
  else if (pressed.matches("[data-group]")) toMap({ group: Number(pressed.dataset.group) });
  else if (pressed.matches("[data-kind]")) toMap({ kind: pressed.dataset.kind });
  else if (pressed.matches(".show-more")) showMore(pressed);
});
byId("list-tools").prepend(
  button("Copy paths", copyPaths, { id: "copy", disabled: true }),
  button("Select all", () => grid.selection.replace(grid.order)),
  button("Select none", () => grid.selection.clear(), { id: "select-none", disabled: true }),
  button("Leave the lasso", () => { lassoed = null; refresh(); }, { id: "lasso-clear", hidden: true }));
fillTiles();
refresh();
