/**
 * Elements made in one line. Text goes in as text: nothing here ever reads markup.
 * @param {string} tag
 * @param {Object<string, any>} [properties] `class`, `data`, `on`, properties of the element, or attributes with a dash
 * @param {...(Node|string|null|false)} children
 * @returns {HTMLElement}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, String(value));
    else element[name] = value;
  }
  const there = children.filter((child) => child !== null && child !== false && child !== undefined);
  element.append(...there.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

// control characters, line separators, changes of writing direction, halves of characters
const DECEIVING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Text of strangers as it may be shown: a name that would read as another one is written out. */
export function visible(text) {
  return text.replace(DECEIVING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A button that does one thing. */
export function button(text, action, properties = {}) {
  return el("button", { type: "button", on: { click: action }, ...properties }, text);
}

/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => document.getElementById(id);

/** True while keys belong to a field in which a person writes. */
export function writing(target) {
  return target instanceof Element && target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
}

/** "1 image", "2 images". */
export function counted(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en-US")} ${number === 1 ? noun : plural}`;
}

/** A share as people read it. */
export const percent = (share) => `${Math.round(100 * share)} %`;

/** True if a person asked the system for less movement. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
