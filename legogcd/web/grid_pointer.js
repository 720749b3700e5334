import { placeAt, placesBetween } from "./grid_layout.js";

const EDGE = 36; // pixels from the edge at which a drag scrolls
const HELD = 400; // milliseconds after which a finger that stays where it is begins to paint

/**
 * A press selects, a drag paints with what the press did, shift takes the whole range, two presses open.
 * A finger taps to select and drags to scroll; held still first, it paints too.
 * @param {import("./image_grid.js").ImageGrid} grid
 */
export function listenToPointer(grid) {
  const { list } = grid;
  let paint = null;
  let holding = 0;
  let held = false; // the finger that is up again has painted: it is no tap

  const at = (event) => {
    const frame = list.getBoundingClientRect();
    return grid.layout ? placeAt(grid.layout, grid.order.length, event.clientX - frame.left, event.clientY - frame.top) : -1;
  };

  list.addEventListener("pointerdown", (event) => {
    const place = at(event);
    if (place < 0 || event.button !== 0) return;
    if (event.pointerType === "touch") return void hold(place);
    event.preventDefault();
    grid.focus();
    grid.active = place;
    if (event.shiftKey) return void grid.selection.extend(grid.order, place);
    begin(place);
    list.setPointerCapture(event.pointerId);
    grid.options.onActive?.(grid.order[place]);
  });

  function begin(place) {
    grid.active = place;
    grid.selection.toggle(grid.order, place);
    paint = { last: place, on: grid.selection.has(grid.order[place]) };
  }

  function hold(place) {
    held = false;
    clearTimeout(holding);
    holding = setTimeout(() => {
      held = true;
      begin(place);
    }, HELD);
  }

  // a browser that scrolls takes the pointer away; one that is asked in time does not
  list.addEventListener("touchmove", (event) => { if (paint) event.preventDefault(); }, { passive: false });
  list.addEventListener("contextmenu", (event) => { if (paint) event.preventDefault(); });

  list.addEventListener("pointermove", (event) => {
    const place = at(event);
    if (!paint) return void grid.hover(place);
    scrollAtEdge(grid.options.box, event);
    if (place < 0 || place === paint.last) return;
    const between = placesBetween(grid.layout, paint.last, place).filter((passed) => passed < grid.order.length);
    paint.last = grid.active = place;
    grid.selection.put(between.map((passed) => grid.order[passed]), paint.on);
  });

  const stop = () => {
    clearTimeout(holding);
    paint = null;
  };
  list.addEventListener("pointerup", stop);
  list.addEventListener("pointercancel", stop);
  list.addEventListener("pointerleave", () => grid.hover(-1));

  list.addEventListener("click", (event) => {
    const place = at(event);
    if (event.pointerType !== "touch" || place < 0 || held) return;
    grid.active = place;
    grid.selection.toggle(grid.order, place);
  });

  list.addEventListener("dblclick", (event) => {
    const place = at(event);
    if (place >= 0) grid.options.onOpen?.(grid.order[place], grid.order);
  });
}

function scrollAtEdge(box, event) {
  const frame = box.getBoundingClientRect();
  if (event.clientY < frame.top + EDGE) box.scrollTop -= EDGE / 2;
  else if (event.clientY > frame.bottom - EDGE) box.scrollTop += EDGE / 2;
}
