import { store } from "./store.js";

const AGAIN = 1500; // milliseconds between two tries

/** What other tabs, the command line and a training round do, as it happens; says when the server is gone, and when it is back. */
export function listen() {
  let source = null;
  let away = false;
  let trying = 0;

  function connect() {
    source?.close();
    source = new EventSource("/api/events");
    source.addEventListener("open", back);
    source.addEventListener("error", () => lost());
    source.addEventListener("message", ({ data }) => hear(JSON.parse(data)));
  }

  /** Say that the server is gone, or refuses us because it was started anew with another key, and try again in a while. */
  function lost(problem = {}) {
    source?.close();
    clearTimeout(trying);
    trying = setTimeout(retry, AGAIN);
    away = true;
    store.emit("lost", { key: problem.status === 401 || problem.status === 403 });
  }

  const retry = () => store.load().then(connect, lost);

  function back() {
    if (!away) return;
    away = false;
    store.emit("back");
  }

  function hear(news) {
    if (news.opened) return void location.reload();
    if (news.error) store.tell(news.error, true);
    if (news.round) store.emit("round", news.round);
    if (news.line !== undefined) store.emit("preparing", news.line);
    const newer = news.version !== undefined && news.version !== store.state?.version;
    const ready = news.ready !== undefined && news.ready.length !== (store.state?.ready ?? []).length;
    if (newer || ready || news.fresh?.length) store.load().catch(lost);
  }

  store.on("lost", () => { if (!away) lost(); });
  store.state ? connect() : retry();
}
