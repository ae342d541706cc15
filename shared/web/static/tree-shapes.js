// Elements of SVG, and how classes look: eight grounds and eight drawings, so that colour alone tells nothing.
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, attributes = {}, ...inside) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) element.setAttribute(name, value);
    }
    element.append(...inside);
    return element;
  }

  /** Patterns by class: eight grounds, each with another drawing on it, in another pairing after every eight. */
  function patterns(id, count) {
    const drawings = [
      "", "M0 8L8 0", "M0 4H8", "M4 0V8", "M0 0L8 8", "M0 4H8M4 0V8", "M0 8L8 0M0 0L8 8", "M3 4H5",
    ];
    const made = [];
    for (let label = 0; label < count; label += 1) {
      const drawing = drawings[(label + Math.floor(label / 8)) % 8];
      const pattern = make("pattern", { id: `${id}-class-${label}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" });
      pattern.append(make("rect", { width: 8, height: 8, class: `tree-ground tree-ground-${label % 8}` }));
      if (drawing) pattern.append(make("path", { d: drawing, class: "tree-drawing" }));
      made.push(pattern);
    }
    return make("defs", {}, ...made);
  }

  /** A patch of a class's pattern, for the legend. */
  function swatch(id, label) {
    const patch = make("svg", { width: 26, height: 14, "aria-hidden": "true", focusable: "false" });
    patch.append(make("rect", { width: 26, height: 14, rx: 3, fill: `url(#${id}-class-${label})`, class: "tree-patch" }));
    return patch;
  }

  globalThis.PrivetTreeShapes = { make, patterns, swatch };
})();
