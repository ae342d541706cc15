"""Line plots as SVG text: panels side by side, both axes logarithmic, nothing but rectangles, lines and words.

Colours are dark enough on white and differ in lightness; every series is also named at its end and has its own dash.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 420
HEIGHT: Final = 300
LEFT: Final = 64
RIGHT: Final = 84
TOP: Final = 42
BOTTOM: Final = 50
FONTS: Final = "system-ui, Helvetica, Arial, sans-serif"
STYLES: Final = (("#1b4965", "none"), ("#c1440e", "6 3"), ("#4c7a34", "2 3"))
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; x and y are positive."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis: decades that hold all values, laid over pixels start..stop."""

    low: int
    high: int
    start: float
    stop: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, stop: float) -> _Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), start, stop)

    def place(self, value: float) -> float:
        """Pixel of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def decades(self) -> list[int]:
        """Exponents of the grid lines."""
        return list(range(self.low, self.high + 1))


def draw(panels: Sequence[Panel], columns: int = 2) -> str:
    """One SVG document with the panels in rows."""
    rows = -(-len(panels) // columns)
    width, height = WIDTH * columns, HEIGHT * rows
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" font-size="12" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        down, across = divmod(number, columns)
        parts.append(f'<g transform="translate({across * WIDTH} {down * HEIGHT})">')
        parts.extend(_panel(panel))
        parts.append("</g>")
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _panel(panel: Panel) -> Iterator[str]:
    points = [point for series in panel.series for point in series.points]
    x_axis = _Axis.over([x for x, _ in points], LEFT, WIDTH - RIGHT)
    y_axis = _Axis.over([y for _, y in points], HEIGHT - BOTTOM, TOP)
    yield _text(LEFT, 22, panel.title, 'font-size="14" font-weight="600"')
    yield from _grid(x_axis, y_axis)
    middle = (x_axis.start + x_axis.stop) / 2
    yield _text(middle, HEIGHT - 12, panel.x_label, 'text-anchor="middle"')
    across = (y_axis.start + y_axis.stop) / 2
    yield _text(16, across, panel.y_label, f'text-anchor="middle" transform="rotate(-90 16 {across})"')
    yield from _lines(panel.series, x_axis, y_axis)


def _grid(x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    for exponent in x_axis.decades():
        x = x_axis.place(10.0**exponent)
        yield _line(x, y_axis.start, x, y_axis.stop)
        yield _text(x, y_axis.start + 16, _power(exponent), 'text-anchor="middle"')
    for exponent in y_axis.decades():
        y = y_axis.place(10.0**exponent)
        yield _line(x_axis.start, y, x_axis.stop, y)
        yield _text(x_axis.start - 8, y + 4, _power(exponent), 'text-anchor="end"')


def _lines(series: Sequence[Series], x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    labels = _label_heights([y_axis.place(each.points[-1][1]) for each in series])
    for each, label, (colour, dash) in zip(series, labels, STYLES, strict=False):
        pixels = [(x_axis.place(x), y_axis.place(y)) for x, y in each.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        for x, y in pixels:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield _text(pixels[-1][0] + 8, label + 4, each.name, f'style="fill:{colour}"')


def _label_heights(wanted: Sequence[float], gap: float = 15) -> list[float]:
    """The wanted heights, moved down where two labels would touch."""
    heights = list(wanted)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for above, below in pairwise(order):
        heights[below] = max(heights[below], heights[above] + gap)
    return heights


def _power(exponent: int) -> str:
    plain = {-2: "0.01", -1: "0.1", 0: "1", 1: "10", 2: "100", 3: "1000"}
    return plain.get(exponent) or "10" + str(exponent).translate(_SUPERSCRIPTS)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#d8d8d8"/>'


def _text(x: float, y: float, words: str, attributes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(words)}</text>'
