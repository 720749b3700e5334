import { button, counted, el } from "/web/dom.js";
import { createCombobox, matching } from "./combobox.js";
import { store } from "./store.js";

/**
 * A small dialog with one field: where to?
 * @param {string} title
 * @param {string} hint
 * @param {Omit<import("./combobox.js").ComboOptions, "onCommit"|"onCancel">} options
 * @returns {Promise<{choice: any, text: string}|null>} null if the person changed their mind
 */
export function ask(title, hint, options) {
  return new Promise((resolve) => {
    const from = document.activeElement;
    const finish = (answer) => {
      dialog.close();
      resolve(answer);
    };
    const { box, field } = createCombobox({
      ...options,
      onCommit: (choice, text) => { if (choice || text) finish({ choice, text }); },
      onCancel: () => finish(null),
    });
    const dialog = el("dialog", { class: "ask", "aria-labelledby": "ask-title" },
      el("h2", { id: "ask-title" }, title), box, el("p", { class: "hint" }, hint),
      el("p", { class: "links" }, button("Cancel", () => finish(null))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (from instanceof HTMLElement && from.isConnected) from.focus({ preventScroll: true });
      resolve(null);
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}

const NEW_GROUP = Symbol("a new group");
const NOTHING_HERE = Symbol("not an image of anything here");

/** Ask where images go, then send them there. Resolves to whether they went. */
export async function moveImages(ids) {
  if (!ids.length) return false;
  const names = store.state.groups.filter((group) => !group.aside).map((group) => group.id);
  const fixed = [
    { value: NEW_GROUP, text: "A new group", hint: "named later" },
    { value: NOTHING_HERE, text: "Not an image of anything here", hint: "set aside" },
  ];
  const answer = await ask(`Move ${counted(ids.length, "image")} to …`, "Write a name that is not there yet to make a group of that name.", {
    label: "Group", placeholder: "Name of a group", first: true,
    choices: (text) => {
      const found = matching(names, text).map((name) => ({ value: name, text: name, hint: `${store.group(name)?.size ?? 0}` }));
      const made = text && !names.includes(text) ? [{ value: text, text, hint: "new group of this name" }] : [];
      const other = fixed.filter((choice) => choice.text.toLowerCase().includes(text.toLowerCase()));
      return text ? [...found, ...made, ...other] : [...fixed, ...found];
    },
  });
  if (!answer) return false;
  const where = answer.choice ? answer.choice.value : answer.text;
  if (where === NOTHING_HERE) return store.edit({ edit: "aside", images: ids });
  return store.edit({ edit: "move", images: ids, into: where === NEW_GROUP ? null : where });
}

/** Ask which group others go into, then merge them. */
export async function mergeGroups(groups) {
  const names = store.state.groups.filter((group) => !group.aside && !groups.includes(group.id)).map((group) => group.id);
  const what = groups.length === 1 ? groups[0] : counted(groups.length, "group");
  const answer = await ask(`Merge ${what} into …`, "All its images go there; undo brings the group back.", {
    label: "Group", placeholder: "Name of a group", first: true,
    choices: (text) => matching(names, text).map((name) => ({ value: name, text: name, hint: `${store.group(name)?.size ?? 0}` })),
  });
  return Boolean(answer?.choice) && store.edit({ edit: "merge", into: answer.choice.value, groups });
}

/** Give a group a name; if another one has it already, the two become one. Images that were looked at are confirmed. */
export function nameGroup(group, name, confirm = [], out = []) {
  if (!name || name === group) return Promise.resolve(false);
  const taken = store.state.groups.find((other) => other.id.toLocaleLowerCase() === name.toLocaleLowerCase() && other.id !== group);
  const seen = confirm.length ? { confirm } : {};
  if (taken) return store.edit({ edit: "merge", into: taken.id, groups: [group], ...seen }, out);
  return store.edit({ edit: "name", group, name, ...seen }, out);
}

/** Names to offer for a group: what is suggested, then the groups there are (which means to merge). */
export function nameChoices(group) {
  return (text) => {
    const suggestion = store.group(group)?.suggestion;
    const suggested = suggestion && suggestion.name.toLocaleLowerCase().includes(text.toLocaleLowerCase())
      ? [{ value: suggestion.name, text: suggestion.name, hint: "suggested" }] : [];
    const names = store.state.categories.filter((name) => name !== group && name !== suggestion?.name);
    return [...suggested, ...matching(names, text).map((name) => ({ value: name, text: name, hint: store.group(name) ? "merge" : "" }))];
  };
}
