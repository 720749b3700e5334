import { el, visible } from "./dom.js";

const HEIGHT = 17; // pixels between the middles of two lines
const LONGEST = 22;

/**
 * Names of groups over a map, each at the image in the middle of its group; names that would overlap are left out.
 * @param {HTMLElement} box the map's
 * @param {{place: (id: number) => number[]|undefined}} map
 */
export function createLabels(box, map) {
  const canvas = el("canvas", { class: "map-labels", "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  box.append(canvas);
  let labels = [];

  function draw() {
    const [width, height] = [box.clientWidth, box.clientHeight];
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high]; // only then: it costs a frame
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(box);
    pen.font = `600 12px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const taken = [];
    for (const { name: given, middle, color } of labels) {
      const name = visible(given);
      const place = map.place(middle);
      if (!place || place[0] < 0 || place[0] > width || place[1] < 0 || place[1] > height) continue;
      const text = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
      const half = pen.measureText(text).width / 2 + 4;
      const x = Math.max(half, Math.min(width - half, place[0]));
      const y = Math.max(HEIGHT / 2, Math.min(height - HEIGHT / 2, place[1]));
      if (taken.some((other) => Math.abs(other[0] - x) < other[2] + half && Math.abs(other[1] - y) < HEIGHT)) continue;
      taken.push([x, y, half]);
      pen.strokeStyle = style.getPropertyValue("--card").trim();
      pen.lineWidth = 4;
      pen.strokeText(text, x, y);
      pen.fillStyle = style.getPropertyValue(color ?? "--text").trim();
      pen.fillText(text, x, y);
    }
  }

  return {
    /** @param {{name: string, middle: number, color?: string}[]} next most important first; color is a CSS variable */
    set(next) {
      labels = next;
      draw();
    },
    draw,
  };
}

/**
 * The image nearest to the middle (median of x and of y) of each group.
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 * @param {ArrayLike<number>} group of each image
 * @param {(id: number) => boolean} [counts]
 * @returns {Map<number, {middle: number, size: number}>}
 */
export function groupMiddles(x, y, group, counts = () => true) {
  const members = new Map();
  for (let id = 0; id < x.length; id++) {
    if (!counts(id)) continue;
    if (!members.has(group[id])) members.set(group[id], []);
    members.get(group[id]).push(id);
  }
  const middles = new Map();
  for (const [number, ids] of members) {
    const median = (axis) => Float64Array.from(ids, (id) => axis[id]).sort()[ids.length >> 1];
    const [mx, my] = [median(x), median(y)];
    let [middle, least] = [ids[0], Infinity];
    for (const id of ids) {
      const far = (x[id] - mx) ** 2 + (y[id] - my) ** 2;
      if (far < least) [middle, least] = [id, far];
    }
    middles.set(number, { middle, size: ids.length });
  }
  return middles;
}
