import { button, counted, el } from "/web/dom.js";
import { full, get, thumb } from "./api.js";
import { moveImages, nameChoices, nameGroup } from "./ask.js";
import { createCombobox } from "./combobox.js";
import { facts } from "./image_facts.js";
import { bind } from "./keys.js";
import { store } from "./store.js";

const AHEAD = 30;

/** What helps most, one question after another, each answered with one key. */
export function createQueueView(go) {
  let items = [];
  let at = 0;
  let done = 0;
  let busy = false;
  let waiting = false; // for what the server is computing
  const stage = el("div", { class: "question" });
  const root = el("section", { class: "view queue-view", "aria-label": "Queue" }, stage);
  const passed = new Set();
  const key = (item) => JSON.stringify([item.kind, item.group, item.image, item.other]);

  async function load() {
    try {
      const answer = await get("/api/queue", { count: AHEAD });
      waiting = false;
      items = answer.items.filter((item) => !passed.has(key(item)));
      at = 0;
      draw();
    } catch (problem) {
      items = [];
      waiting = problem.status === 503;
      stage.replaceChildren(el("p", { class: "card" }, problem.status === 503 ? "The questions are being worked out. They will be here in a moment." : problem.message));
    }
  }

  const item = () => items[at] ?? null;
  const isNamed = (id) => { const group = store.group(id); return Boolean(group && (group.named || group.status === "known")); };

  /** What can be answered to a question: text, key and what it does. */
  function answers(question) {
    const { kind, group, image, other } = question;
    const skip = ["Skip", "k", () => next()];
    if (kind === "pair") {
      const [into, from] = isNamed(group) && !isNamed(other) ? [group, other] : [other, group];
      return [["Yes, one group", "y", () => answer({ edit: "merge", into, groups: [from] })], ["No, two groups", "n", () => next()], skip];
    }
    const aside = kind === "group" ? null : ["Not of anything here", "x", () => answer({ edit: "aside", images: [image] })];
    if (kind === "group" && !isNamed(group)) {
      const suggestion = store.group(group)?.suggestion;
      return [...(suggestion ? [[`It is ${suggestion.name}`, "a", () => named(suggestion.name)]] : []),
        ["Look at its images", "o", () => go("images", { group })], skip];
    }
    return [[`Yes, ${group}`, "y", () => answer({ edit: "confirm", images: [image] })],
      ["No, it goes to …", "n", () => moved([image])], ...(aside ? [aside] : []), skip];
  }

  async function answer(edit) {
    if (busy) return;
    busy = true;
    const went = await store.edit(edit);
    busy = false;
    if (went) finish();
  }

  async function named(name) {
    const question = item();
    if (busy || !name) return;
    busy = true;
    const went = await nameGroup(question.group, name, seen(question));
    busy = false;
    if (went) finish();
  }

  async function moved(ids) {
    if (await moveImages(ids)) finish();
  }

  const seen = (question) => [...new Set([question.image, ...(store.group(question.group)?.typical ?? [])])].filter((id) => id !== null && id !== undefined);

  function finish() {
    done += 1;
    next();
  }

  /** The next question; new ones are asked for when there is none left, or one is about a group that is gone. */
  function next() {
    if (item()) passed.add(key(item()));
    at += 1;
    if (item() && there(item())) draw();
    else load();
  }

  const there = ({ group, other }) => [group, other].every((id) => id === null || id === undefined || store.group(id));

  function draw() {
    const question = item();
    if (!question) {
      stage.replaceChildren(el("p", { class: "card" }, "There is nothing left to ask. Train the next round, or look through the groups."));
      return;
    }
    facts.need([question.image].filter((id) => id !== null))?.then(() => {});
    const choices = answers(question);
    const naming = question.kind === "group" && !isNamed(question.group);
    const { box } = createCombobox({
      label: "Name of the group", placeholder: "Or write what it is", choices: nameChoices(question.group),
      onCommit: (choice, text) => named(choice ? choice.value : text), onCancel: () => stage.focus(),
    });
    stage.replaceChildren(
      el("p", { class: "hint" }, `${counted(done, "answer")} so far`),
      el("h2", { "aria-live": "polite" }, question.question),
      el("p", { class: "why" }, question.why),
      pictures(question),
      el("div", { class: "answers" }, ...choices.map(([text, letter, act], number) =>
        button("", act, { class: number ? "" : "main", "aria-keyshortcuts": letter })),
      naming ? box : null));
    [...stage.querySelectorAll(".answers > button")].forEach((one, number) => one.append(`${choices[number][0]} `, el("kbd", {}, choices[number][1].toUpperCase())));
  }

  function pictures({ kind, group, image, other }) {
    const some = (id) => el("figure", {}, el("div", { class: "tiles" }, ...(store.group(id)?.typical ?? []).map((one) =>
      el("span", { class: "tile" }, el("img", { alt: "", src: thumb(one) })))), el("figcaption", {}, `${id}, ${counted(store.group(id)?.size ?? 0, "image")}`));
    if (kind === "pair") return el("div", { class: "pictures pair" }, some(group), some(other));
    const large = image === null ? null : el("img", { class: "large", alt: "The image in question", src: full(image) });
    return el("div", { class: "pictures" }, large, some(group));
  }

  const press = (letter) => () => {
    const found = item() && answers(item()).find(([, its]) => its === letter);
    if (found) found[2]();
  };
  for (const [letter, text] of [["y", "Yes"], ["n", "No"], ["a", "Accept the suggested name"], ["x", "Not an image of anything here"], ["k", "Skip"], ["o", "Look at the group's images"]]) {
    bind("queue", letter, text, press(letter));
  }
  bind("queue", "m", "Move the image: say where", () => item() && item().image !== null && moved([item().image]));
  bind("queue", "w", "Write a name", () => stage.querySelector("input")?.focus());

  /** Somebody edited: a question about a group that is gone is not asked any more. Or questions can be asked now. */
  function update() {
    if (root.isConnected && waiting) return void load();
    if (!root.isConnected || busy || !item() || stage.querySelector("input:focus")) return;
    if (there(item())) draw();
    else load();
  }

  return { name: "queue", title: "Queue", root, enter: () => { if (!item()) load(); else draw(); }, update };
}
