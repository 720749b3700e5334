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
  let slow = 0;
  let took = 0; // the last frame, in milliseconds
  let resting = 0;

  function fit(coarse) {
    drawn = coarse;
    const { width, height } = sizeOf(box);
    renderer.resize(Math.ceil(width / coarse), Math.ceil(height / coarse));
    renderer.refresh();
    [canvas.width, canvas.height] = [renderer.canvas.width, renderer.canvas.height];
  }

  /** From one frame of a moving map to the next; how long a person held still does not count. */
  function judge(time) {
    took = time;
    slow = took < SLOW ? 0 : slow + 1;
    if (slow >= (took < 2 * SLOW ? OFTEN : 1) && wanted < COARSEST) [wanted, slow] = [wanted + 1, 0];
  }

  fit(1);
  return {
    renderer,
    fit: () => fit(drawn),
    /** The map has moved by a frame. @param {(coarse: number) => void} again draws it anew */
    moved(again) {
      const begun = performance.now();
      requestAnimationFrame(() => judge(performance.now() - begun));
      clearTimeout(resting);
      const change = (coarse) => { if (coarse !== drawn) { fit(coarse); again(coarse); } };
      if (wanted !== drawn) setTimeout(() => change(wanted)); // a canvas that changes its size is empty: not in the middle of a frame
      resting = setTimeout(() => change(1), Math.max(STILL, 4 * took));
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
