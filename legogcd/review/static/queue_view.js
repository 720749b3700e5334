import { button, counted, el } from "/web/dom.js";
import { Viewer } from "/web/viewer.js";
import { full, get, thumb } from "./api.js";
import { moveImages, nameChoices, nameGroup } from "./ask.js";
import { createClump } from "./clump.js";
import { createCombobox } from "./combobox.js";
import { facts } from "./image_facts.js";
import { bind, describe } from "./keys.js";
import { store } from "./store.js";

const AHEAD = 10;
const MOST = 500; // questions the server gives at once

/**
 * What helps most, one question after another: a dozen images that look alike, of which one answer says what they are.
 * Those that are something else are clicked out before and stay open.
 */
export function createQueueView(go) {
  let items = [];
  let done = 0;
  let settled = 0;
  let busy = false;
  let waiting = false; // for what the server is computing
  const skipped = new Set(); // images
  const passed = new Set(); // pairs of groups
  const stage = el("div", { class: "question" });
  const root = el("section", { class: "view queue-view", "aria-label": "Queue" }, stage);
  const viewer = new Viewer({
    name: "question-viewer", full, small: thumb, title: (id) => facts.name(id), facts: (id) => facts.table(id),
    onShow: (id) => facts.need([id])?.then(() => viewer.id === id && viewer.open && viewer.describe()),
    actions: [["In or out", " ", (id) => clump?.toggle(id)]],
  });
  let clump = null;

  const item = () => items[0] ?? null;
  const pair = ({ group, other }) => JSON.stringify([group, other]);
  const wanted = (question) => (question.kind === "pair" ? !passed.has(pair(question)) : !skipped.has(question.image));
  const isNamed = (id) => { const group = store.group(id); return Boolean(group && (group.named || group.status === "known")); };

  async function load() {
    try {
      items = await ahead();
      waiting = false;
      draw();
    } catch (problem) {
      items = [];
      waiting = problem.status === 503;
      stage.replaceChildren(el("p", { class: "card" }, problem.status === 503 ? "The questions are being worked out. They will be here in a moment." : problem.message));
    }
  }

  async function ahead() {
    const { items: found } = await get("/api/queue", { count: Math.min(MOST, AHEAD + skipped.size + passed.size) });
    return found.filter(wanted);
  }

  /** Later questions once more, after what was just answered; the one on the screen stays. */
  async function refill() {
    const shown = item();
    const found = await ahead().catch(() => null);
    if (!found || !shown || item() !== shown) return;
    const here = new Set(shown.images);
    items = [shown, ...found.filter((one) => (one.kind === "pair" ? pair(one) !== pair(shown) : !here.has(one.image)))];
  }

  /** What can be answered to a question: text, keys and what it does; the first is what a person mostly says. */
  function answers({ kind, group, other }) {
    const skip = ["Skip", ["k"], () => next()];
    if (kind === "pair") {
      const [into, from] = isNamed(group) && !isNamed(other) ? [group, other] : [other, group];
      return [["Yes, one group", ["y", "Enter"], () => answer({ edit: "merge", into, groups: [from] })], ["No, two groups", ["n"], () => next()], skip];
    }
    return [...yes(group, other), ["No, they go to …", ["n", "m"], () => some(moved)],
      ["Not of anything here", ["x"], () => some((images) => answer({ edit: "aside", images }))],
      ["Look at the group", ["o"], () => go("images", { group })], skip];
  }

  /** What most say: they belong where the question puts them, or where they are. */
  function yes(group, other) {
    const stay = () => some((images, out) => answer({ edit: "confirm", images }, out));
    if (other) {
      const go = () => some((images) => answer({ edit: "move", images, into: other }));
      return [[`Yes, ${other}`, ["y", "Enter"], go], ...(isNamed(group) ? [[`No, ${group}`, ["c"], stay]] : [])];
    }
    const suggestion = store.group(group)?.suggestion;
    if (isNamed(group)) return [[`Yes, ${group}`, ["y", "Enter"], stay]];
    return suggestion ? [[`Name the group ${suggestion.name}`, ["a"], () => named(suggestion.name)]] : [];
  }

  /** Do something with the images that are in; without one there is nothing to say about. */
  function some(act) {
    const images = clump?.chosen() ?? [];
    if (images.length) return act(images, item().images.filter((id) => !images.includes(id)));
    return store.tell("Every image is clicked out. Leave in those that your answer is about, or skip.", true);
  }

  const answer = (edit, out = []) => decide(() => store.edit(edit, out));
  const named = (name) => name && some((images, out) => decide(() => nameGroup(item().group, name, images, out)));
  const moved = (images) => decide(() => moveImages(images));

  async function decide(send) {
    if (busy) return;
    busy = true;
    const chosen = clump?.chosen().length ?? 0;
    const went = await send();
    busy = false;
    if (went) finish(chosen);
  }

  function finish(images) {
    done += 1;
    settled += images;
    items.shift();
    show();
  }

  /** Leave a question for another one; what it showed is not asked about again as long as the page is open. */
  function next() {
    const question = items.shift();
    if (question?.kind === "pair") passed.add(pair(question));
    for (const id of question?.images ?? []) skipped.add(id);
    items = items.filter(wanted);
    show();
  }

  /** The question that is first now; new ones are asked for when there is none, or it is about a group that is gone. */
  function show() {
    if (!item() || !there(item())) return void load();
    draw();
    refill();
  }

  const there = ({ group, other }) => [group, other].every((id) => id === null || id === undefined || store.group(id));

  function draw() {
    const question = item();
    if (!question) {
      clump = null;
      stage.replaceChildren(el("p", { class: "card" }, "There is nothing left to ask. Train the next round, or look through the groups."));
      return;
    }
    facts.need(question.images);
    const naming = question.kind !== "pair" && !isNamed(question.group);
    const { box } = createCombobox({
      label: "Name of the group", placeholder: "Or write what they are (W)", choices: nameChoices(question.group),
      onCommit: (choice, text) => named(choice ? choice.value : text), onCancel: () => clump?.focus(),
    });
    const writing = stage.contains(document.activeElement) && document.activeElement.matches("input");
    stage.replaceChildren(
      el("p", { class: "hint" }, done ? `${counted(done, "answer")} so far, ${counted(settled, "image")} settled` : "0 answers so far"),
      el("h2", { "aria-live": "polite" }, question.question),
      el("p", { class: "why" }, question.why),
      question.kind === "pair" ? pairOf(question) : dozen(question),
      el("div", { class: "answers" }, ...answers(question).map(([text, [letter], act], number) => choice(text, letter, act, number === 0)),
        naming ? box : null));
    if (clump && root.isConnected && !writing) clump.focus();
  }

  function choice(text, letter, act, main) {
    const made = button(`${text} `, act, { class: main ? "main" : "", "aria-keyshortcuts": letter });
    made.append(el("kbd", {}, letter.toUpperCase()));
    return made;
  }

  /** The images in question, one of them large, and what is typical of their group. */
  function dozen(question) {
    if (clump?.question !== question) clump = createClump(question, (id) => viewer.show(id, question.images));
    return el("div", { class: "pictures" }, clump.root, el("div", { class: "beside" }, clump.large, typical(question.group)));
  }

  function pairOf({ group, other }) {
    clump = null;
    return el("div", { class: "pictures pair" }, typical(group), typical(other));
  }

  const typical = (id) => el("figure", { class: "typical" },
    el("figcaption", {}, `Typical of ${id}, ${counted(store.group(id)?.size ?? 0, "image")}`),
    el("div", { class: "tiles" }, ...(store.group(id)?.typical ?? []).map((one) => el("span", { class: "tile" }, el("img", { alt: "", src: thumb(one) })))));

  const press = (letter) => () => {
    const found = item() && answers(item()).find(([, letters]) => letters.includes(letter));
    if (found) found[2]();
  };
  for (const [letters, text] of [[["y", "Enter"], "Yes, all that are in"], [["c"], "They are right where they are"], [["n", "m"], "No: say where those that are in go"], [["a"], "Take the suggested name"],
    [["x"], "Not images of anything here"], [["k"], "Skip"], [["o"], "Look at the group"]]) {
    bind("queue", letters, text, (event) => press(event.key)());
  }
  bind("queue", "w", "Write a name for the group", () => stage.querySelector("input")?.focus());
  describe("queue", ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], "From image to image");
  for (const [key, by] of [["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, -1]], ["ArrowDown", [0, 1]]]) {
    bind("queue", key, "", () => clump?.step(...by), { hidden: true });
  }
  bind("queue", " ", "Click an image out, or in again", () => clump?.toggle());
  bind("queue", "i", "The others: in what was out, out what was in", () => clump?.invert());
  bind("queue", "f", "Full size", () => clump && viewer.show(clump.active(), item().images));

  /** Somebody edited: a question about a group that is gone is not asked any more. Or questions can be asked now. */
  function update() {
    if (root.isConnected && waiting) return void load();
    if (!root.isConnected || busy || !item() || stage.querySelector("input:focus")) return;
    if (there(item())) draw();
    else load();
  }

  return { name: "queue", title: "Queue", root, enter: () => { if (!item()) load(); else draw(); }, update };
}
