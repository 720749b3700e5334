import { calm, el } from "./dom.js";
import { isDark, onTheme } from "./map_colors.js";
import { createDrawing, sizeOf } from "./map_drawing.js";
import createScatterplot from "./vendor/regl_scatterplot.js";

const MANY = 40000; // points from which on squares without blending are drawn
const LARGEST_CLICK = 4; // pixels a pointer may travel between down and up
const MOVING = 10000; // points that are drawn of more while a map moves that would jerk

/** What is shown instead of a map. */
const NO_MAP = "This browser cannot draw the map, which needs WebGL. Everything else on the page works without it.";

function hasWebGL() {
  const context = document.createElement("canvas").getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}

function pointSize(total) {
  return total > MANY ? 2 : total > 6000 ? 3 : total > 1500 ? 4.5 : 6;
}

/**
 * A map of all images: pan, zoom and lasso.
 * @typedef {object} MapOptions
 * @property {HTMLElement} box an element with a size; the map fills it
 * @property {ArrayLike<number>} x from -1 to 1
 * @property {ArrayLike<number>} y from -1 to 1
 * @property {string} label what a screen reader says
 * @property {(id: number, place: number[]) => void} [onPoint] the image under the pointer, -1 for none
 * @property {(id: number) => void} [onPick] a click on an image, -1 beside all
 * @property {(ids: number[]) => void} [onLasso]
 * @property {() => void} [onView] after every pan or zoom
 * @property {() => boolean} [takesWheel] whether the wheel zooms now; the page scrolls otherwise
 * @param {MapOptions} options
 */
export function createMap(options) {
  const { box } = options;
  const total = options.x.length;
  if (!hasWebGL() || !total) return missingMap(box);
  const canvas = el("canvas", { class: "map-canvas", tabIndex: 0, role: "img", "aria-label": options.label });
  box.append(canvas);
  let drawing;
  let plot;
  try {
    drawing = createDrawing(box, canvas);
    plot = createScatterplot({ canvas, renderer: drawing.renderer, ...sizeOf(box), ...looks(total) });
  } catch (problem) {
    canvas.remove();
    return missingMap(box);
  }
  const points = { x: options.x, y: options.y, z: new Array(total).fill(0) };
  let index = null; // the spatial index, made by the first drawing
  let work = Promise.resolve();
  let colors = ["#888888"];

  /** Drawings follow one another: the library draws one at a time. */
  function draw() {
    work = work.then(async () => {
      plot.set({ pointColor: colors });
      await plot.draw(points, { zDataType: "categorical", ...(index ? { spatialIndex: index } : {}) });
      index ??= plot.get("spatialIndex");
    });
    return work;
  }

  let selected = [];
  const some = sample(total);

  /** A moving map that would jerk: points of as many pixels as before, and of very many points a sample. */
  function coarsely(coarse) {
    plot.set({ pointSize: Math.max(1, pointSize(total) / coarse) });
    if (!some) return;
    box.dataset.points = coarse > 1 ? "some" : "all";
    if (coarse > 1) {
      if (!plot.get("isPointsFiltered")) plot.filter(some, { preventEvent: true });
    } else plot.unfilter({ preventEvent: true }).then(() => selected.length && plot.select(selected, { preventEvent: true })); // a filter deselects
  }

  listen(plot, canvas, { ...options, onView: () => { drawing.moved(coarsely); options.onView?.(); } });
  const observer = new ResizeObserver(() => {
    plot.set(sizeOf(box));
    drawing.fit();
    options.onView?.();
  });
  observer.observe(box);
  onTheme(() => plot.set(looks(total)));

  return {
    works: true,
    canvas,
    /** Color image i with palette[values[i]]. */
    paint(values, palette) {
      points.z = Array.from(values);
      colors = palette.length > 1 ? palette : [...palette, ...palette];
      return draw();
    },
    selected: () => Array.from(plot.get("selectedPoints")),
    /** Mark images as selected, without telling anyone. */
    select(ids) {
      selected = ids;
      work = work.then(() => (ids.length ? plot.select(ids, { preventEvent: true }) : plot.deselect({ preventEvent: true })));
      return work;
    },
    /** Fly to some images, or to all. */
    zoomTo(ids) {
      const transition = !calm();
      work = work.then(() => (ids
        ? plot.zoomToPoints(ids, { padding: 0.3, transition })
        : plot.zoomToOrigin({ transition })));
      return work;
    },
    zoomBy(factor) {
      return plot.zoomToLocation(plot.get("cameraTarget"), plot.get("cameraDistance") / factor, { transition: !calm() });
    },
    panBy(right, down) {
      const [x, y] = plot.get("cameraTarget");
      const step = 0.25 * plot.get("cameraDistance");
      return plot.zoomToLocation([x + right * step, y - down * step], plot.get("cameraDistance"));
    },
    /** Whether a drag selects with a lasso or moves the map. */
    lasso(on) {
      plot.set({ mouseMode: on ? "lasso" : "panZoom" });
    },
    /** Where an image is, in pixels from the top left corner of the box; undefined before the first drawing. */
    place: (id) => plot.getScreenPosition(id),
    done: () => work,
    destroy() {
      observer.disconnect();
      plot.destroy();
      drawing.destroy();
    },
  };
}

