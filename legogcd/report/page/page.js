"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const total = data.names.length;
  const PAGE = 60;

  const chunks = new Map();
  function picture(row) {
    const number = Math.floor(row / data.chunk);
    if (!chunks.has(number)) chunks.set(number, JSON.parse(byId(`thumbnails-${number}`).textContent));
    const code = chunks.get(number)[row % data.chunk];
    return code ? `data:image/webp;base64,${code}` : null;
  }

  const isKnown = (row) => data.known[data.group[row]] === 1;
  const category = (row) => data.groups[data.group[row]];
  const status = (row) => (data.labelled[row] ? "labelled" : isKnown(row) ? "known" : "new");
  const sureness = (row) => `${data.groups[data.predicted[row]]} at ${data.confidence[row]} %`;

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

  function adopt(tile) {
    const row = Number(tile.dataset.row);
    tile.dataset.known = isKnown(row) ? "1" : "0";
    tile.title = `${data.names[row]}: ${category(row)}`;
    tile.setAttribute("aria-label", `${data.names[row]}, ${category(row)}. Details`);
    sight.observe(tile);
  }
  document.querySelectorAll(".tile").forEach(adopt);

  const filter = { group: -1, kind: "all", text: "", order: "unsure" };
  let passing = [];
  let shown = 0;

  function passes(row) {
    if (filter.group >= 0 && data.group[row] !== filter.group) return false;
    if (filter.kind === "unsure" ? data.labelled[row] || !data.unsure[row]
      : filter.kind === "new" ? isKnown(row)
      : filter.kind !== "all" && status(row) !== filter.kind) return false;
    return !filter.text || data.names[row].toLowerCase().includes(filter.text);
  }

  const orders = {
    unsure: (a, b) => data.confidence[a] - data.confidence[b] || a - b,
    sure: (a, b) => data.confidence[b] - data.confidence[a] || a - b,
    name: (a, b) => (data.names[a] < data.names[b] ? -1 : data.names[a] > data.names[b] ? 1 : a - b),
  };

  function refresh() {
    passing = [];
    for (let row = 0; row < total; row++) if (passes(row)) passing.push(row);
    passing.sort(orders[filter.order]);
    byId("list").replaceChildren();
    shown = 0;
    more();
    const where = filter.group >= 0 ? ` in ${data.groups[filter.group]}` : "";
    byId("count").textContent = `${passing.length} of ${total} images${where}`;
    map.draw();
  }

  function more() {
    const part = document.createDocumentFragment();
    for (const row of passing.slice(shown, shown + PAGE)) {
      const tile = document.createElement("button");
      tile.type = "button";
      tile.className = "tile";
      tile.dataset.row = String(row);
      const name = document.createElement("span");
      name.className = "nothing";
      name.textContent = data.names[row];
      tile.append(name);
      adopt(tile);
      part.append(tile);
    }
    byId("list").append(part);
    shown = Math.min(passing.length, shown + PAGE);
    byId("list-more").hidden = shown >= passing.length;
    byId("list-more").textContent = `Show more (${passing.length - shown} left)`;
  }

  function choose(changes) {
    Object.assign(filter, changes);
    byId("filter-group").value = filter.group < 0 ? "" : String(filter.group);
    byId("filter-kind").value = filter.kind;
    byId("filter-text").value = filter.text;
    byId("order").value = filter.order;
    refresh();
  }

  function toMap(changes) {
    choose({ group: -1, kind: "all", text: "", ...changes });
    byId("map").scrollIntoView();
    byId("filter-group").focus({ preventScroll: true });
  }

  const map = (() => {
    const canvas = byId("canvas");
    const box = byId("map-box");
    const pen = canvas.getContext("2d");
    const CELL = 16;
    let width = 0;
    let height = 0;
    let cells = new Map();
    let at = -1;

    const place = (row) => {
      const margin = 14;
      return [
        margin + (data.x[row] / data.grid) * (width - 2 * margin),
        margin + (1 - data.y[row] / data.grid) * (height - 2 * margin),
      ];
    };

    function measure() {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      width = box.clientWidth;
      height = box.clientHeight;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      cells = new Map();
      for (let row = 0; row < total; row++) {
        const [x, y] = place(row);
        const key = Math.floor(x / CELL) * 4096 + Math.floor(y / CELL);
        if (!cells.has(key)) cells.set(key, []);
        cells.get(key).push(row);
      }
      draw();
    }

    function marks(rows, colors, size) {
      const strokes = { labelled: new Path2D(), known: new Path2D(), new: new Path2D() };
      for (const row of rows) {
        const [x, y] = place(row);
        const path = strokes[status(row)];
        if (isKnown(row)) {
          const radius = data.labelled[row] ? size * 0.85 : size;
          path.moveTo(x + radius, y);
          path.arc(x, y, radius, 0, 7);
        } else {
          const cross = isKnown(row) ? path : strokes.new;
          cross.moveTo(x - size * 1.2, y);
          cross.lineTo(x + size * 1.2, y);
          cross.moveTo(x, y - size * 1.2);
          cross.lineTo(x, y + size * 1.2);
        }
      }
      pen.fillStyle = pen.strokeStyle = colors.known;
      pen.lineWidth = 1.25;
      pen.fill(strokes.known);
      pen.stroke(strokes.labelled);
      pen.strokeStyle = colors.new;
      pen.lineWidth = 1.75;
      pen.stroke(strokes.new);
    }

    function draw() {
      if (!width) return;
      const style = getComputedStyle(document.documentElement);
      const color = (name) => style.getPropertyValue(name).trim();
      const size = total > 6000 ? 2 : total > 1500 ? 2.75 : 3.5;
      pen.clearRect(0, 0, width, height);
      if (passing.length < total) {
        const faded = color("--faded");
        marks(data.group.keys(), { known: faded, new: faded }, size * 0.8);
      }
      marks(passing, { known: color("--known"), new: color("--new") }, size);
      label(color);
    }

    function label(color) {
      const sums = data.groups.map(() => [0, 0, 0]);
      const crowd = data.groups.map(() => []);
      for (const row of passing) crowd[data.group[row]].push(row);
      crowd.forEach((rows, group) => {
        if (!rows.length) return;
        const middle = (axis) => rows.map((row) => place(row)[axis]).sort((a, b) => a - b)[rows.length >> 1];
        sums[group] = [middle(0), middle(1), rows.length];
      });
      pen.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineJoin = "round";
      const taken = [];
      const order = [...sums.keys()].filter((group) => sums[group][2]).sort((a, b) => sums[b][2] - sums[a][2]);
      for (const group of order) {
        const name = data.groups[group].length > 22 ? `${data.groups[group].slice(0, 21)}…` : data.groups[group];
        const half = pen.measureText(name).width / 2 + 4;
        const x = Math.max(half, Math.min(width - half, sums[group][0]));
        const y = sums[group][1];
        if (taken.some((other) => Math.abs(other[0] - x) < other[2] + half && Math.abs(other[1] - y) < 17)) continue;
        taken.push([x, y, half]);
        pen.strokeStyle = color("--card");
        pen.lineWidth = 4;
        pen.strokeText(name, x, y);
        pen.fillStyle = color(data.known[group] ? "--known-text" : "--new-text");
        pen.fillText(name, x, y);
      }
    }

    function nearest(x, y) {
      let best = -1;
      let least = CELL * CELL;
      const wanted = passing.length < total ? new Set(passing) : null;
      for (let column = -1; column <= 1; column++) {
        for (let line = -1; line <= 1; line++) {
          const key = (Math.floor(x / CELL) + column) * 4096 + Math.floor(y / CELL) + line;
          for (const row of cells.get(key) || []) {
            const [px, py] = place(row);
            let far = (px - x) ** 2 + (py - y) ** 2;
            if (wanted && !wanted.has(row)) far += 64;
            if (far < least) [best, least] = [row, far];
          }
        }
      }
      return best;
    }

    function point(row) {
      if (row === at) return;
      at = row;
      byId("tip").hidden = byId("ring").hidden = row < 0;
      if (row < 0) return;
      const [x, y] = place(row);
      const tip = byId("tip");
      tip.replaceChildren();
      const source = picture(row);
      if (source) {
        const image = new Image();
        image.alt = "";
        image.src = source;
        tip.append(image);
      }
      const name = document.createElement("strong");
      name.textContent = category(row);
      const file = document.createElement("span");
      file.textContent = data.names[row];
      const sure = document.createElement("span");
      sure.textContent = data.labelled[row] ? `labelled; model: ${sureness(row)}` : `${data.confidence[row]} % sure`;
      tip.append(name, file, sure);
      const ring = byId("ring");
      ring.style.left = `${x}px`;
      ring.style.top = `${y}px`;
      tip.style.left = `${Math.max(0, Math.min(width - 176, x > width / 2 ? x - 192 : x + 16))}px`;
      if (y > height / 2) {
        tip.style.top = "auto";
        tip.style.bottom = `${height - y + 12}px`;
      } else {
        tip.style.bottom = "auto";
        tip.style.top = `${y + 12}px`;
      }
    }

    const under = (event) => {
      const frame = canvas.getBoundingClientRect();
      return nearest(event.clientX - frame.left, event.clientY - frame.top);
    };
    canvas.addEventListener("pointermove", (event) => point(under(event)));
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(-1); });
    canvas.addEventListener("click", (event) => {
      const row = under(event);
      point(row);
      choose({ group: row < 0 || filter.group === data.group[row] ? -1 : data.group[row] });
    });
    new ResizeObserver(measure).observe(box);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
    return { draw, place, width: () => width };
  })();

  const viewer = byId("viewer");
  let viewed = -1;

  function view(row) {
    viewed = row;
    const frame = viewer.querySelector(".viewer-picture");
    const source = picture(row);
    if (source) {
      const image = new Image();
      image.alt = "";
      image.src = source;
      frame.replaceChildren(image);
    } else {
      frame.textContent = "No thumbnail in this page";
    }
    byId("viewer-name").textContent = data.names[row];
    const facts = [
      ["Category", category(row)],
      ["Status", { labelled: "labelled by you", known: "found in a known class", new: "in a new group" }[status(row)]],
      ["Model says", sureness(row)],
    ];
    if (data.groups.length > 1) facts.push(["Second choice", `${data.groups[data.second[row]]} at ${data.secondShare[row]} %`]);
    byId("viewer-facts").replaceChildren(...facts.flatMap(([term, text]) => {
      const name = document.createElement("dt");
      const value = document.createElement("dd");
      name.textContent = term;
      value.textContent = text;
      return [name, value];
    }));
    viewer.showModal();
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (!target) { if (event.target === viewer) viewer.close(); return; }
    if (target.matches(".tile")) view(Number(target.dataset.row));
    else if (target.matches("[data-group]")) toMap({ group: Number(target.dataset.group) });
    else if (target.matches("[data-kind]")) toMap({ kind: target.dataset.kind });
    else if (target.matches(".show-more")) {
      const hidden = target.parentElement.querySelectorAll(".more");
      hidden.forEach((item) => { item.hidden = false; });
      target.hidden = true;
      hidden[0].querySelector("button").focus();
    }
  });
  byId("viewer-close").addEventListener("click", () => viewer.close());
  byId("viewer-group").addEventListener("click", () => {
    viewer.close();
    toMap({ group: data.group[viewed] });
  });

  for (const [title, known] of [["New groups", 0], ["Known classes", 1]]) {
    const part = document.createElement("optgroup");
    part.label = title;
    data.groups.forEach((name, group) => {
      if (data.known[group] === known) part.append(new Option(`${known ? "●" : "✚"} ${name}`, String(group)));
    });
    if (part.childElementCount) byId("filter-group").append(part);
  }
  byId("filter-group").addEventListener("change", (event) => choose({ group: event.target.value === "" ? -1 : Number(event.target.value) }));
  byId("filter-kind").addEventListener("change", (event) => choose({ kind: event.target.value }));
  byId("order").addEventListener("change", (event) => choose({ order: event.target.value }));
  byId("filter-text").addEventListener("input", (event) => {
    filter.text = event.target.value.trim().toLowerCase();
    refresh();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    choose({ group: -1, kind: "all", text: "", order: "unsure" });
  });
  byId("list-more").addEventListener("click", () => {
    const from = shown;
    more();
    byId("list").children[from].focus();
  });
  refresh();
})();
