import { createRenderer } from "./vendor/regl_scatterplot.js";

const SLOW = 50; // milliseconds between two frames of a moving map
const OFTEN = 3; // such frames in a row
const STILL = 350; // milliseconds without a move
const COARSEST = 3;

/**
 * What the library draws a map into: as large as the map (by itself it takes the whole window) and, where a moving map would
 * jerk, with fewer and larger pixels until it rests, in steps: `again` may draw fewer points with each. A machine that is
 * fast enough always draws all of them.
 * @param {HTMLElement} box
 * @param {HTMLCanvasElement} canvas fills the box
 */
export function createDrawing(box, canvas) {
  const renderer = createRenderer({ canvas: document.createElement("canvas") });
  let wanted = 1; // how coarse while moving
  let drawn = 1; // how coarse now
  let last = 0;
  let slow = 0;
  let resting = 0;

  function fit(coarse) {
    drawn = coarse;
    const { width, height } = sizeOf(box);
    renderer.resize(Math.ceil(width / coarse), Math.ceil(height / coarse));
    renderer.refresh();
    [canvas.width, canvas.height] = [renderer.canvas.width, renderer.canvas.height];
  }

  fit(1);
  return {
    renderer,
    fit: () => fit(drawn),
    /** The map has moved by a frame. @param {(coarse: number) => void} again draws it anew */
    moved(again) {
      const now = performance.now();
      slow = now - last < SLOW ? 0 : now - last < STILL ? slow + 1 : slow;
      last = now;
      if (slow >= OFTEN && wanted < COARSEST) [wanted, slow] = [wanted + 1, 0];
      clearTimeout(resting);
      const change = (coarse) => { if (coarse !== drawn) { fit(coarse); again(coarse); } };
      if (wanted !== drawn) setTimeout(() => change(wanted)); // a canvas that changes its size is empty: not in the middle of a frame
      resting = setTimeout(() => change(1), STILL);
    },
    destroy() {
      clearTimeout(resting);
      renderer.destroy();
    },
  };
}

export function sizeOf(box) {
  const [width, height] = [Math.max(box.clientWidth, 1), Math.max(box.clientHeight, 1)];
  return { width, height, aspectRatio: width / height };
}
