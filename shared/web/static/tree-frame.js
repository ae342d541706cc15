// The frame that a picture lies in: it scrolls, zooms and is dragged. It knows sizes, not what is drawn.
"use strict";

(() => {
  const ZOOMS = { least: 0.1, readable: 0.75, fitted: 1.25, most: 3, wheel: 1.1 };

  class Frame {
    /** `room`: the element that scrolls. `svg`: the picture, which this puts into it. */
    constructor(room, svg) {
      this.room = room;
      this.svg = svg;
      this.zoom = 1;
      room.append(svg);
      room.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      room.addEventListener("pointerdown", (event) => this.drag(event));
    }

    /** The picture is of this size now, in its own units. */
    hold(width, height) {
      this.width = width;
      this.height = height;
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.size();
    }

    size() {
      this.svg.setAttribute("width", Math.ceil(this.width * this.zoom));
      this.svg.setAttribute("height", Math.ceil(this.height * this.zoom));
    }

    /** As large as fits, but readable. */
    first() {
      this.zoomTo(Math.max(Math.min(this.room.clientWidth / this.width, 1), ZOOMS.readable));
    }

    fit() {
      const fits = [this.room.clientWidth / this.width, this.room.clientHeight / this.height];
      this.zoomTo(Math.min(...fits, ZOOMS.fitted));
    }

    zoomBy(factor) {
      this.zoomTo(this.zoom * factor);
    }

    /** The middle of what is seen stays in the middle. */
    zoomTo(zoom) {
      const { room } = this;
      const middle = [room.scrollLeft + room.clientWidth / 2, room.scrollTop + room.clientHeight / 2];
      const before = this.zoom;
      this.zoom = Math.min(Math.max(zoom, ZOOMS.least), ZOOMS.most);
      this.size();
      const factor = this.zoom / before;
      room.scrollTo(middle[0] * factor - room.clientWidth / 2, middle[1] * factor - room.clientHeight / 2);
    }

    wheel(event) {
      if (!event.ctrlKey) return; // without it the wheel scrolls, as everywhere
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? ZOOMS.wheel : 1 / ZOOMS.wheel);
    }

    drag(event) {
      if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest("[data-place]")) return;
      const { room } = this;
      const from = { x: event.clientX + room.scrollLeft, y: event.clientY + room.scrollTop };
      const move = (now) => room.scrollTo(from.x - now.clientX, from.y - now.clientY);
      room.setPointerCapture(event.pointerId);
      room.addEventListener("pointermove", move);
      room.addEventListener("lostpointercapture", () => room.removeEventListener("pointermove", move), { once: true });
    }

    /** Scroll the frame, not the page, so that a part is in sight: its bounds in the picture's units. */
    reveal({ left, right, top, bottom }) {
      const { room, zoom } = this;
      room.scrollTo(
        within(room.scrollLeft, left * zoom, right * zoom, room.clientWidth),
        within(room.scrollTop, top * zoom, bottom * zoom, room.clientHeight),
      );
    }

    /** A point at the left, half way down. */
    middle(x, y) {
      this.room.scrollTo(x * this.zoom, y * this.zoom - this.room.clientHeight / 2);
    }

    moveBy(x, y) {
      this.room.scrollBy(x * this.zoom, y * this.zoom);
    }
  }

  function within(now, start, end, room) {
    if (start < now || end - start > room) return start;
    return end > now + room ? end - room : now;
  }

  globalThis.PrivetTreeFrame = { Frame };
})();
