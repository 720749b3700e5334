import { get } from "./api.js";
import { store } from "./store.js";

const AGAIN = 1500; // milliseconds between two tries

/** What other tabs, the command line and a training round do, as it happens; says when the server is gone, and when it is back. */
export function listen() {
  let source = null;
  let away = false;

  function lost() {
    if (away) return;
    away = true;
    store.emit("lost");
  }

  function connect() {
    source?.close();
    source = new EventSource("/api/events");
    source.addEventListener("open", () => back());
    source.addEventListener("error", () => {
      lost();
      source.close();
      setTimeout(retry, AGAIN);
    });
    source.addEventListener("message", ({ data }) => hear(JSON.parse(data)));
  }

  /** Whether the server is there again, or refuses us because it was started anew with another key. */
  async function retry() {
    try {
      await get("/api/round");
      connect();
    } catch (problem) {
      if (problem.status === 401 || problem.status === 403) store.emit("lost", { key: true });
      setTimeout(retry, AGAIN);
    }
  }

  async function back() {
    if (!away) return;
    away = false;
    await store.load().catch(() => lost());
    store.emit("back");
  }

  async function hear(news) {
    if (news.opened) return void location.reload();
    if (news.error) store.tell(news.error, true);
    if (news.round) store.emit("round", news.round);
    const newer = news.version !== undefined && news.version !== store.state?.version;
    const ready = news.ready !== undefined && news.ready.length !== (store.state?.ready ?? []).length;
    if (newer || ready || news.fresh?.length) await store.load().catch(() => lost());
  }

  store.on("lost", () => {
    if (!away) {
      away = true;
      source?.close();
      setTimeout(retry, AGAIN);
    }
  });
  connect();
}
