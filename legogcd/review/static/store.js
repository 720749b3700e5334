import { get, Lost, picturesOf, post, Refused } from "./api.js";

/**
 * What the page knows of the run, and the only way to change it. Views subscribe; nobody else keeps a copy.
 */
class Store extends EventTarget {
  /** @type {any} as /api/state gives it, null before the first answer */
  state = null;

  async load() {
    this.take(await get("/api/state"));
  }

  /** A state from the server; an older one than the page has is not news. */
  take(state) {
    if (!state || (this.state && state.pictures === this.state.pictures && state.version < this.state.version)) return;
    const before = this.state;
    this.state = state;
    picturesOf(state.pictures);
    this.groups = new Map(state.groups.map((group) => [group.id, group]));
    this.emit("state", { before });
  }

  emit(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  on(name, listener) {
    this.addEventListener(name, (event) => listener(event.detail));
  }

  group(id) {
    return this.groups.get(id) ?? null;
  }

  /** Send one edit, and what was clicked out of its group meanwhile. Resolves to true when it is on disk; says what was done, or why it was not. */
  edit(edit, out = []) {
    return this.send("/api/edits", { version: this.state.version, edit, ...(out.length ? { out } : {}) });
  }

  undo() {
    return this.send("/api/undo");
  }

  redo() {
    return this.send("/api/redo");
  }

  /** One change after another, so that each has the version the last one made. */
  send(path, body = {}) {
    this.work = (this.work ?? Promise.resolve()).then(() => this.change(path, "version" in body ? { ...body, version: this.state.version } : body));
    return this.work;
  }

  async change(path, body) {
    try {
      const answer = await post(path, body);
      this.take(answer.state);
      this.emit("told", { text: answer.done, undo: path === "/api/edits" || path === "/api/import" });
      return true;
    } catch (problem) {
      if (problem instanceof Lost) this.emit("lost");
      if (problem instanceof Refused && problem.state) {
        this.take(problem.state);
        this.emit("told", { text: `${problem.message} Nothing was done; your selection is kept.`, bad: true });
      } else this.emit("told", { text: problem.message, bad: true });
      return false;
    }
  }

  tell(text, bad = false) {
    this.emit("told", { text, bad });
  }
}

export const store = new Store();
