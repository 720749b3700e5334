/** The arithmetic of a grid of squares that is too long to be built: which places are in sight, and where they are. */

export const GAP = 4;
const A_SCREEN = 100; // thumbnails that a screen shows
const [SMALLEST, LARGEST] = [64, 168];

/**
 * @typedef {{columns: number, side: number, rows: number, height: number}} Layout
 * @param {number} width of the grid inside
 * @param {number} height of what is in sight
 * @param {number} count of images
 * @param {number} scale 1 for about a hundred per screen, larger for larger thumbnails
 * @returns {Layout}
 */
export function layOut(width, height, count, scale = 1) {
  const wanted = Math.max(SMALLEST, Math.min(LARGEST, Math.sqrt((width * height) / A_SCREEN))) * scale;
  const columns = Math.max(1, Math.round((width + GAP) / (wanted + GAP)));
  const side = (width - GAP * (columns - 1)) / columns;
  const rows = Math.ceil(count / columns);
  return { columns, side, rows, height: Math.max(0, rows * (side + GAP) - GAP) };
}

/** The first place in sight and the one after the last, with some rows beyond each edge. */
export function inSight({ columns, side }, count, top, height, beyond = 2) {
  const step = side + GAP;
  const first = Math.max(0, Math.floor(top / step) - beyond);
  const last = Math.ceil((top + height) / step) + beyond;
  return [Math.min(count, first * columns), Math.min(count, last * columns)];
}

/** Left and top of a place. */
export function position({ columns, side }, place) {
  return [(place % columns) * (side + GAP), Math.floor(place / columns) * (side + GAP)];
}

/** The place at a point inside the grid, -1 where there is none. */
export function placeAt({ columns, side }, count, x, y) {
  const [column, row] = [Math.floor(x / (side + GAP)), Math.floor(y / (side + GAP))];
  if (column < 0 || column >= columns || row < 0) return -1;
  const place = row * columns + column;
  return place < count ? place : -1;
}

/** All places on the straight way between two places, so that a fast pointer leaves no gaps. */
export function placesBetween({ columns }, from, to) {
  const point = (place) => [place % columns, Math.floor(place / columns)];
  const [[x1, y1], [x2, y2]] = [point(from), point(to)];
  const steps = Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1), 1);
  return Array.from({ length: steps + 1 }, (_, step) =>
    Math.round(y1 + ((y2 - y1) * step) / steps) * columns + Math.round(x1 + ((x2 - x1) * step) / steps));
}