/** Points at random, one of every so many, for a map that moves; null where there are few. */
function sample(total) {
  if (total <= 2 * MOVING) return null;
  return Array.from({ length: MOVING }, (_, at) => Math.floor(((at + Math.random()) * total) / MOVING));
}

function missingMap(box) {
  box.append(el("p", { class: "no-map", role: "note" }, NO_MAP));
  const nothing = () => Promise.resolve();
  return {
    works: false, canvas: null, paint: nothing, select: nothing, zoomTo: nothing, zoomBy: nothing, panBy: nothing,
    lasso() {}, selected: () => [], place: () => undefined, done: nothing, destroy() {},
  };
}

function looks(total) {
  return {
    pointSize: pointSize(total), pointSizeSelected: 2, pointOutlineWidth: 1.5, opacity: total > 6000 ? 0.75 : 0.9,
    colorBy: "valueA", pointColorActive: isDark() ? "#ffffff" : "#111111", pointColorHover: isDark() ? "#ffffff" : "#111111",
    backgroundColor: isDark() ? "#1b1f23" : "#ffffff", lassoColor: isDark() ? "#6cbcf0" : "#005f95",
    spatialIndexUseWorker: false, // a worker would need code from a string
    performanceMode: total > MANY, deselectOnDblClick: false, deselectOnEscape: false, showReticle: false,
    actionKeyMap: { lasso: "shift" },
  };
}

/** Hover, click, lasso and view, told apart: a click is a press without a way. */
function listen(plot, canvas, { onPoint, onPick, onLasso, onView, takesWheel }) {
  let over = -1;
  let from = null;
  let drawn = false;
  plot.subscribe("pointOver", (id) => {
    over = id;
    onPoint?.(id, plot.getScreenPosition(id));
  });
  plot.subscribe("pointOut", () => {
    over = -1;
    onPoint?.(-1, []);
  });
  plot.subscribe("lassoStart", () => { drawn = true; });
  plot.subscribe("lassoEnd", () => {
    const ids = Array.from(plot.get("selectedPoints"));
    if (ids.length) onLasso?.(ids);
  });
  plot.subscribe("view", () => {
    canvas.parentElement.dataset.zoom = (1 / plot.get("cameraDistance")).toFixed(2);
    onView?.();
  });
  canvas.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
    drawn = false;
  });
  canvas.addEventListener("click", (event) => {
    const way = from ? Math.hypot(event.clientX - from[0], event.clientY - from[1]) : 0;
    if (way <= LARGEST_CLICK && !drawn) onPick?.(over);
  });
  canvas.addEventListener("wheel", (event) => {
    if (takesWheel && !takesWheel(event)) event.stopImmediatePropagation();
  }, { capture: true });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [x, y] = plot.get("cameraTarget");
    const length = 0.25 * plot.get("cameraDistance");
    plot.zoomToLocation([x + step[0] * length, y - step[1] * length], plot.get("cameraDistance"));
  });
}
