import { button, counted, el } from "/web/dom.js";
import { mergeGroups, nameGroup } from "./ask.js";
import { groupCard } from "./group_card.js";
import { bind, describe } from "./keys.js";
import { showSplit } from "./split_view.js";
import { store } from "./store.js";

const orders = {
  size: ["Size", (a, b) => b.size - a.size],
  doubt: ["Doubt", (a, b) => b.unsure - a.unsure || a.confidence - b.confidence],
  suspicion: ["Suspicion", (a, b) => suspicious(b) - suspicious(a) || b.size - a.size],
  name: ["Name", (a, b) => (a.id < b.id ? -1 : 1)],
};
const suspicious = (group) => group.suspicions.reduce((sum, found) => sum + 1 + found.images.length, 0);

/** All groups as cards. `go` leads to other views. */
export function createGroupsView(go) {
  const wanted = { order: "size", hideNamed: false };
  const marked = new Set();
  let at = null; // the group under the keys
  const cards = el("div", { class: "cards", role: "list", "aria-label": "Groups" });
  const order = el("select", { "aria-label": "Order of groups", on: { change: () => { wanted.order = order.value; draw(); } } },
    ...Object.entries(orders).map(([value, [text]]) => new Option(`By ${text.toLowerCase()}`, value)));
  const hide = el("input", { type: "checkbox", on: { change: () => { wanted.hideNamed = hide.checked; draw(); } } });
  const count = el("p", { class: "view-count", role: "status" });
  const merge = button("Merge marked", () => mergeMarked(), { class: "quiet", hidden: true });
  const root = el("section", { class: "view groups-view", "aria-label": "Groups" },
    el("div", { class: "view-bar" }, count, order, el("label", { class: "check" }, hide, "Hide named groups"), merge,
      el("span", { class: "key-hint" }, "Drag a card onto another to merge them. ", el("kbd", {}, "?"), " shows all keys.")),
    cards);

  const shown = () => store.state.groups
    .filter((group) => !(wanted.hideNamed && (group.named || group.status === "known" || group.aside)))
    .sort((a, b) => Number(a.aside) - Number(b.aside) || orders[wanted.order][1](a, b));

  const acts = (group) => ({
    open: () => go("images", { group: group.id }),
    split: () => group.size > 1 && showSplit(group.id),
    confirm: () => store.edit({ edit: "confirm", groups: [group.id] }),
    aside: () => store.edit({ edit: "aside", groups: [group.id] }),
    merge: () => mergeGroups([group.id]),
    accept: () => group.suggestion && nameGroup(group.id, group.suggestion.name),
    suspects: (ids, text) => go("images", { ids, title: text }),
    drop: (from) => store.edit({ edit: "merge", into: group.id, groups: [from] }),
    written: () => draw(),
  });

  let made = new Map(); // group → [its state as text, card]

  function draw() {
    if (!store.state || cards.querySelector(".card-title input")) return; // nothing moves under the hands of someone who writes a name
    const groups = shown();
    const fresh = new Map();
    const active = document.activeElement?.closest?.(".group-card")?.dataset.group ?? null;
    for (const group of groups) {
      const key = JSON.stringify(group);
      const old = made.get(group.id);
      fresh.set(group.id, old && old[0] === key ? old : [key, groupCard(group, acts(group))]);
    }
    made = fresh;
    const next = [...fresh.values()].map(([, card]) => card);
    if (next.length !== cards.children.length || next.some((card, number) => card !== cards.children[number])) cards.replaceChildren(...next);
    for (const id of [...marked]) if (!fresh.has(id)) marked.delete(id);
    const hidden = store.state.groups.length - groups.length;
    count.textContent = counted(groups.length, "group") + (hidden ? `, ${hidden} hidden` : "");
    if (!groups.length) cards.append(el("p", { class: "card" }, "Every group has a name. Show them again, or train the next round."));
    roam(at !== null && fresh.has(at) ? at : groups[0]?.id ?? null, active !== null);
    drawMarks();
  }

  /** One card can be reached with Tab; arrows go on from there. */
  function roam(id, focus = true) {
    at = id;
    for (const [other, [, card]] of made) card.tabIndex = other === id ? 0 : -1;
    const card = id !== null ? made.get(id)?.[1] : null;
    if (focus && card) {
      card.focus();
      card.scrollIntoView({ block: "nearest" });
    }
  }

  function drawMarks() {
    for (const [id, [, card]] of made) {
      card.classList.toggle("marked", marked.has(id));
      card.setAttribute("aria-label", `${card.dataset.words}${marked.has(id) ? ", marked" : ""}`);
    }
    merge.hidden = !marked.size;
    merge.textContent = `Merge ${counted(marked.size, "marked group")} …`;
  }

  async function mergeMarked() {
    const from = marked.size ? [...marked] : at !== null ? [at] : [];
    if (from.length && (await mergeGroups(from))) marked.clear();
    drawMarks();
  }

  function step(by) {
    const ids = [...made.keys()];
    roam(ids[Math.max(0, Math.min(ids.length - 1, ids.indexOf(at) + by))] ?? null);
  }

  const columns = () => {
    const tops = [...cards.children].map((card) => card.offsetTop);
    return Math.max(1, tops.filter((top) => top === tops[0]).length);
  };
  const here = () => (at !== null ? store.group(at) : null);
  const withGroup = (act) => () => { const group = here(); if (group) act(acts(group), group); };

  cards.addEventListener("focusin", ({ target }) => {
    const card = target.closest(".group-card");
    if (card && card.dataset.group !== at) roam(card.dataset.group, false);
  });
  describe("groups", ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], "From card to card");
  for (const [key, by] of [["ArrowLeft", () => -1], ["ArrowRight", () => 1], ["ArrowUp", () => -columns()], ["ArrowDown", () => columns()]]) {
    bind("groups", key, "", () => step(by()), { hidden: true });
  }
  bind("groups", ["Enter", "o"], "Open: look at its images", withGroup((act) => act.open()));
  bind("groups", "n", "Name it, in place", withGroup((_, group) => !group.aside && made.get(group.id)[1].rename()));
  bind("groups", "a", "Accept the suggested name", withGroup((act) => act.accept()));
  bind("groups", "c", "Confirm: all its images are right", withGroup((act) => act.confirm()));
  bind("groups", "s", "Split: show the parts it may be made of", withGroup((act) => act.split()));
  bind("groups", " ", "Mark, to merge several", withGroup((_, group) => {
    marked.has(group.id) ? marked.delete(group.id) : marked.add(group.id);
    drawMarks();
  }));
  bind("groups", "g", "Merge it, or those marked, into another", () => mergeMarked());
  bind("groups", "x", "Set aside: nothing that belongs here", withGroup((act) => act.aside()));
  bind("groups", "h", "Hide or show named groups", () => hide.click());

  return { name: "groups", title: "Groups", root, update: draw, enter: () => { draw(); roam(at, true); }, leave: () => cards.querySelector(".card-title input")?.blur() };
}
