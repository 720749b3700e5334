import { el } from "/web/dom.js";

const SHOWN = 8;
let boxes = 0;

/**
 * A field that offers names while a person writes.
 * @typedef {{value: any, text: string, hint?: string}} Choice
 * @typedef {object} ComboOptions
 * @property {string} label
 * @property {string} [placeholder]
 * @property {string} [text] what stands in it first
 * @property {(text: string) => Choice[]} choices best first, for what was written so far
 * @property {boolean} [first] whether Enter takes the first choice; what was written otherwise
 * @property {(choice: Choice|null, text: string) => void} onCommit
 * @property {() => void} [onCancel]
 * @param {ComboOptions} options
 */
export function createCombobox(options) {
  const name = `combo${boxes++}`;
  const field = el("input", {
    type: "text", autocomplete: "off", spellcheck: false, value: options.text ?? "", placeholder: options.placeholder ?? "",
    role: "combobox", "aria-label": options.label, "aria-expanded": "false", "aria-controls": name, "aria-autocomplete": "list",
  });
  const list = el("ul", { class: "combo-list", id: name, role: "listbox", "aria-label": options.label, hidden: true });
  const box = el("div", { class: "combo" }, field, list);
  let choices = [];
  let active = -1;

  function show() {
    choices = options.choices(field.value.trim()).slice(0, SHOWN);
    active = options.first && choices.length ? 0 : -1;
    list.replaceChildren(...choices.map((choice, number) => el("li", {
      role: "option", id: `${name}-${number}`, on: {
        pointerdown: (event) => event.preventDefault(),
        click: () => options.onCommit(choice, field.value.trim()),
      },
    }, el("span", {}, choice.text), choice.hint ? el("small", {}, choice.hint) : null)));
    open(choices.length > 0);
  }

  function open(on) {
    list.hidden = !on;
    field.setAttribute("aria-expanded", String(on));
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === active)));
    if (on && active >= 0) {
      field.setAttribute("aria-activedescendant", `${name}-${active}`);
      list.children[active].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  }

  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  field.addEventListener("blur", () => open(false));
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) show();
      const step = event.key === "ArrowDown" ? 1 : -1;
      active = choices.length ? (active + step + choices.length) % choices.length : -1;
      open(choices.length > 0);
    } else if (event.key === "Enter") {
      options.onCommit(choices[active] ?? null, field.value.trim());
    } else if (event.key === "Escape" && options.onCancel) {
      options.onCancel();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { box, field };
}

/** Those names that hold what was written: whole names first, then beginnings, then the rest. */
export function matching(names, text) {
  const wanted = text.toLocaleLowerCase();
  const rank = (name) => {
    const lower = name.toLocaleLowerCase();
    return lower === wanted ? 0 : lower.startsWith(wanted) ? 1 : lower.includes(wanted) ? 2 : 3;
  };
  return names.map((name) => [rank(name), name]).filter(([at]) => at < 3).sort((a, b) => a[0] - b[0]).map(([, name]) => name);
}
