import { describe, picture } from "./page_data.js";

const sight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    sight.unobserve(entry.target);
    fill(entry.target);
  }
}, { rootMargin: "300px" });

function fill(tile) {
  const source = picture(Number(tile.dataset.row));
  if (!source) return;
  const image = new Image();
  image.alt = "";
  image.decoding = "async";
  image.src = source;
  tile.replaceChildren(image);
}

/** Pictures of the tiles that stand in the page, decoded when they come into sight. */
export function fillTiles() {
  for (const tile of document.querySelectorAll(".tile[data-row]")) {
    const row = Number(tile.dataset.row);
    tile.title = describe(row);
    tile.setAttribute("aria-label", `${describe(row)}. Full size`);
    sight.observe(tile);
  }
}
