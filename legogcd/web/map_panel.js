import { button, el } from "./dom.js";
import { createLabels } from "./map_labels.js";
import { createMap } from "./scatter_map.js";

/**
 * A map with its buttons, its names and a small picture at the image under the pointer.
 * @typedef {import("./scatter_map.js").MapOptions & {
 *   thumb: (id: number) => string|null, tip: (id: number) => string[], onLook?: (id: number) => void}} PanelOptions
 * @param {PanelOptions} options
 */
export function createMapPanel(options) {
  const { box } = options;
  box.classList.add("map-box");
  const ring = el("div", { class: "map-ring", hidden: true });
  const tip = el("div", { class: "map-tip", id: "tip", hidden: true });
  let pointed = -1;

  function show(id) {
    const place = id >= 0 ? map.place(id) : undefined;
    ring.hidden = !place;
    if (place) [ring.style.left, ring.style.top] = [`${place[0]}px`, `${place[1]}px`];
    return place;
  }

  function point(id) {
    if (id === pointed) return;
    pointed = id;
    const place = show(id);
    tip.hidden = !place;
    if (place) fillTip(tip, options, id, place);
    options.onLook?.(id);
  }

  const map = createMap({
    ...options,
    onPoint: point,
    onView: () => {
      labels.draw();
      point(-1);
      options.onView?.();
    },
  });
  const labels = createLabels(box, map);
  const [pan, lasso] = modes(map);
  const controls = el("div", { class: "map-controls", role: "toolbar", "aria-label": "Map" },
    pan, lasso,
    button("+", () => map.zoomBy(1.6), { "aria-label": "Zoom in", title: "Zoom in" }),
    button("−", () => map.zoomBy(1 / 1.6), { "aria-label": "Zoom out", title: "Zoom out" }),
    button("Whole map", () => map.zoomTo(null), { title: "Show the whole map" }));
  controls.hidden = !map.works;
  box.append(ring, tip, controls);
  return { map, labels, ring: show, point, lassoMode: (on) => (on ? lasso : pan).click() };
}

/** Two buttons of which one is pressed: what a drag does. */
function modes(map) {
  const both = [["Move", false, "Drag moves the map"], ["Lasso", true, "Drag selects; with Shift it always does"]].map(([text, on, title]) =>
    button(text, () => {
      map.lasso(on);
      for (const other of both) other.setAttribute("aria-pressed", String(other === both[Number(on)]));
    }, { "aria-pressed": String(!on), title }));
  return both;
}

function fillTip(tip, { box, thumb, tip: lines }, id, [x, y]) {
  const source = thumb(id);
  const [first, ...rest] = lines(id);
  tip.replaceChildren(
    ...(source ? [el("img", { alt: "", src: source })] : []),
    el("strong", {}, first), ...rest.map((line) => el("span", {}, line)));
  const [width, height] = [box.clientWidth, box.clientHeight];
  tip.style.left = `${Math.max(0, Math.min(width - 176, x > width / 2 ? x - 192 : x + 16))}px`;
  const below = y <= height / 2;
  tip.style.top = below ? `${y + 12}px` : "auto";
  tip.style.bottom = below ? "auto" : `${height - y + 12}px`;
}
