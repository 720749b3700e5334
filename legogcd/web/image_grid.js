import { el, visible } from "./dom.js";
import { inSight, layOut, position } from "./grid_layout.js";
import { listenToPointer } from "./grid_pointer.js";
import { Selection } from "./selection.js";

const FAST = 3; // screens a scroll may jump before pictures wait until it rests
const REST = 90; // milliseconds
let grids = 0;

/**
 * Thumbnails of any number of images, of which only those in sight exist; selected by click, drag, range and keys.
 * @typedef {object} GridOptions
 * @property {HTMLElement} box scrolls; the grid fills it
 * @property {string} label what a screen reader says
 * @property {(id: number) => string|null} thumb the address of a picture
 * @property {(id: number) => string} describe name and state of an image in words
 * @property {(id: number) => string} [badge] one or two signs at the corner, e.g. "✓"
 * @property {(ids: number[]) => Promise<unknown>|void} [need] the images in sight, to fetch what describes them
 * @property {(id: number, ids: number[]) => void} [onOpen]
 * @property {() => void} [onSelect]
 * @property {(id: number) => void} [onActive] the image under keys or pointer, -1 for none
 */
export class ImageGrid {
  /** @param {GridOptions} options */
  constructor(options) {
    this.options = options;
    this.prefix = `grid${grids++}`;
    this.order = [];
    this.active = 0;
    this.scale = 1;
    this.tiles = new Map(); // place → element
    this.lastTop = 0;
    this.selection = new Selection(() => {
      this.mark();
      options.onSelect?.();
    });
    this.list = el("div", {
      class: "image-grid", tabIndex: 0, role: "listbox", "aria-multiselectable": "true", "aria-label": options.label,
    });
    options.box.classList.add("grid-box");
    options.box.append(this.list);
    options.box.addEventListener("scroll", () => this.request(), { passive: true });
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(options.box);
    listenToPointer(this);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focus", () => this.mark());
  }

  /** Show these images; the selection keeps those that are still there. */
  show(order, { keepPlace = false } = {}) {
    this.order = order;
    if (this.selection.size) this.selection.keep(order);
    this.active = keepPlace ? Math.max(0, Math.min(this.active, order.length - 1)) : 0;
    if (!keepPlace) this.options.box.scrollTop = 0;
    this.forget();
    this.measure();
  }

  /** Draw again what the page knows of the images, e.g. after their names came. */
  refresh() {
    for (const [place, tile] of this.tiles) this.dress(tile, place);
    this.mark();
  }

  rescale(scale) {
    this.scale = Math.max(0.6, Math.min(3, scale));
    this.measure();
  }

  selected() {
    return this.selection.inOrder(this.order);
  }

  /** The selected images, or the one under the keys if none is. */
  chosen() {
    if (this.selection.size) return this.selected();
    return this.order.length ? [this.order[this.active]] : [];
  }

  measure() {
    const { box } = this.options;
    const width = box.clientWidth - parseFloat(getComputedStyle(box).paddingLeft) * 2;
    if (width <= 0) return;
    this.layout = layOut(width, box.clientHeight, this.order.length, this.scale);
    this.list.style.height = `${this.layout.height}px`;
    this.forget();
    this.draw();
  }

  forget() {
    for (const tile of this.tiles.values()) drop(tile);
    this.tiles.clear();
  }

