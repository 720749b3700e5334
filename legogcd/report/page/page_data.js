import { byId } from "../../web/dom.js";

/** What the page holds of every image, as columns. */
export const data = JSON.parse(byId("data").textContent);
export const total = data.names.length;

const chunks = new Map();
const altered = new Set(data.altered);

/** A thumbnail's address, null where the page has none. Parts of the page are parsed when their first picture is wanted. */
export function picture(row) {
  const number = Math.floor(row / data.chunk);
  if (!chunks.has(number)) chunks.set(number, JSON.parse(byId(`thumbnails-${number}`).textContent));
  const code = chunks.get(number)[row % data.chunk];
  return code ? `data:image/webp;base64,${code}` : null;
}

/** Where the original was when the page was made; null where a name cannot be part of an address. */
export function original(row) {
  const parts = data.names[row].split("/");
  if (!data.originals || altered.has(row) || parts.includes("..") || parts[0] === "") return null;
  return [data.originals, ...parts.map(encodeURIComponent)].join("/");
}

/** The path of an image as a shell or another program takes it. */
export const path = (row) => (data.root ? `${data.root}/${data.names[row]}` : data.names[row]);

export const isKnown = (row) => data.known[data.group[row]] === 1;
export const category = (row) => data.groups[data.group[row]];
export const status = (row) => (data.labelled[row] ? "labelled" : isKnown(row) ? "known" : "new");
export const sureness = (row) => `${data.groups[data.predicted[row]]} at ${data.confidence[row]} %`;
export const describe = (row) => `${data.names[row]}, ${category(row)}`;
