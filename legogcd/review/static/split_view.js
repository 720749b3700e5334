import { button, counted, el } from "/web/dom.js";
import { get, thumb } from "./api.js";
import { store } from "./store.js";

const [FEWEST, MOST] = [2, 8];
const SHOWN = 24; // images of a part

/** A group's own parts side by side; one click makes groups of them. */
export async function showSplit(group) {
  const parts = el("div", { class: "parts" });
  const number = el("strong", { "aria-live": "polite" });
  const accept = button("Make these groups", () => split(), { class: "main", "aria-keyshortcuts": "Enter" });
  const fewer = button("Fewer", () => load(proposal.parts.length - 1), { "aria-keyshortcuts": "-" });
  const more = button("More", () => load(proposal.parts.length + 1), { "aria-keyshortcuts": "+" });
  const dialog = el("dialog", { class: "split", "aria-labelledby": "split-title" },
    el("h2", { id: "split-title" }, `Split ${group}?`),
    el("p", { class: "hint" }, "Parts that look alike inside, most typical images first. The first part keeps the name; leave a part in by unticking it."),
    parts,
    el("p", { class: "links split-tools" }, accept, fewer, number, more, button("Cancel", () => dialog.close())));
  let proposal = { parts: [] };
  let ticks = [];

  async function load(count) {
    accept.disabled = fewer.disabled = more.disabled = true;
    try {
      proposal = await get("/api/proposals", { group, ...(count ? { parts: count } : {}) });
    } catch (problem) {
      store.tell(problem.message, true);
      dialog.close();
      return;
    }
    draw();
  }

  function draw() {
    const count = proposal.parts.length;
    number.textContent = counted(count, "part");
    fewer.disabled = count <= FEWEST;
    more.disabled = count >= MOST;
    ticks = proposal.parts.map((_, at) => el("input", { type: "checkbox", checked: true, disabled: at === 0, on: { change: check } }));
    parts.replaceChildren(...proposal.parts.map((part, at) => el("section", { class: "part", "aria-label": `Part ${at + 1}` },
      el("label", { class: "check" }, ticks[at], at === 0 ? `${counted(part.size, "image")}, keeps the name` : `${counted(part.size, "image")}, a new group`),
      el("div", { class: "tiles" }, ...part.typical.concat(part.ids.filter((id) => !part.typical.includes(id))).slice(0, SHOWN)
        .map((id) => el("span", { class: "tile" }, el("img", { alt: "", src: thumb(id), loading: "lazy" })))))));
    check();
    accept.focus();
  }

  function check() {
    accept.disabled = ticks.filter((tick) => tick.checked).length < 2;
  }

  async function split() {
    const left = proposal.parts.filter((_, at) => at > 0 && ticks[at].checked).map((part) => part.ids);
    const all = left.length === proposal.parts.length - 1;
    dialog.close();
    await store.edit({ edit: "split", group, parts: all ? proposal.parts.map((part) => part.ids) : left });
  }

  dialog.addEventListener("keydown", (event) => {
    if ((event.key === "+" || event.key === "=") && !more.disabled) load(proposal.parts.length + 1);
    else if (event.key === "-" && !fewer.disabled) load(proposal.parts.length - 1);
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  await load(null);
}
