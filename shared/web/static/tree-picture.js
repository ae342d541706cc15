// The picture itself: SVG that lies in a frame and scrolls, with the keys of a tree (WAI-ARIA, tree view pattern).
"use strict";

(() => {
  const WIDTH = 184;
  const HEIGHT = 50;
  const GAP = { least: 92, most: 150, bend: 56 };
  const ROW = 62;
  const MARGIN = 18;
  const INNER = WIDTH - 28;
  const FIRST_LOOK = 16;
  const STEP = 1.25;
  const MOST_SHOWN = 4000; // more would make the page slow, and nobody could read it
  const CUT_FROM = 240; // letters that are measured at most; nothing longer fits a box

  const { make, patterns } = PrivetTreeShapes;

  class Picture {
    /** `room`: the element to draw in. `onChoose(node)`: a node has the focus or the mouse. */
    constructor(room, nodes, id, onChoose) {
      this.nodes = nodes;
      this.id = id;
      this.onChoose = onChoose;
      this.open = nodes.firstLook(FIRST_LOOK);
      this.lit = new Set();
      this.hits = new Set();
      this.current = nodes.root;
      this.drawn = new Map();
      this.lines = new Map();
      this.cuts = new Map();
      this.measure = document.createElement("canvas").getContext("2d");
      this.gap = this.gapFor(nodes.all);
      const title = PrivetTreeNodes.filled(nodes.words.picture, { class: nodes.document.class });
      this.edges = make("g", { "aria-hidden": "true", class: "tree-edges" });
      this.items = make("g", { role: "tree", "aria-label": title });
      this.svg = make("svg", { role: "none", class: "tree-svg" }, patterns(id, nodes.document.classes.length), this.edges, this.items);
      this.frame = new PrivetTreeFrame.Frame(room, this.svg);
      this.listen();
      this.draw();
      this.frame.first();
      this.middle(nodes.root);
    }

    // Layout and drawing.

    draw() {
      const root = d3.hierarchy(this.nodes.root, (node) => (this.open.has(node.place) ? node.kids : null));
      d3.tree().nodeSize([ROW, WIDTH + this.gap]).separation((a, b) => (a.parent === b.parent ? 1 : 1.12))(root);
      const shown = [];
      root.eachBefore((spot) => shown.push(spot)); // reading order, which is the order of the keys
      const top = Math.min(...extremes(shown)) - HEIGHT / 2 - MARGIN;
      const bottom = Math.max(...extremes(shown)) + HEIGHT / 2 + MARGIN;
      this.width = MARGIN * 2 + root.height * (WIDTH + this.gap) + WIDTH;
      this.height = bottom - top;
      this.shown = shown.map((spot) => spot.data);
      this.spots = new Map(shown.map((spot) => [spot.data.place, { x: spot.y + MARGIN, y: spot.x - top }]));
      this.edges.replaceChildren(...shown.slice(1).flatMap((spot) => this.edge(spot.data)));
      this.items.replaceChildren(...this.shown.map((node) => this.item(node)));
      if (!this.spots.has(this.current.place)) this.current = this.shownAbove(this.current);
      this.frame.hold(this.width, this.height);
      this.mark();
    }

    /** Room between levels: as the longest name of a branch needs, within bounds. */
    gapFor(all) {
      const names = new Set(all.map((node) => (node.branch || "").slice(0, CUT_FROM)));
      const longest = Math.max(0, ...[...names].map((name) => this.widthOf(name, "12px")));
      return Math.min(Math.max(Math.ceil(longest) + GAP.bend + 4, GAP.least), GAP.most);
    }

    /** The line that leads to a node, and the branch's name above it. */
    edge(node) {
      let drawn = this.lines.get(node.place);
      if (!drawn) {
        drawn = this.madeEdge(node);
        this.lines.set(node.place, drawn);
      }
      const [line, text] = drawn;
      const start = this.spots.get(node.above.place);
      const end = this.spots.get(node.place);
      const x = start.x + WIDTH;
      line.setAttribute("d", `M${x} ${start.y}C${x + 34} ${start.y} ${x + 6} ${end.y} ${x + 44} ${end.y}H${end.x}`);
      text.setAttribute("x", x + 50);
      text.setAttribute("y", (end.y - this.lineWidth(node) / 2 - 5).toFixed(1));
      return drawn;
    }

    madeEdge(node) {
      const line = make("path", { "stroke-width": this.lineWidth(node).toFixed(1), class: "tree-edge", "data-edge": node.place });
      const text = make("text", { class: "tree-branch", "data-edge": node.place });
      text.textContent = this.cut(node.branch, this.gap - GAP.bend, "12px");
      text.append(make("title", {}, node.branch));
      return [line, text];
    }

    /** As wide as the node's share of all records, where they are shown. */
    lineWidth(node) {
      return this.nodes.records ? 1.2 + (14 * (node.records || 0)) / this.nodes.records : 2;
    }

    item(node) {
      let item = this.drawn.get(node.place);
      if (!item) {
        item = this.made(node);
        this.drawn.set(node.place, item);
      }
      const spot = this.spots.get(node.place);
      item.setAttribute("transform", `translate(${spot.x} ${spot.y - HEIGHT / 2})`);
      if (node.kids.length) {
        const isOpen = this.open.has(node.place);
        item.setAttribute("aria-expanded", String(isOpen));
        item.querySelector(".tree-sign").textContent = isOpen ? "−" : "+";
      }
      return item;
    }

    made(node) {
      const siblings = node.above ? node.above.kids : [node];
      const isSplit = this.nodes.isSplit(node);
      const item = make("g", {
        role: "treeitem",
        tabindex: "-1",
        class: `tree-node ${isSplit ? "tree-split" : "tree-leaf"}`,
        "data-place": node.place,
        "aria-level": node.level,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.indexOf(node) + 1,
      });
      const told = this.nodes.told(node);
      const left = isSplit ? 12 : 26;
      const room = isSplit ? INNER - 8 : INNER - 6;
      item.append(
        make("title", {}, this.nodes.label(node)),
        make("rect", { class: "tree-box", width: WIDTH, height: HEIGHT, rx: isSplit ? 4 : 14 }),
      );
      if (!isSplit && node.label !== null) {
        item.append(make("path", { d: `M14 0H18V${HEIGHT}H14A14 14 0 0 1 0 ${HEIGHT - 14}V14A14 14 0 0 1 14 0Z`, fill: this.fill(node.label), class: "tree-band" }));
      }
      const name = make("text", { x: left, y: told ? 21 : 30, class: "tree-name" });
      name.textContent = this.cut(this.nodes.name(node), room, "600 14px");
      item.append(name);
      if (told) {
        const line = make("text", { x: left, y: 36, class: "tree-told" });
        line.textContent = this.cut(told, room, "11.5px");
        item.append(line);
      }
      item.append(...this.bar(node, left));
      if (node.kids.length) {
        item.append(make("g", { class: "tree-badge" }, make("circle", { cx: WIDTH, cy: HEIGHT / 2, r: 9 }), make("text", { x: WIDTH, y: HEIGHT / 2 + 4.5, class: "tree-sign" })));
      }
      return item;
    }

    /** How the records spread over the classes, as a bar with the classes' patterns. */
    bar(node, left) {
      const present = this.nodes.present(node);
      const total = present.reduce((sum, [, count]) => sum + count, 0);
      const room = WIDTH - left - 16;
      let x = left;
      return present.map(([label, count]) => {
        const width = (room * count) / total;
        const part = make("rect", { x: x.toFixed(1), y: 41, width: width.toFixed(1), height: 5, fill: this.fill(label), class: "tree-bar" });
        x += width;
        return part;
      });
    }

    fill(label) {
      return `url(#${this.id}-class-${label})`;
    }

    /** As much of a text as fits, with an ellipsis where something was cut. */
    cut(text, room, font) {
      const key = `${font}|${room}|${text.slice(0, CUT_FROM)}|${text.length > CUT_FROM}`;
      let found = this.cuts.get(key);
      if (found === undefined) {
        found = this.cutAnew(text, room, font);
        this.cuts.set(key, found);
      }
      return found;
    }

    /** How wide a text is drawn. */
    widthOf(text, font) {
      this.measure.font = `${font} system-ui, sans-serif`;
      return this.measure.measureText(text).width;
    }

    cutAnew(text, room, font) {
      const letters = Array.from(text.slice(0, CUT_FROM));
      if (text.length <= CUT_FROM && this.widthOf(text, font) <= room) return text;
      let low = 0;
      let high = letters.length;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (this.widthOf(`${letters.slice(0, middle).join("")}…`, font) <= room) low = middle;
        else high = middle - 1;
      }
      return `${letters.slice(0, low).join("").trimEnd()}…`;
    }

    /** Classes and labels of what is lit, found and chosen. */
    mark() {
      const words = this.nodes.words;
      this.svg.classList.toggle("tree-some-lit", this.lit.size > 0);
      for (const node of this.shown) {
        const item = this.drawn.get(node.place);
        const isLit = this.lit.has(node.place);
        const isHit = this.hits.has(node.place);
        item.classList.toggle("tree-lit", isLit);
        item.classList.toggle("tree-hit", isHit);
        item.setAttribute("tabindex", node === this.current ? "0" : "-1");
        const remarks = [isLit ? words.on_path : "", isHit ? words.hit : ""];
        if (node.kids.length && !this.open.has(node.place)) {
          remarks.push(PrivetTreeNodes.filled(words.open, { n: node.below }));
        }
        item.setAttribute("aria-label", [this.nodes.label(node), ...remarks].filter(Boolean).join(", "));
      }
      for (const line of this.edges.children) line.classList.toggle("tree-lit", this.lit.has(Number(line.dataset.edge)));
    }

    // What people do.

    listen() {
      this.items.addEventListener("click", (event) => this.clicked(event));
      this.items.addEventListener("keydown", (event) => this.key(event));
      this.items.addEventListener("focusin", (event) => this.chosen(event));
      this.items.addEventListener("pointerover", (event) => this.hovered(event));
      this.items.addEventListener("pointerleave", () => this.onChoose(this.current));
    }

    nodeOf(event) {
      const item = event.target.closest("[data-place]");
      return item ? this.nodes.all[Number(item.dataset.place)] : null;
    }

    clicked(event) {
      const node = this.nodeOf(event);
      if (!node) return;
      this.focus(node, { scroll: false });
      this.toggle(node);
    }

    chosen(event) {
      const node = this.nodeOf(event);
      if (!node) return;
      this.current = node;
      for (const [place, item] of this.drawn) item.setAttribute("tabindex", place === node.place ? "0" : "-1");
      this.onChoose(node);
    }

    hovered(event) {
      const node = this.nodeOf(event);
      if (node) this.onChoose(node);
    }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const node = this.current;
      const at = this.shown.indexOf(node);
      const acts = {
        ArrowDown: () => this.focus(this.shown[Math.min(at + 1, this.shown.length - 1)]),
        ArrowUp: () => this.focus(this.shown[Math.max(at - 1, 0)]),
        ArrowRight: () => (this.isClosed(node) ? this.toggle(node) : this.focus(node.kids[0] || node)),
        ArrowLeft: () => (this.isOpen(node) ? this.toggle(node) : this.focus(node.above || node)),
        Home: () => this.focus(this.shown[0]),
        End: () => this.focus(this.shown[this.shown.length - 1]),
        Enter: () => this.toggle(node),
        " ": () => this.toggle(node),
        "*": () => this.openAll((node.above || node).kids.map((each) => each.place)),
        "+": () => this.frame.zoomBy(STEP),
        "-": () => this.frame.zoomBy(1 / STEP),
        0: () => this.frame.fit(),
      };
      if (!(event.key in acts)) return;
      event.preventDefault();
      acts[event.key]();
    }

    isOpen(node) {
      return node.kids.length > 0 && this.open.has(node.place);
    }

    isClosed(node) {
      return node.kids.length > 0 && !this.open.has(node.place);
    }

    toggle(node) {
      if (!node.kids.length) return;
      if (this.open.has(node.place)) this.open.delete(node.place);
      else this.open.add(node.place);
      this.keepingInPlace(node, () => this.draw());
    }

    /** Open these places, or all, from the root on. Returns whether that was all: a picture holds so many only. */
    openAll(places = this.nodes.all.map((node) => node.place)) {
      let shown = this.shown.length;
      const left = places.map((place) => this.nodes.all[place]).filter((node) => this.isClosed(node));
      const fits = left.filter((node) => (shown += node.kids.length) <= MOST_SHOWN);
      for (const node of fits) this.open.add(node.place);
      this.keepingInPlace(this.current, () => this.draw());
      return fits.length === left.length;
    }

    closeAll() {
      this.open = new Set();
      this.current = this.nodes.root;
      this.draw();
      this.middle(this.nodes.root);
    }

    focus(node, { scroll = true } = {}) {
      this.openAbove(node);
      this.current = node;
      if (scroll) this.reveal(node);
      this.drawn.get(node.place).focus({ preventScroll: true });
    }

    /** Open what a node lies under. */
    openAbove(...nodes) {
      const closed = nodes.flatMap((node) => this.nodes.path(node).slice(0, -1)).filter((each) => !this.open.has(each.place));
      if (!closed.length) return;
      for (const each of closed) this.open.add(each.place);
      this.draw();
    }

    shownAbove(node) {
      return this.nodes.path(node).reverse().find((each) => this.spots.has(each.place));
    }

    /** Light up places, those of a path or of several; none puts it out. */
    light(places) {
      const known = places.filter((place) => this.nodes.all[place]);
      this.lit = new Set(known);
      this.openAbove(...known.map((place) => this.nodes.all[place]));
      this.mark();
      if (known.length) this.reveal(this.nodes.all[known[known.length - 1]]);
    }

    found(nodes) {
      this.hits = new Set(nodes.map((node) => node.place));
      this.mark();
    }

    /** Scroll so that a node and its branch are in sight. */
    reveal(node) {
      const { x, y } = this.spots.get(node.place);
      this.frame.reveal({ left: x - this.gap, right: x + WIDTH + MARGIN, top: y - HEIGHT, bottom: y + HEIGHT });
    }

    /** The node at the left, half way down. */
    middle(node) {
      const { x, y } = this.spots.get(node.place);
      this.frame.middle(x - MARGIN, y);
    }

    /** A node stays where people look at it while the picture around it changes. */
    keepingInPlace(node, change) {
      const before = this.spots.get(node.place);
      change();
      const after = this.spots.get(node.place);
      this.frame.moveBy(after.x - before.x, after.y - before.y);
      this.reveal(node);
      if (document.activeElement === document.body || this.items.contains(document.activeElement)) {
        this.drawn.get(this.current.place).focus({ preventScroll: true });
      }
    }
  }

  function* extremes(spots) {
    let least = Infinity;
    let most = -Infinity;
    for (const { x } of spots) {
      least = Math.min(least, x);
      most = Math.max(most, x);
    }
    yield least;
    yield most;
  }

  globalThis.PrivetTreePicture = { Picture };
})();