  request() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    if (!this.layout) return;
    const { box } = this.options;
    const top = box.scrollTop;
    const [first, last] = inSight(this.layout, this.order.length, top, box.clientHeight);
    for (const [place, tile] of this.tiles) {
      if (place < first || place >= last) {
        drop(tile);
        this.tiles.delete(place);
      }
    }
    const fast = Math.abs(top - this.lastTop) > FAST * box.clientHeight;
    this.lastTop = top;
    const made = document.createDocumentFragment();
    for (let place = first; place < last; place++) if (!this.tiles.has(place)) made.append(this.tile(place, fast));
    this.list.append(made);
    this.mark();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rested(first, last), fast ? REST : 0);
  }

  /** Pictures that a fast scroll left out, and what describes the images in sight. */
  rested(first, last) {
    for (const tile of this.tiles.values()) load(tile);
    const ids = this.order.slice(first, last);
    this.options.need?.(ids)?.then?.(() => this.refresh());
  }

  tile(place, later) {
    const tile = el("div", { class: "tile", role: "option", id: `${this.prefix}-${place}`, "aria-setsize": this.order.length, "aria-posinset": place + 1 });
    const [left, top] = position(this.layout, place);
    tile.style.width = tile.style.height = `${this.layout.side}px`;
    tile.style.transform = `translate(${left}px, ${top}px)`;
    tile.dataset.id = String(this.order[place]);
    const source = this.options.thumb(this.order[place]);
    if (source) tile.source = source;
    this.tiles.set(place, tile);
    this.dress(tile, place);
    if (!later) load(tile);
    return tile;
  }

  dress(tile, place) {
    const id = this.order[place];
    const words = visible(this.options.describe(id));
    tile.setAttribute("aria-label", words);
    tile.title = words;
    const badge = this.options.badge?.(id) ?? "";
    tile.dataset.badge = badge;
    if (!tile.source) tile.textContent = words;
  }

  mark() {
    for (const [place, tile] of this.tiles) {
      const selected = this.selection.has(this.order[place]);
      if (tile.getAttribute("aria-selected") !== String(selected)) tile.setAttribute("aria-selected", String(selected));
      tile.classList.toggle("active", place === this.active);
    }
    if (this.tiles.has(this.active)) this.list.setAttribute("aria-activedescendant", `${this.prefix}-${this.active}`);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** Make a place the active one and bring it into sight. */
  goTo(place) {
    if (!this.order.length || !this.layout) return;
    this.active = Math.max(0, Math.min(this.order.length - 1, place));
    const { box } = this.options;
    const top = position(this.layout, this.active)[1];
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + this.layout.side > box.scrollTop + box.clientHeight) box.scrollTop = top + this.layout.side - box.clientHeight + 8;
    this.draw();
    this.options.onActive?.(this.order[this.active]);
  }

  goToImage(id) {
    const place = this.order.indexOf(id);
    if (place >= 0) this.goTo(place);
    return place >= 0;
  }

  focus() {
    this.list.focus({ preventScroll: true });
  }

  key(event) {
    const { columns } = this.layout ?? { columns: 1 };
    const page = columns * Math.max(1, Math.floor(this.options.box.clientHeight / ((this.layout?.side ?? 100) + 4)) - 1);
    const steps = {
      ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page,
      Home: -this.active, End: this.order.length - 1 - this.active,
    };
    if (event.key in steps && !event.altKey) {
      if (event.shiftKey && this.selection.anchor < 0) this.selection.anchor = this.active;
      this.goTo(this.active + steps[event.key]);
      if (event.shiftKey) this.selection.extend(this.order, this.active);
    } else if (event.key === " ") {
      if (event.shiftKey) this.selection.extend(this.order, this.active);
      else if (this.order.length) this.selection.toggle(this.order, this.active);
    } else if (event.key === "Enter" && this.order.length) {
      this.options.onOpen?.(this.order[this.active], this.order);
    } else if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) {
      this.selection.replace(this.order);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  hover(place) {
    if (place === this.hovered) return;
    this.hovered = place;
    this.options.onActive?.(place < 0 ? -1 : this.order[place]);
  }
}

function load(tile) {
  if (!tile.source || tile.firstElementChild) return;
  const image = new Image();
  image.alt = "";
  image.decoding = "async";
  image.draggable = false;
  image.addEventListener("error", () => image.remove());
  image.src = tile.source;
  tile.append(image);
}

/** Taken out of the page, with a picture that is still on its way called off. */
function drop(tile) {
  const image = tile.firstElementChild;
  if (image && !image.complete) image.src = "";
  tile.remove();
}
