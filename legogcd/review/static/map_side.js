import { el } from "/web/dom.js";
import { categoryColor, fadedColor, onTheme, shareColors, shareStep } from "/web/map_colors.js";
import { groupMiddles } from "/web/map_labels.js";
import { floats, get, thumb } from "./api.js";
import { facts } from "./image_facts.js";
import { store } from "./store.js";

const ROUNDS = ["labelled", "confirmed", "found by the model"];

/**
 * The map beside the grid: colors, lasso, and the same selection as the grid. Loaded when it is first opened.
 * @param {HTMLElement} side
 * @param {{onLasso: (ids: number[]) => void, onPick: (id: number) => void}} options
 */
export function createMapSide(side, { onLasso, onPick }) {
  const by = el("select", { "aria-label": "Color of marks", on: { change: () => paint() } },
    new Option("Color by category", "group"), new Option("Color by confidence", "confidence"), new Option("Color by round", "round"));
  const legend = el("ul", { class: "map-legend" });
  const box = el("div", { class: "map-here" });
  const note = el("p", { class: "no-map", role: "status", hidden: true });
  box.append(note);
  side.append(el("div", { class: "map-bar" }, by, legend), box);
  let panel = null;
  let columns = null;
  let points = null;
  let shown = null; // ids in color, null for all
  let opening = null;
  let labelled = null; // the columns that `named` was made of
  let named = [];

  /** Made once; a map that is not computed yet is asked for again with the server's next news. */
  function open() {
    opening ??= make().catch((problem) => {
      opening = null;
      note.textContent = problem.status === 503 ? "The map is being computed. It will be here in a moment." : problem.message;
      note.hidden = false;
    });
    return opening;
  }

  async function make() {
    const [numbers, data, { createMapPanel }] = await Promise.all([floats("/api/map"), get("/api/columns"), import("/web/map_panel.js")]);
    columns = data;
    note.hidden = true;
    const total = numbers.length / 2;
    points = { x: new Float32Array(total), y: new Float32Array(total) };
    for (let id = 0; id < total; id++) [points.x[id], points.y[id]] = [0.94 * numbers[2 * id], 0.94 * numbers[2 * id + 1]];
    panel = createMapPanel({
      box, ...points, onLasso, onPick, thumb, label: "Map of all images; the grid beside it holds the same images",
      tip: (id) => [columns.groups[columns.group[id]], facts.name(id), `${Math.round(100 * columns.confidence[id])} % sure`],
      onLook: (id) => { if (id >= 0) facts.need([id]); },
    });
  }

  const schemes = {
    group: () => [(id) => columns.group[id], columns.groups.map((_, number) => categoryColor(number)), []],
    confidence: () => {
      const colors = shareColors();
      return [(id) => shareStep(columns.confidence[id]), colors, [["doubtful", colors[0]], ["sure", colors.at(-1)]]];
    },
    round: () => {
      const colors = [0, 1, 2].map((number) => categoryColor(number));
      return [(id) => columns.round[id], colors, ROUNDS.map((text, at) => [text, colors[at]])];
    },
  };

  async function paint() {
    if (!panel) return;
    const [value, palette, entries] = schemes[by.value]();
    const colored = new Uint16Array(points.x.length);
    if (shown) for (const id of shown) colored[id] = 1 + value(id);
    else for (let id = 0; id < colored.length; id++) colored[id] = 1 + value(id);
    legend.replaceChildren(...entries.map(([text, color]) => {
      const mark = el("span", { class: "swatch", "aria-hidden": "true" });
      mark.style.background = color;
      return el("li", {}, mark, text);
    }));
    await panel.map.paint(colored, [fadedColor(), ...palette]);
    panel.labels.set(labels());
  }

  /** Names at the middles of their groups, the largest first; worked out once per state of the run. */
  function labels() {
    if (labelled !== columns) {
      labelled = columns;
      const middles = [...groupMiddles(points.x, points.y, columns.group)].sort((a, b) => b[1].size - a[1].size);
      named = middles.map(([group, { middle }]) => ({ name: columns.groups[group], middle }));
    }
    return named;
  }

  onTheme(() => paint());
  return {
    open,
    /** What the grid shows is in color; a whole collection or an empty grid leaves all in color. */
    async highlight(ids) {
      shown = ids.length && ids.length < (points?.x.length ?? Infinity) ? ids : null;
      await paint();
      if (panel) box.dataset.drawn = "1";
    },
    async refresh() {
      if (!panel && !note.hidden && !side.hidden) await open();
      if (!panel) return;
      columns = await get("/api/columns");
      await paint();
      box.dataset.drawn = "1";
    },
    select: (ids) => panel?.map.select(ids),
    ring: (id) => panel?.ring(id),
    groupOf: (id) => columns?.groups[columns.group[id]],
  };
}
