import { button, byId, el, visible } from "/web/dom.js";
import { createGroupsView } from "./groups_view.js";
import { createImagesView } from "./images_view.js";
import { showImport } from "./import_view.js";
import { bind, listenToKeys, showKeys } from "./keys.js";
import { listen } from "./live.js";
import { createQueueView } from "./queue_view.js";
import { createRoundView } from "./round_view.js";
import { store } from "./store.js";

const TOLD = 12000; // milliseconds a message stays

let current = null;
const images = createImagesView(go);
const views = [createGroupsView(go), images, createQueueView(go), createRoundView(go)];
const tabs = new Map();

/** Go to a view; the address remembers which, so that a reload comes back to it. */
function go(name, wanted = null) {
  const next = views.find((view) => view.name === name) ?? views[0];
  if (current !== next) {
    current?.leave?.();
    current = next;
    byId("main").replaceChildren(next.root);
  }
  for (const [other, link] of tabs) other === next.name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const place = wanted?.group !== undefined ? `#${next.name}/${encodeURIComponent(wanted.group)}` : `#${next.name}`;
  if (location.hash !== place) history.pushState(null, "", place);
  next.enter?.(wanted);
}

function fromAddress() {
  const [name, group] = location.hash.slice(1).split("/");
  let wanted = null;
  try {
    if (group) wanted = { group: decodeURIComponent(group) };
  } catch { /* not an address of ours */ }
  if (wanted && !store.group(wanted.group)) wanted = null;
  go(name || "groups", wanted);
}

/** The map beside the images; once more takes it away. */
function showMap() {
  const toggles = current === images;
  if (!toggles) go("images");
  toggles ? images.toggleMap() : images.toggleMap(true);
}

const undo = button("Undo", () => store.undo(), { class: "quiet", "aria-keyshortcuts": "Control+Z" });
const redo = button("Redo", () => store.redo(), { class: "quiet", "aria-keyshortcuts": "Control+Shift+Z" });

function drawBar() {
  const { state } = store;
  byId("run").textContent = visible(state.run);
  document.title = `${state.run}: review`;
  byId("line").textContent = [state.line, state.line_preparing].filter(Boolean).join(" · ");
  for (const [one, text, word] of [[undo, state.undo, "Undo"], [redo, state.redo, "Redo"]]) {
    one.disabled = !text;
    one.title = text ? `${word}: ${text}` : `Nothing to ${word.toLowerCase()}`;
  }
}

let fading = 0;
function tell({ text, bad = false, undo: canUndo = false }) {
  if (!text) return;
  byId("told").textContent = visible(text);
  byId("told-box").classList.toggle("bad", bad);
  byId("told-box").hidden = false;
  byId("told-undo").hidden = !canUndo;
  clearTimeout(fading);
  fading = setTimeout(() => { byId("told-box").hidden = true; }, TOLD);
}

function sayLost({ key = false } = {}) {
  byId("lost").hidden = false;
  byId("lost").textContent = key
    ? "The server was started again with another key. Open the address it printed; everything you did is on disk."
    : "The server does not answer. Everything you did is on disk; this page tries again by itself.";
}

store.on("state", ({ before }) => {
  if (before && before.pictures !== store.state.pictures) return void location.reload(); // another run
  drawBar();
  current ? current.update?.() : fromAddress();
});
store.on("told", tell);
store.on("preparing", (line) => {
  if (!store.state) return;
  store.state.line_preparing = line;
  drawBar();
});
store.on("lost", sayLost);
store.on("back", () => {
  byId("lost").hidden = true;
  tell({ text: "The server is back." });
});

for (const view of views) {
  const link = el("a", { href: `#${view.name}`, on: { click: (event) => { event.preventDefault(); go(view.name); } } }, view.title);
  tabs.set(view.name, link);
  byId("views").append(el("li", {}, link));
}
byId("views").children[1].after(el("li", {}, button("Map", showMap, { class: "tab", title: "The map beside the images (3)" })));
byId("tools").append(undo, redo, button("Import", showImport, { class: "quiet", title: "Decisions made with other tools" }),
  button("Keys", showKeys, { class: "quiet", "aria-keyshortcuts": "?", title: "All keys (?)" }));
byId("told-undo").addEventListener("click", () => store.undo());

bind("everywhere", "1", "Groups", () => go("groups"));
bind("everywhere", "2", "Images", () => go("images"));
bind("everywhere", "3", "Map", showMap);
bind("everywhere", "4", "Queue: one question after another", () => go("queue"));
bind("everywhere", "5", "Round: train again", () => go("round"));
bind("everywhere", ["Ctrl+z", "u"], "Undo", () => store.undo());
bind("everywhere", ["Ctrl+Shift+z", "Ctrl+y"], "Redo", () => store.redo());
bind("everywhere", "?", "This key map", showKeys);
listenToKeys(() => current?.name ?? "groups");
addEventListener("popstate", fromAddress);

await store.load().catch(() => {}); // listening says that there is no server, and tries again
listen();
