import { percent } from "/web/dom.js";
import { get } from "./api.js";
import { store } from "./store.js";

const MOST = 400; // ids in one question

/** What is known of single images, asked for when they come into sight and forgotten with every edit. */
class ImageFacts {
  known = new Map();
  asked = new Set();

  constructor() {
    store.on("state", ({ before }) => {
      if (before && before.version === store.state.version) return;
      this.known.clear();
      this.asked.clear();
    });
  }

  /** Resolves when all of these are known; undefined if they are already. */
  need(ids) {
    const missing = ids.filter((id) => !this.known.has(id) && !this.asked.has(id));
    if (!missing.length) return undefined;
    const parts = [];
    for (let start = 0; start < missing.length; start += MOST) parts.push(missing.slice(start, start + MOST));
    return Promise.all(parts.map((part) => this.ask(part))).catch(() => {});
  }

  async ask(ids) {
    for (const id of ids) this.asked.add(id);
    for (const image of await get("/api/images", { ids: ids.join(",") })) this.known.set(image.id, image);
  }

  name(id) {
    return this.known.get(id)?.name ?? `image ${id}`;
  }

  /** Name and state in words. */
  words(id) {
    const image = this.known.get(id);
    if (!image) return `image ${id}`;
    const parts = [image.name, image.group];
    if (image.label) parts.push("labelled");
    else parts.push(`${percent(image.confidence)} sure`);
    if (image.confirmed) parts.push("confirmed");
    if (image.unsure && !image.confirmed && !image.label) parts.push("unsure");
    return parts.join(", ");
  }

  /** @returns {[string, string][]} */
  table(id) {
    const image = this.known.get(id);
    if (!image) return [];
    return [
      ["Group", image.group],
      ["State", image.label ? "labelled by you" : image.confirmed ? "confirmed" : image.unsure ? "unsure" : "found by the model"],
      ["Model says", `${image.predicted} at ${percent(image.confidence)}`],
      ["File", image.path],
    ];
  }
}

export const facts = new ImageFacts();
