"""Curves of a report as SVG inside the page: no script, no colours of their own, a text for who cannot see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from shared.texts import text

_SIDE: Final = 240
_EDGE: Final = 36
_SIZE: Final = _SIDE + 2 * _EDGE
_TICKS: Final = (0.0, 0.5, 1.0)


def roc_picture(label: str, points: Sequence[Mapping[str, Any]]) -> str:
    """The curve of one class. Args: points: of a judgement's plain form, from (0, 0) to (1, 1)."""
    path = " ".join(_at(p["false_positive_rate"], p["true_positive_rate"]) for p in points)
    dots = (
        _dot(p["false_positive_rate"], p["true_positive_rate"], "")
        for p in points
        if p["threshold"] is not None
    )
    said = "; ".join(f"{p['false_positive_rate']:.2f}, {p['true_positive_rate']:.2f}" for p in points)
    return _picture(
        text("report.picture.roc_of", label=label),
        text("report.picture.roc_said", points=said),
        (text("report.picture.false_positive_rate"), text("report.picture.true_positive_rate")),
        [f'<polyline class="curve" points="{path}"/>', *dots],
    )


def calibration_picture(label: str, bins: Sequence[Mapping[str, Any]]) -> str:
    """Observed against expected shares of one class, with intervals. Args: bins: of a judgement's plain form."""
    marks: list[str] = []
    said: list[str] = []
    for entry in bins:
        observed, expected = entry["observed"], entry["expected"]
        if expected is None or observed["value"] is None:
            continue
        if observed["interval"] is not None:
            low, high = observed["interval"]
            (x, bottom), (_, top) = _place(expected, low), _place(expected, high)
            marks.append(f'<line class="range" x1="{x}" y1="{bottom}" x2="{x}" y2="{top}"/>')
        marks.append(_dot(expected, observed["value"], text("report.picture.records", n=entry["records"])))
        figures = {"expected": f"{expected:.2f}", "observed": f"{observed['value']:.2f}"}
        said.append(text("report.picture.calibration_said", **figures))
    return _picture(
        text("report.picture.calibration_of", label=label),
        "; ".join(said) or text("report.picture.nothing_judged"),
        (text("report.picture.expected_share"), text("report.picture.observed_share")),
        marks,
    )


def decision_picture(label: str, curve: Sequence[Mapping[str, Any]]) -> str:
    """Net benefit of one class against thresholds: by the tree, and if everybody were called (dashed)."""
    values = [0.0, *(entry["tree"] for entry in curve)]
    low, high = min(values), max(*values, *(entry["all"] for entry in curve), 0.01)

    def line(name: str) -> str:
        points = [(e["threshold"], (e[name] - low) / (high - low)) for e in curve if e[name] >= low]
        return " ".join(_at(x, y) for x, y in points)

    nobody = (0.0 - low) / (high - low)
    said = "; ".join(
        text(
            "report.picture.decision_said",
            threshold=f"{e['threshold']:.2f}",
            tree=f"{e['tree']:.3f}",
            everybody=f"{e['all']:.3f}",
        )
        for e in curve
    )
    return _picture(
        text("report.picture.decision_of", label=label),
        said,
        (text("report.picture.threshold"), text("report.picture.net_benefit_axis")),
        [
            f'<polyline class="even" points="{_at(0, nobody)} {_at(1, nobody)}"/>',
            f'<polyline class="all" points="{line("all")}"/>',
            f'<polyline class="curve" points="{line("tree")}"/>',
        ],
        (low, high),
    )


def _picture(
    title: str,
    said: str,
    axes: tuple[str, str],
    marks: Iterable[str],
    heights: tuple[float, float] | None = None,
) -> str:
    """The frame around marks. Args: heights: of the ends of the upright axis; without, 0 to 1 and its diagonal."""
    low, high = _EDGE, _EDGE + _SIDE
    grid = "".join(_tick(tick, heights or (0.0, 1.0)) for tick in _TICKS)
    diagonal = (
        f'<line class="even" x1="{low}" y1="{high}" x2="{high}" y2="{low}"/>' if heights is None else ""
    )
    return (
        f'<svg class="plot" viewBox="0 0 {_SIZE} {_SIZE}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title><desc>{escape(said)}</desc>"
        f'<rect class="frame" x="{low}" y="{low}" width="{_SIDE}" height="{_SIDE}"/>{grid}'
        f"{diagonal}{''.join(marks)}"
        f'<text x="{_SIZE // 2}" y="{_SIZE - 4}" text-anchor="middle">{escape(axes[0])}</text>'
        f'<text x="12" y="{_SIZE // 2}" text-anchor="middle" transform="rotate(-90 12 {_SIZE // 2})">'
        f"{escape(axes[1])}</text></svg>"
    )


def _tick(tick: float, heights: tuple[float, float]) -> str:
    x, y = _place(tick, tick)
    told = round(heights[0] + tick * (heights[1] - heights[0]), 2)
    return (
        f'<text x="{x}" y="{_EDGE + _SIDE + 14}" text-anchor="middle">{tick:g}</text>'
        f'<text x="{_EDGE - 4}" y="{y + 4}" text-anchor="end">{told:g}</text>'
    )


def _dot(x: float, y: float, said: str) -> str:
    left, top = _place(x, y)
    title = f"<title>{escape(said)}</title>" if said else ""
    return f'<circle class="dot" cx="{left}" cy="{top}" r="3.5">{title}</circle>'


def _at(x: float, y: float) -> str:
    left, top = _place(x, y)
    return f"{left},{top}"


def _place(x: float, y: float) -> tuple[float, float]:
    return round(_EDGE + x * _SIDE, 1), round(_EDGE + (1 - y) * _SIDE, 1)
