/**
 * Which images are selected, and from where the next range starts. Knows the order they stand in, nothing of a page.
 */
export class Selection {
  constructor(changed = () => {}) {
    /** @type {Set<number>} */
    this.ids = new Set();
    this.anchor = -1; // a place in the order
    this.changed = changed;
  }

  get size() {
    return this.ids.size;
  }

  has(id) {
    return this.ids.has(id);
  }

  /** The selected images in the order given. */
  inOrder(order) {
    return order.filter((id) => this.ids.has(id));
  }

  /** Put one image in or take it out, and start ranges from it. */
  toggle(order, place) {
    this.put([order[place]], !this.ids.has(order[place]));
    this.anchor = place;
  }

  /** All images from the anchor to a place; the anchor stays. */
  extend(order, place) {
    const [from, to] = this.anchor < 0 ? [place, place] : [Math.min(this.anchor, place), Math.max(this.anchor, place)];
    if (this.anchor < 0) this.anchor = place;
    this.put(order.slice(from, to + 1), true);
  }

  /** @param {Iterable<number>} ids @param {boolean} selected */
  put(ids, selected) {
    for (const id of ids) selected ? this.ids.add(id) : this.ids.delete(id);
    this.changed();
  }

  replace(ids) {
    this.ids = new Set(ids);
    this.changed();
  }

  invert(order) {
    this.replace(order.filter((id) => !this.ids.has(id)));
  }

  clear() {
    this.anchor = -1;
    this.replace([]);
  }

  /** Keep only what is still there. */
  keep(order) {
    const there = new Set(order);
    this.anchor = -1;
    this.replace([...this.ids].filter((id) => there.has(id)));
  }
}
