import { bind, describe } from "./keys.js";

/** The keys of the images view; moving and selecting inside the grid are the grid's own. */
export function bindImageKeys(acts) {
  const { grid } = acts;
  describe("images", ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], "From image to image; with Shift, select on the way");
  describe("images", " ", "Select or leave out");
  describe("images", "Enter", "Full size, with next and previous (← →)");
  describe("images", "Ctrl+a", "Select all");
  bind("images", "m", "Move what is selected: say where, once", () => acts.move(grid.chosen()));
  bind("images", "x", "Not an image of anything here", () => acts.aside());
  bind("images", "c", "Confirm what is selected, or the whole group", () => acts.confirm());
  bind("images", "l", "More like these", () => acts.similar(grid.chosen()));
  bind("images", "i", "Invert the selection", () => grid.selection.invert(grid.order));
  bind("images", "Escape", "Select none; if none is, back to the groups", () => (grid.selection.size ? grid.selection.clear() : acts.back()));
  bind("images", "n", "Name the group", () => acts.rename());
  bind("images", "s", "Split the group", () => acts.split());
  bind("images", "p", "Map beside the images", () => acts.toggleMap());
  bind("images", "[", "Previous group", () => acts.neighbor(-1));
  bind("images", "]", "Next group", () => acts.neighbor(1));
  bind("images", ["+", "="], "Larger thumbnails", () => grid.rescale(grid.scale * 1.25));
  bind("images", "-", "Smaller thumbnails", () => grid.rescale(grid.scale / 1.25));
  bind("images", "Ctrl+a", "", () => grid.selection.replace(grid.order), { hidden: true });
}
