import { counted, el } from "/web/dom.js";
import { full, thumb } from "./api.js";
import { facts } from "./image_facts.js";

/**
 * The images of a question: all are in until somebody clicks them out. Keys go from one to the next; the one they are
 * at is shown large beside them.
 * @param {{images: number[], image: number}} question
 * @param {(id: number) => void} onOpen
 */
export function createClump(question, onOpen) {
  const out = new Set();
  let at = Math.max(0, question.images.indexOf(question.image));
  const large = el("img", { class: "large", alt: "" });
  const state = el("p", { class: "facts", role: "status" });
  const tiles = question.images.map((id, place) => el("span", {
    class: "tile", role: "checkbox", tabIndex: -1, data: { id: String(id) }, on: {
      click: () => { go(place); toggle(); },
      dblclick: () => onOpen(id),
      focus: () => go(place, false),
      pointerenter: () => show(place),
      pointerleave: () => show(at),
    },
  }, el("img", { alt: "", src: thumb(id), draggable: false })));
  const grid = el("div", { class: "clump", role: "group", "aria-label": "Images in question" }, ...tiles);
  const root = el("div", {}, grid, state);

  function toggle(id = question.images[at]) {
    out.has(id) ? out.delete(id) : out.add(id);
    draw();
  }

  function invert() {
    for (const id of question.images) out.has(id) ? out.delete(id) : out.add(id);
    draw();
  }

  function go(place, focus = true) {
    at = place;
    tiles.forEach((tile, number) => { tile.tabIndex = number === at ? 0 : -1; });
    if (focus) tiles[at].focus({ preventScroll: true });
    show(at);
  }

  /** Right and down by as many images as a row holds on this screen. */
  function step(right, down) {
    const top = tiles[0].offsetTop;
    const wide = Math.max(1, tiles.findIndex((tile) => tile.offsetTop > top));
    const columns = tiles.at(-1).offsetTop > top ? wide : tiles.length;
    const next = at + right + down * columns;
    if (next >= 0 && next < tiles.length) go(next);
  }

  function show(place) {
    const address = full(question.images[place]);
    if (large.getAttribute("src") !== address) large.src = address;
  }

  function draw() {
    tiles.forEach((tile, number) => {
      tile.setAttribute("aria-checked", String(!out.has(question.images[number])));
      tile.setAttribute("aria-label", facts.words(question.images[number]));
    });
    const chosen = question.images.length - out.size;
    const rest = out.size === 1 ? "1 out: it stays open" : `${out.size} out: they stay open`;
    state.textContent = out.size ? `${counted(chosen, "image")} in, ${rest}` : question.images.length > 1 ? `All ${question.images.length} in; click out what is something else` : "";
  }

  draw();
  go(at, false);
  facts.need(question.images)?.then(draw);
  return {
    question, root, large, toggle, invert, step,
    active: () => question.images[at],
    chosen: () => question.images.filter((id) => !out.has(id)),
    focus: () => go(at),
  };
}
