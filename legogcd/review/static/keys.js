import { el, writing } from "/web/dom.js";

/**
 * Keys of the page: one list, from which they work and from which the key map is drawn.
 * @typedef {{keys: string[], text: string, act: (event: KeyboardEvent) => void, view: string, hidden?: boolean}} Binding
 */
/** @type {Binding[]} */
const bindings = [];
let current = () => "everywhere";

/** @param {string} view its heading in the key map; "everywhere" works in all views */
export function bind(view, keys, text, act, { hidden = false } = {}) {
  bindings.push({ keys: [keys].flat(), text, act, view, hidden });
}

/** Keys that the parts handle themselves, for the key map only. */
export function describe(view, keys, text) {
  bindings.push({ keys: [keys].flat(), text, act: null, view });
}

/** As bindings name it: "Ctrl+Shift+z", "m", "?". */
function pressed(event) {
  const control = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 && control ? event.key.toLowerCase() : event.key;
  return `${control ? "Ctrl+" : ""}${control && event.shiftKey ? "Shift+" : ""}${key}`;
}

/** @param {() => string} view which view the person is in */
export function listenToKeys(view) {
  current = view;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
    const key = pressed(event);
    if (writing(event.target) && !(key.startsWith("Ctrl+") && key !== "Ctrl+z" && key !== "Ctrl+Shift+z")) return;
    const found = bindings.find(({ keys, act, view: of }) => act && keys.includes(key) && (of === "everywhere" || of === current()));
    if (!found || (key === "Enter" || key === " ") && event.target.closest("button, a, summary")) return;
    event.preventDefault();
    found.act(event);
  });
}

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc" };
const named = (key) => key.split(/\+(?=.)/).map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part)).join("+");

/** The key map as a dialog. */
export function showKeys() {
  const views = [...new Set(bindings.map(({ view }) => view))];
  const close = el("button", { type: "button", class: "main" }, "Close");
  const dialog = el("dialog", { class: "key-map", "aria-labelledby": "keys-title", tabIndex: -1 },
    el("h2", { id: "keys-title" }, "Keys"),
    el("div", { class: "key-lists" }, ...views.map((view) => el("section", {},
      el("h3", {}, view[0].toUpperCase() + view.slice(1)),
      el("dl", {}, ...bindings.filter((binding) => binding.view === view && !binding.hidden).flatMap(({ keys, text }) => [
        el("dt", {}, ...keys.map((key) => el("kbd", {}, named(key)))), el("dd", {}, text)]))))),
    el("p", { class: "links" }, close));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => { if (event.key === "?") dialog.close(); });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus(); // not its button, which is at the end
}
