import { button, el } from "/web/dom.js";
import { get, post } from "./api.js";
import { bind } from "./keys.js";
import { store } from "./store.js";

/** Train the next round from the decisions, watch it, and see what changed. */
export function createRoundView() {
  let round = { state: "none" };
  const epochs = el("input", { type: "number", min: "1", max: "500", placeholder: "as before", "aria-label": "Epochs, empty for as many as before" });
  const start = button("Train the next round", () => begin(), { class: "main" });
  const cancel = button("Cancel", () => call("/api/round/cancel"));
  const open = button("Go on with the new round", () => goOn(), { class: "main" });
  const bar = el("progress", { "aria-label": "Training" });
  const line = el("p", { class: "round-line", role: "status", "aria-live": "polite" });
  const changes = el("div", { class: "changes" });
  const form = el("div", { class: "round-form" }, el("label", {}, "Epochs ", epochs), start);
  const root = el("section", { class: "view round-view", "aria-label": "Round" },
    el("h2", {}, "Round again"),
    el("p", { class: "hint" }, "What you named, moved and confirmed becomes labels, and a new round is trained from them. The images are not read again. You can go on working meanwhile."),
    form, el("div", { class: "running" }, bar, cancel), line, open, changes);

  async function call(path, body = {}) {
    try {
      take(await post(path, body));
    } catch (problem) {
      store.tell(problem.message, true);
    }
  }

  const begin = () => call("/api/round", { epochs: epochs.value ? Number(epochs.value) : null });

  /** Every tab loads anew when the server says that it opened another run; this one then begins with the groups. */
  async function goOn() {
    history.replaceState(null, "", "#groups");
    await call("/api/open_round");
    location.reload();
  }

  /** News of the round; what it changed comes only when asked for. */
  function take(next) {
    if (!next?.state) return;
    const same = round.state === "done" && next.folder === round.folder;
    const { changes: known, unmatched } = "changes" in next ? next : same ? round : {};
    round = { ...next, changes: next.state === "done" ? known : undefined, unmatched };
    if (round.state === "done" && !round.changes) look();
    draw();
  }

  const look = () => get("/api/round").then(take, (problem) => store.tell(problem.message, true));

  function draw() {
    const running = round.state === "running";
    const finished = round.state === "done" && round.changes !== undefined;
    root.querySelector(".running").hidden = !running;
    form.hidden = running;
    open.hidden = !finished;
    bar.max = Math.max(1, round.epochs ?? 1);
    if (running && !round.epoch) bar.removeAttribute("value");
    else bar.value = round.epoch ?? 0;
    line.textContent = round.line ?? "";
    line.classList.toggle("problem", round.state === "failed");
    changes.hidden = !finished;
    if (finished) drawChanges();
  }

  function drawChanges() {
    const rows = (round.changes ?? []).map((change) => el("tr", {},
      el("th", { scope: "row" }, change.group),
      ...[change.before, change.after, change.kept, change.came, change.left].map((value) => el("td", {}, String(value ?? "–"))),
      el("td", { class: "words" }, change.text ?? "")));
    changes.replaceChildren(
      el("h3", {}, "What changed"),
      el("div", { class: "table-box", tabIndex: 0, role: "region", "aria-label": "What changed, group by group" }, el("table", {},
        el("thead", {}, el("tr", {}, ...["Group", "Before", "After", "Kept", "Came", "Left", ""].map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows))),
      ...(round.unmatched?.length ? [el("h3", {}, "Not found again"), el("ul", {}, ...round.unmatched.map((text) => el("li", {}, text)))] : []));
  }

  store.on("round", (next) => {
    const before = round.state;
    take(next);
    if (before === "running" && round.state !== "running") store.tell(round.line ?? `The round is ${round.state}.`, round.state === "failed");
  });
  bind("round", "t", "Train the next round", () => { if (round.state !== "running") begin(); });
  bind("round", "o", "Go on with the finished round", () => { if (round.state === "done") goOn(); });

  return {
    name: "round", title: "Round", root,
    enter: look,
    update: () => take(store.state.round),
  };
}
