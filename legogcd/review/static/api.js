/** An answer of the server that is not what was asked for; `state` is what it says is true now, where it says so. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error ?? `the server answered ${status}`);
    this.status = status;
    this.state = body?.state ?? null;
  }
}

/** The server cannot be reached. */
export class Lost extends Error {}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Lost("the server does not answer");
  }
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => null));
  return answer;
}

/** @param {string} path @param {Object<string, string|number>} [query] */
export async function get(path, query = {}) {
  const wanted = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return (await ask(wanted.size ? `${path}?${wanted}` : path)).json();
}

export async function post(path, body = {}) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return (await ask(path, options)).json();
}

/** Numbers as the server holds them. @returns {Promise<Float32Array>} */
export async function floats(path) {
  return new Float32Array(await (await ask(path)).arrayBuffer());
}

let run = "";

/** Browsers keep pictures by their addresses, and ids of another run mean other images: the address says of which. */
export function picturesOf(key) {
  run = encodeURIComponent(key);
}

export const thumb = (id) => `/thumb/${id}?of=${run}`;
export const full = (id) => `/image/${id}?of=${run}`;
