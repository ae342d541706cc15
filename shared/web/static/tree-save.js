// The picture as a file: SVG that stands by itself, and PNG. Always on white, as for paper.
"use strict";

(() => {
  const PAINT = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "paint-order", "font-size", "font-weight", "text-anchor", "opacity",
    "direction", "unicode-bidi",
  ];
  const FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
  const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
  const PNG_SCALE = 2;
  const PNG_SIDE = 16000;
  const PNG_AREA = 60e6;
  const FOOT = 26;
  const LEGEND = { row: 22, swatch: 26, gap: 22, margin: 18, name: 260 };

  /** The picture as it is opened now, its looks written into it. */
  function svgText(picture) {
    const { nodes } = picture;
    const copy = picture.svg.cloneNode(true);
    copy.removeAttribute("role"); // on the page the tree in it is what is told; a file is a picture
    const { width, height } = legend(copy, picture);
    const paper = document.createElement("div");
    paper.className = "tree tree-paper";
    paper.append(copy);
    document.body.append(paper); // styles are worked out in a document only
    for (const element of copy.querySelectorAll("*")) paint(element);
    paper.remove();
    rename(copy);
    const { make } = PrivetTreeShapes;
    const title = copy.querySelector("[role=tree]").getAttribute("aria-label");
    const notice = `${nodes.document.notice} ${nodes.document.tree_sha256.slice(0, 16)}`;
    copy.prepend(make("title", {}, title), make("desc", {}, notice), make("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
    copy.append(make("text", { x: 18, y: height + FOOT - 12, "font-size": 11, fill: "#444444" }, notice));
    const size = { viewBox: `0 0 ${width} ${height + FOOT}`, width: Math.ceil(width), height: Math.ceil(height + FOOT), "font-family": FONT };
    for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
    copy.removeAttribute("class");
    return new XMLSerializer().serializeToString(copy).replace(NOT_IN_XML, "�");
  }

  /** The classes below the picture, as the page has them beside it. Returns the size of both together. */
  function legend(copy, picture) {
    const { make } = PrivetTreeShapes;
    const width = Math.max(picture.width, 320);
    const entries = make("g");
    let x = LEGEND.margin;
    let y = picture.height + 6;
    picture.nodes.document.classes.forEach((name, label) => {
      const shown = picture.cut(name, LEGEND.name, "12px");
      const room = LEGEND.swatch + 6 + picture.widthOf(shown, "12px") + LEGEND.gap;
      if (x > LEGEND.margin && x + room > width) {
        x = LEGEND.margin;
        y += LEGEND.row;
      }
      const text = make("text", { x: x + LEGEND.swatch + 6, y: y + 11, "font-size": 12 }, shown);
      entries.append(make("rect", { x, y, width: LEGEND.swatch, height: 14, fill: picture.fill(label), class: "tree-patch" }), text);
      x += room;
    });
    copy.append(entries);
    return { width, height: y + LEGEND.row };
  }

  /** Computed looks become attributes; what only the page needs goes. */
  function paint(element) {
    if (element.tagName !== "title") {
      const looks = getComputedStyle(element);
      for (const name of PAINT) {
        const value = looks.getPropertyValue(name);
        if (value && value !== "normal" && value !== "auto") element.setAttribute(name, value.replaceAll('"', ""));
      }
    }
  }

  function rename(copy) {
    for (const element of copy.querySelectorAll("*")) {
      for (const name of ["class", "tabindex", "data-place", "data-edge"]) element.removeAttribute(name);
    }
  }

  /** A promise of the PNG. Raises: RangeError: the picture is larger than a canvas may be. */
  async function pngBlob(picture) {
    const text = svgText(picture);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const { width, height } = image;
    const scale = Math.min(PNG_SCALE, PNG_SIDE / Math.max(width, height), Math.sqrt(PNG_AREA / (width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.floor(width * scale));
    canvas.height = Math.max(1, Math.floor(height * scale));
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new RangeError("canvas");
    return blob;
  }

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  globalThis.PrivetTreeSave = { svgText, pngBlob, download };
})();
