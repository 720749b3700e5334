import { button, counted, el, percent } from "/web/dom.js";
import { thumb } from "./api.js";
import { nameChoices, nameGroup } from "./ask.js";
import { createCombobox } from "./combobox.js";

/** How sure the model is of a group, in words that sort. */
const sure = (group) => `${percent(group.confidence)} sure`;

/** What a screen reader says of a card. */
function words(group) {
  const parts = [group.id, kind(group), counted(group.size, "image"), sure(group)];
  if (group.unsure) parts.push(`${group.unsure} unsure`);
  if (group.confirmed) parts.push(`${group.confirmed} confirmed`);
  if (group.suspicions.length) parts.push(counted(group.suspicions.length, "suspicion"));
  return parts.join(", ");
}

export const kind = (group) => (group.aside ? "set aside" : group.status === "known" ? "known class" : group.named ? "named group" : "new group");

/**
 * A group as a card.
 * @param {any} group as /api/state has it
 * @param {{open: () => void, split: () => void, confirm: () => void, aside: () => void, merge: () => void, accept: () => void,
 *   suspects: (ids: number[], text: string) => void, drop: (from: string) => void, written: () => void}} acts
 */
export function groupCard(group, acts) {
  const isNew = group.status !== "known" && !group.named;
  const card = el("article", {
    class: `card group-card${group.named || group.status === "known" ? "" : " nameless"}${group.aside ? " aside" : ""}`, tabIndex: -1,
    role: "listitem", "aria-label": words(group), data: { group: group.id, words: words(group) }, draggable: !group.aside,
  },
  el("button", { type: "button", class: "mosaic", "aria-label": `Open ${group.id}`, on: { click: acts.open }, tabIndex: -1 },
    ...group.typical.slice(0, 8).map((id) => el("img", { alt: "", src: thumb(id), loading: "lazy", decoding: "async", draggable: false }))),
  el("div", { class: "card-title" },
    el("span", { class: `mark ${group.status === "known" ? "known" : "new"}`, "aria-hidden": "true" }, group.status === "known" ? "●" : "✚"),
    el("button", { type: "button", class: "name-button", title: "Name (N)", disabled: group.aside, on: { click: () => card.rename() } }, group.id),
    group.confirmed >= group.size && group.size ? el("span", { class: "tick", title: "all confirmed" }, "✓") : null),
  el("p", { class: "facts" },
    el("strong", {}, counted(group.size, "image")), ` · ${sure(group)}`,
    group.unsure ? ` · ${group.unsure} unsure` : "", group.confirmed ? ` · ${group.confirmed} confirmed` : ""),
  group.suggestion && isNew ? suggestion(group, acts) : null,
  ...group.suspicions.slice(0, 2).map((found) => el("button", {
    type: "button", class: "suspicion", title: found.text, on: { click: () => acts.suspects(found.images, found.text) },
  }, el("span", { "aria-hidden": "true" }, "⚠"), el("span", { class: "suspicion-text" }, found.text))),
  group.aside ? null : el("p", { class: "card-tools" },
    button("Confirm", acts.confirm, { class: "quiet", disabled: group.confirmed >= group.size || isNew, title: isNew ? "Name it first" : "All its images are right (C)" }),
    button("Split", acts.split, { class: "quiet", disabled: group.size < 2, title: "Show parts it may be made of (S)" }),
    button("Merge", acts.merge, { class: "quiet", title: "Into another group (G)" }),
    button("Set aside", acts.aside, { class: "quiet", title: "Nothing that belongs here (X)" })));

  card.rename = () => rename(card, group, acts.written);
  listenToDrag(card, group, acts);
  return card;
}

function suggestion(group, acts) {
  const { name, source, share } = group.suggestion;
  return el("p", { class: "suggestion" },
    button(`${name}?`, acts.accept, { class: "quiet", title: `Name it ${name} (A)`, "aria-label": `Name it ${name}, as suggested` }),
    el("span", {}, `${percent(share)} of a vote, ${source}`));
}

/** The name becomes a field; Enter keeps, Escape leaves it. */
function rename(card, group, written) {
  const title = card.querySelector(".card-title");
  if (title.querySelector("input")) return;
  const shown = [...title.childNodes];
  const close = (keepFocus) => {
    title.replaceChildren(...shown);
    if (keepFocus) card.focus({ preventScroll: true });
    written();
  };
  const { box, field } = createCombobox({
    label: `Name of ${group.id}`, placeholder: "What is it?", text: group.named || group.status === "known" ? group.id : "",
    choices: nameChoices(group.id),
    onCommit: async (choice, text) => {
      const name = choice ? choice.value : text;
      close(true);
      await nameGroup(group.id, name);
    },
    onCancel: () => close(true),
  });
  title.replaceChildren(box);
  field.addEventListener("blur", () => setTimeout(() => { if (title.contains(box) && !box.contains(document.activeElement)) close(false); }, 150));
  field.focus();
  field.select();
}

const KIND = "application/x-legogcd-group";

function listenToDrag(card, group, acts) {
  card.addEventListener("dragstart", (event) => {
    event.dataTransfer.setData(KIND, group.id);
    event.dataTransfer.effectAllowed = "move";
    card.classList.add("dragged");
  });
  card.addEventListener("dragend", () => card.classList.remove("dragged"));
  const over = (event) => event.dataTransfer.types.includes(KIND) && !card.classList.contains("dragged") && !group.aside;
  card.addEventListener("dragover", (event) => {
    if (!over(event)) return;
    event.preventDefault();
    card.classList.add("drop-here");
  });
  card.addEventListener("dragleave", () => card.classList.remove("drop-here"));
  card.addEventListener("drop", (event) => {
    card.classList.remove("drop-here");
    if (!over(event)) return;
    event.preventDefault();
    acts.drop(event.dataTransfer.getData(KIND));
  });
}
