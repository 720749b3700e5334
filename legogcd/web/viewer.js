import { button, el, visible } from "./dom.js";

/**
 * One image at full size, with the next and the previous one.
 * @typedef {object} ViewerOptions
 * @property {string} [name] where a page has several: what their ids begin with
 * @property {(id: number) => string|null} full the address of the original
 * @property {(id: number) => string|null} small what is shown until it comes, and where it cannot be reached
 * @property {(id: number) => string} title
 * @property {(id: number) => [string, string][]} facts
 * @property {[string, string, (id: number) => void][]} [actions] text, key and what it does
 * @property {(id: number) => void} [onShow]
 */
export class Viewer {
  /** @param {ViewerOptions} options */
  constructor(options) {
    const name = options.name ?? "viewer";
    this.options = options;
    this.frame = el("div", { class: "viewer-picture" });
    this.title = el("h2", { id: `${name}-name` });
    this.place = el("p", { class: "viewer-place", "aria-live": "polite" });
    this.facts = el("dl", { id: `${name}-facts`, class: "viewer-facts" });
    this.note = el("p", { class: "viewer-note", hidden: true });
    const actions = (options.actions ?? []).map(([text, key, act]) =>
      button(text, () => act(this.id), { "aria-keyshortcuts": key, class: "quiet" }));
    this.dialog = el("dialog", { id: name, class: "viewer", "aria-labelledby": `${name}-name` },
      el("div", { class: "viewer-stage" },
        button("‹", () => this.step(-1), { class: "viewer-step", "aria-label": "Previous image" }),
        this.frame,
        button("›", () => this.step(1), { class: "viewer-step", "aria-label": "Next image" })),
      el("div", { class: "viewer-side" }, this.place, this.title, this.facts, this.note,
        el("p", { class: "links" }, ...actions, button("Close", () => this.dialog.close(), { id: `${name}-close` }))));
    document.body.append(this.dialog);
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
    this.dialog.addEventListener("keydown", (event) => this.key(event));
  }

  get open() {
    return this.dialog.open;
  }

  /** @param {number} id @param {number[]} order what next and previous go through */
  show(id, order = [id]) {
    this.order = order;
    this.at = Math.max(0, order.indexOf(id));
    if (!this.dialog.open) this.dialog.showModal();
    this.draw();
  }

  step(by) {
    if (!this.order.length) return;
    this.at = (this.at + by + this.order.length) % this.order.length;
    this.draw();
  }

  draw() {
    const { full, small } = this.options;
    this.id = this.order[this.at];
    this.describe();
    this.place.textContent = this.order.length > 1 ? `${this.at + 1} of ${this.order.length}` : "";
    for (const step of this.dialog.querySelectorAll(".viewer-step")) step.hidden = this.order.length < 2;
    this.note.hidden = true;
    this.picture(full(this.id), small(this.id));
    this.options.onShow?.(this.id);
  }

  /** Name and facts, once more when they came later than the picture. */
  describe() {
    this.title.textContent = visible(this.options.title(this.id));
    this.facts.replaceChildren(...this.options.facts(this.id).flatMap(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]));
  }

  /** The original over the thumbnail as soon as it is there. */
  picture(full, small) {
    const id = this.id;
    const shown = small ? el("img", { alt: this.title.textContent, src: small }) : el("span", {}, "No picture of this image is here.");
    this.frame.replaceChildren(shown);
    if (!full) return;
    const original = new Image();
    original.alt = this.title.textContent;
    original.addEventListener("load", () => { if (id === this.id) this.frame.replaceChildren(original); });
    original.addEventListener("error", () => {
      if (id !== this.id) return;
      this.note.textContent = "The original cannot be reached from here; this is its thumbnail.";
      this.note.hidden = false;
    });
    original.src = full;
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    const action = (this.options.actions ?? []).find(([, key]) => key === event.key && !event.ctrlKey && !event.metaKey);
    if (step) this.step(step);
    else if (action) action[2](this.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
