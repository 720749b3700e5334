import { button, counted, el, percent, visible } from "/web/dom.js";
import { ImageGrid } from "/web/image_grid.js";
import { Viewer } from "/web/viewer.js";
import { full, get, thumb } from "./api.js";
import { moveImages, nameChoices, nameGroup, ask } from "./ask.js";
import { facts } from "./image_facts.js";
import { bindImageKeys } from "./image_keys.js";
import { createMapSide } from "./map_side.js";
import { showSplit } from "./split_view.js";
import { store } from "./store.js";

const BADGES = [[8, "!"], [2, "✓"], [4, "●"], [1, "?"]]; // the first that fits is shown
const LIKE = 200;

/**
 * Images to look at and to put right: those of a group in the order by likeness, those in a lasso, those like others.
 * @typedef {{group?: string, ids?: number[], title?: string}} Wanted
 */
export function createImagesView(go) {
  /** @type {Wanted} */
  let wanted = {};
  let flags = new Map();
  let asking = 0;
  const heading = el("h2", {});
  const about = el("p", { class: "facts", role: "status" });
  const chosen = el("p", { class: "chosen", role: "status", "aria-live": "polite" });
  const box = el("div", { class: "images-box" });
  const side = el("div", { class: "map-side", hidden: true });

  const grid = new ImageGrid({
    box, thumb, label: "Images", describe: (id) => facts.words(id), need: (ids) => facts.need(ids),
    badge: (id) => BADGES.find(([bit]) => (flags.get(id) ?? 0) & bit)?.[1] ?? "",
    onOpen: (id, order) => viewer.show(id, order), onSelect: () => told(), onActive: (id) => map.ring(id),
  });
  const map = createMapSide(side, {
    onLasso: (ids) => show({ ids, title: "Inside the lasso" }),
    onPick: (id) => { if (id >= 0 && !grid.goToImage(id)) show({ group: store.state.groups.find((group) => group.id === map.groupOf(id))?.id }).then(() => grid.goToImage(id)); },
  });
  const viewer = new Viewer({
    full, small: thumb, title: (id) => facts.name(id), facts: (id) => facts.table(id),
    onShow: (id) => facts.need([id])?.then(() => viewer.id === id && viewer.open && viewer.describe()),
    actions: [
      ["Select", " ", (id) => { grid.selection.put([id], !grid.selection.has(id)); viewer.note.textContent = grid.selection.has(id) ? "Selected" : "Not selected"; viewer.note.hidden = false; }],
      ["Move …", "m", (id) => move([id])],
      ["More like this", "l", (id) => { viewer.dialog.close(); similar([id]); }],
      ["Not an image of anything here", "x", (id) => store.edit({ edit: "aside", images: [id] })],
    ],
  });

  const tool = (text, key, act, title = "") => button(text, act, { class: "quiet", title: `${title || text} (${key})`, "aria-keyshortcuts": key });
  const onGroup = ["Name", "Split"].map((text, at) => tool(text, text[0], at ? () => wanted.group && showSplit(wanted.group) : () => rename()));
  const mapButton = button("Map", () => toggleMap(), { class: "quiet", "aria-pressed": "false", title: "Show the map beside the images (P)" });
  const onChosen = [
    tool("Move …", "M", () => move(grid.chosen())), tool("Confirm", "C", () => confirm()),
    tool("More like these", "L", () => similar(grid.chosen())),
    tool("Not of anything here", "X", () => aside(), "Not an image of anything here"),
  ];
  const root = el("section", { class: "view images-view", "aria-label": "Images" },
    el("div", { class: "view-bar" },
      el("div", { class: "view-title" }, heading, about),
      el("div", { class: "tools", role: "toolbar", "aria-label": "Group" },
        button("‹", () => neighbor(-1), { class: "quiet", "aria-label": "Previous group", title: "Previous group ([)" }),
        button("›", () => neighbor(1), { class: "quiet", "aria-label": "Next group", title: "Next group (])" }), ...onGroup, mapButton)),
    el("div", { class: "workspace" }, box, side),
    el("div", { class: "chosen-bar" }, chosen,
      el("div", { class: "tools", role: "toolbar", "aria-label": "Selected images" }, ...onChosen,
        tool("All", "Ctrl+A", () => grid.selection.replace(grid.order), "Select all"),
        tool("Invert", "I", () => grid.selection.invert(grid.order)), tool("None", "Esc", () => grid.selection.clear(), "Select none"))));

  /** Show other images; with `again`, the same ones after something changed. */
  async function show(next, again = false) {
    wanted = next;
    const number = ++asking;
    const found = wanted.group !== undefined ? await order(wanted.group) : { ids: wanted.ids ?? [] };
    if (number !== asking || !found) return;
    flags = new Map(found.flags ? found.ids.map((id, at) => [id, found.flags[at]]) : []);
    grid.show(found.ids, { keepPlace: again });
    if (!again) grid.selection.clear();
    head();
    map.highlight(grid.order);
    told();
  }

  async function order(group) {
    try {
      return await get("/api/order", { group });
    } catch (problem) {
      store.tell(problem.message, true);
      go("groups");
      return null;
    }
  }

  function head() {
    const group = wanted.group !== undefined ? store.group(wanted.group) : null;
    heading.textContent = visible(group ? group.id : wanted.title ?? "Images");
    about.textContent = group
      ? `${counted(group.size, "image")} in order by likeness · ${percent(group.confidence)} sure · ${group.unsure} unsure · ${group.confirmed} confirmed`
      : counted(grid.order.length, "image");
    for (const only of onGroup) only.hidden = !group || group.aside;
  }

  function told() {
    const number = grid.selection.size;
    chosen.textContent = number ? `${counted(number, "image")} selected` : "Click, drag over or Shift-click the images that are wrong; then say once where they go.";
    root.classList.toggle("some-chosen", number > 0);
    map.select(number <= 20000 ? [...grid.selection.ids] : []);
  }

  async function move(ids) {
    if (await moveImages(ids)) grid.selection.put(ids, false);
    if (!viewer.open) grid.focus();
  }

  async function aside() {
    const ids = grid.chosen();
    if (ids.length && (await store.edit({ edit: "aside", images: ids }))) grid.selection.clear();
  }

  function confirm() {
    const ids = grid.selected();
    if (ids.length) return store.edit({ edit: "confirm", images: ids }).then((done) => done && grid.selection.clear());
    return wanted.group !== undefined ? store.edit({ edit: "confirm", groups: [wanted.group] }) : store.tell("Select the images to confirm.", true);
  }

  async function similar(ids) {
    if (!ids.length) return;
    try {
      const found = await get("/api/similar", { ids: ids.slice(0, 200).join(","), count: LIKE });
      await show({ ids: [...ids, ...found.ids], title: `More like ${ids.length === 1 ? facts.name(ids[0]) : counted(ids.length, "image")}, most alike first` });
      grid.selection.replace(ids);
      grid.focus();
    } catch (problem) {
      store.tell(problem.message, true);
    }
  }

  async function rename() {
    if (wanted.group === undefined) return;
    const group = wanted.group;
    const answer = await ask(`Name of ${group}`, "The name of another group merges the two.", { label: "Name", text: "", choices: nameChoices(group) });
    if (!answer) return;
    const name = answer.choice ? answer.choice.value : answer.text;
    if (await nameGroup(group, name)) go("images", { group: name });
  }

  function neighbor(by) {
    const ids = store.state.groups.map((group) => group.id);
    const at = ids.indexOf(wanted.group);
    go("images", { group: ids[(at + by + ids.length) % ids.length] });
  }

  function toggleMap(on = side.hidden) {
    side.hidden = !on;
    mapButton.setAttribute("aria-pressed", String(on));
    root.classList.toggle("with-map", on);
    if (on) map.open().then(() => { map.highlight(grid.order); told(); });
  }

  bindImageKeys({ grid, move, aside, confirm, similar, rename, neighbor, toggleMap, split: () => wanted.group !== undefined && showSplit(wanted.group), back: () => go("groups") });

  return {
    name: "images", title: "Images", root, toggleMap,
    /** After any edit: the same images again, with the selection that is left. */
    update() {
      if (viewer.open) facts.need([viewer.id])?.then(() => viewer.describe());
      if (wanted.group === undefined) { map.refresh(); if (wanted.ids) show(wanted, true); return; }
      if (store.group(wanted.group)) show(wanted, true);
      else if (root.isConnected) go("groups");
      map.refresh();
    },
    enter(next) {
      if (next && (next.group !== undefined || next.ids)) show(next);
      else if (wanted.group === undefined && !wanted.ids) {
        const first = store.state.groups[0];
        show(first ? { group: first.id } : { ids: [] });
      }
      grid.focus();
    },
  };
}
