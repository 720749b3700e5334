import { el, visible } from "./dom.js";
import { inSight, layOut, position } from "./grid_layout.js";
import { listenToPointer } from "./grid_pointer.js";
import { Selection } from "./selection.js";

const FAST = 3; // screens a scroll may jump before pictures wait until it rests
const REST = 90; // milliseconds
const LITTLE = 0.2; // of the height
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
    this.spare = new Map(); // image → element that waits for its new place
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
    this.lift();
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

  /** Lay out anew; where nothing moves, what is there stays there. */
  measure() {
    const { box } = this.options;
    const width = box.clientWidth - parseFloat(getComputedStyle(box).paddingLeft) * 2;
    if (width <= 0) return;
    this.sized = steady(this.sized, { width, height: box.clientHeight, scale: this.scale });
    const before = this.layout;
    this.layout = layOut(width, this.sized.height, this.order.length, this.scale);
    this.list.style.height = `${this.layout.height}px`;
    if (before && (before.columns !== this.layout.columns || before.side !== this.layout.side)) this.lift();
    this.draw();
  }

  /** Take every tile from its place; the next drawing puts those it needs where they belong now. */
  lift() {
    for (const tile of this.tiles.values()) this.spare.set(Number(tile.dataset.id), tile);
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
    this.fill(first, last, fast);
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

  /** Tiles for these places, in the page in the order in which they are seen. */
  fill(first, last, later) {
    const wanted = new Set(this.order.slice(first, last));
    for (const [id, tile] of this.spare) {
      if (wanted.has(id)) continue;
      drop(tile);
      this.spare.delete(id);
    }
    let next = this.list.firstElementChild;
    for (let place = first; place < last; place++) {
      const tile = this.tiles.get(place) ?? this.tile(place, later);
      if (tile === next) next = next.nextElementSibling;
      else this.list.insertBefore(tile, next);
    }
    for (const tile of this.spare.values()) drop(tile);
    this.spare.clear();
  }

  /** The image's own tile if it has one that can move here, a new one otherwise. */
  tile(place, later) {
    const id = this.order[place];
    const source = this.options.thumb(id) ?? undefined;
    let tile = this.spare.get(id);
    if (tile && tile.source === source) this.spare.delete(id);
    else tile = Object.assign(el("div", { class: "tile", role: "option", data: { id } }), { source });
    tile.id = `${this.prefix}-${place}`;
    tile.setAttribute("aria-setsize", this.order.length);
    tile.setAttribute("aria-posinset", place + 1);
    const [left, top] = position(this.layout, place);
    tile.style.width = tile.style.height = `${this.layout.side}px`;
    tile.style.transform = `translate(${left}px, ${top}px)`;
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

/** A little more or less height, as when a bar comes and goes, is no reason for other thumbnails. */
function steady(before, now) {
  const same = before && before.width === now.width && before.scale === now.scale;
  return same && Math.abs(before.height - now.height) < LITTLE * before.height ? before : now;
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
