import { byId } from "../../web/dom.js";
import { categoryColor, fadedColor, isDark, onTheme, shareColors, shareStep } from "../../web/map_colors.js";
import { groupMiddles } from "../../web/map_labels.js";
import { createMapPanel } from "../../web/map_panel.js";
import { category, data, isKnown, picture, sureness } from "./page_data.js";

const MARGIN = 0.94; // of the box: marks at the edge stay whole
const unit = (values) => Float32Array.from(values, (value) => MARGIN * ((2 * value) / data.grid - 1));

/**
 * The map of the report: what passes the filters in color, the rest faded.
 * @param {{onPick: (row: number) => void, onLasso: (rows: number[]) => void}} options
 */
export function createPageMap({ onPick, onLasso }) {
  const [x, y] = [unit(data.x), unit(data.y)];
  const box = byId("map-box");
  box.classList.add("map-box");
  let panel = null; // made when the map comes into sight: most of the work of opening the page
  let passing = [];
  let selected = [];

  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    panel = createMapPanel({
      box, x, y, onPick, onLasso, thumb: picture,
      label: "Map of all images; the list below holds the same images",
      tip: (row) => [category(row), data.names[row], data.labelled[row] ? `labelled; model: ${sureness(row)}` : `${data.confidence[row]} % sure`],
      takesWheel: (event) => event.ctrlKey || box.contains(document.activeElement), // the page scrolls past a map not in use
    });
    draw();
    panel.map.select(selected);
  }, { rootMargin: "200px" }).observe(box);

  const palettes = {
    status: () => [isDark() ? "#3a9fdc" : "#0072b2", isDark() ? "#f0803c" : "#d55e00"],
    category: () => data.groups.map((_, group) => categoryColor(group)),
    confidence: shareColors,
  };
  const values = {
    status: (row) => (isKnown(row) ? 0 : 1),
    category: (row) => data.group[row],
    confidence: (row) => shareStep(data.confidence[row] / 100),
  };

  function draw() {
    if (!panel) return;
    const by = byId("color").value;
    const colored = new Uint16Array(x.length);
    for (const row of passing) colored[row] = 1 + values[by](row);
    panel.map.paint(colored, [fadedColor(), ...palettes[by]()]).then(() => {
      const counts = new Set(passing);
      const middles = groupMiddles(x, y, data.group, (row) => counts.has(row));
      panel.labels.set([...middles].sort((a, b) => b[1].size - a[1].size).map(([group, { middle }]) => ({
        name: data.groups[group], middle, color: data.known[group] ? "--known-text" : "--new-text",
      })));
      box.dataset.drawn = "1";
    });
  }

  byId("color").addEventListener("change", draw);
  onTheme(draw);
  return {
    show(rows) {
      passing = rows;
      draw();
    },
    select(rows) {
      selected = rows;
      panel?.map.select(rows);
    },
    ring: (row) => panel?.ring(row),
  };
}
