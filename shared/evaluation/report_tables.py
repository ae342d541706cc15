"""The tables of a report, made of the plain form of judgements: what is withheld there is withheld here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.evaluation.report_words import MEASURE_NAMES
from shared.texts import text
from shared.tree.schema import Attribute, Schema

NOTHING: Final = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Texts under headings. `kind`: how a page lays it out: plain, wide, or confusion."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: str = "plain"

    def lines(self) -> list[str]:
        """For a terminal: the caption, then columns under their headings."""
        rows = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        told = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return [self.caption, *(line.rstrip() for line in told)]

    def to_json(self) -> dict[str, Any]:
        """The plain form."""
        return {
            "caption": self.caption,
            "head": list(self.head),
            "rows": [list(row) for row in self.rows],
            "kind": self.kind,
        }


def attribute_table(schema: Schema) -> Table:
    """The predictors with their values, as the study lists them."""
    rows = tuple((a.name, _kind(a), _values(a)) for a in schema.attributes)
    return Table(text("report.attributes"), _head("attribute", "kind", "values"), rows)


def class_table(judged: Sequence[Mapping[str, Any]]) -> Table:
    """Records per class in each judgement."""
    classes = judged[0]["evaluation"]["confusion"]["classes"]
    rows = tuple(
        (_label(label), *(str(entry["evaluation"]["confusion"]["truth"][k]) for entry in judged))
        for k, label in enumerate(classes)
    )
    return Table(text("report.classes"), (*_head("class"), *(_on(entry) for entry in judged)), rows)


def overall_table(entry: Mapping[str, Any]) -> Table:
    """Measures of the whole tree, and of always answering one class."""
    evaluation = entry["evaluation"]
    digits = _digits(evaluation)
    rows = [(MEASURE_NAMES[name], *_figure(found, digits)) for name, found in evaluation["overall"].items()]
    base = evaluation["baseline"]
    rows.append((text("report.most_frequent"), *_figure(base["most_frequent_class"], digits)))
    if base["training_majority"] is not None:
        rows.append((text("report.training_majority"), *_figure(base["training_majority"], digits)))
    if base["p_value"] is not None:
        p = base["p_value"]
        rows.append((text("report.p_value"), "< 0.001" if p <= 0.001 else f"{p:.3f}", "", ""))
    interval = text("report.head.interval", level=f"{evaluation['level']:.0%}")
    head = (*_head("measure", "value"), interval, *_head("remark"))
    return Table(text("report.whole", on=_on(entry)), head, tuple(rows))


def per_class_table(entry: Mapping[str, Any]) -> Table:
    """Measures of each class against the rest."""
    classes, digits = entry["evaluation"]["classes"], _digits(entry["evaluation"])
    names = list(classes[0]["measures"])
    rows = tuple(
        (_label(found["class"]), *(_short(found["measures"][name], digits) for name in names))
        for found in classes
    )
    head = (*_head("class"), *(MEASURE_NAMES[name] for name in names))
    return Table(text("report.each_class", on=_on(entry)), head, rows, "wide")


def confusion_table(entry: Mapping[str, Any]) -> Table:
    """True classes in rows, predicted ones in columns."""
    confusion = entry["evaluation"]["confusion"]
    labels = [_label(label) for label in confusion["classes"]]
    rows = tuple((label, *map(str, cells)) for label, cells in zip(labels, confusion["cells"], strict=True))
    return Table(text("report.confusion", on=_on(entry)), (*_head("true"), *labels), rows, "confusion")


def calibration_table(entry: Mapping[str, Any]) -> Table:
    """Whether predicted shares come true: records by their predicted share of a class, and how many are of it."""
    digits = _digits(entry["evaluation"])
    rows = tuple(
        (
            _label(found["class"]),
            _between(f"{one['from']:.1f}", f"{one['to']:.1f}"),
            str(one["records"]),
            _number(one["expected"], digits),
            _short(one["observed"], digits),
        )
        for found in entry["evaluation"]["classes"]
        for one in found["calibration"]
        if one["records"]
    )
    head = _head("class", "predicted_share", "records", "mean", "observed_share")
    return Table(text("report.come_true", on=_on(entry)), head, rows)


def decision_tables(entry: Mapping[str, Any], digits: int) -> Iterator[Table]:
    """Calling a class by what errors cost beside other ways of calling it; one table for each class with costs."""
    floor = entry["evaluation"]["floor"]
    for found in entry["decisions"]:
        rows = tuple(
            (
                text(f"report.way.{name}"),
                *(_short(measure, digits) for measure in way["measures"].values()),
                _number(way["net_benefit"], digits),
                f"{way['cost_of_100_records']:.0f}",
            )
            for name, way in found["ways"].items()
        )
        caption = text(
            "report.calling",
            label=found["class"],
            threshold=f"{found['threshold']:.3g}",
            miss=found["cost_of_miss"],
            false_alarm=found["cost_of_false_alarm"],
            on=_on(entry),
        )
        if floor is not None:
            caption = text("report.calling_rounded", caption=caption, floor=floor)
        names = ("sensitivity", "specificity", "ppv", "npv")
        head = (
            *_head("called"),
            *(MEASURE_NAMES[name] for name in names),
            *_head("net_benefit", "cost"),
        )
        too_few = ((text("report.too_few"), *[NOTHING] * (len(head) - 1)),)
        yield Table(caption, head, rows or too_few, "wide")


def spread_table(caption: str, spreads: Mapping[str, Any], part: str, digits: int) -> Table:
    """Measures of several tables, pooled and over them. Args: spreads: plain forms by name. part: what each is of."""
    rows = tuple(
        (
            MEASURE_NAMES[name],
            _short(found["pooled"], digits),
            *(_number(found[end], digits) for end in ("mean", "standard_deviation", "least", "most")),
        )
        for name, found in spreads.items()
    )
    head = _head("measure", f"{part}s_pooled", f"{part}s_mean", "deviation", "least", "most")
    return Table(caption, head, rows, "wide")


def left_out_table(hospitals: Sequence[Mapping[str, Any]], digits: int) -> Table:
    """One line a left-out hospital."""
    names = list(hospitals[0]["measures"])
    rows = tuple(
        (
            found["hospital"],
            str(found["records"]),
            *(_short(found["measures"][name], digits) for name in names),
        )
        for found in hospitals
    )
    head = (*_head("hospital", "records"), *(MEASURE_NAMES[name] for name in names))
    return Table(text("report.leave_one_out"), head, rows, "wide")


def hospital_table(sites: Sequence[Mapping[str, Any]], digits: int) -> Table:
    """One line a hospital that handed over its own result."""
    names = list(sites[0]["measures"]) if sites else []
    rows = tuple(
        (
            site["hospital"],
            site["on"],
            str(site["records"]),
            *(_short(site["measures"][n], digits) for n in names),
        )
        for site in sites
    )
    head = (*_head("hospital", "of_its_records", "records"), *(MEASURE_NAMES[name] for name in names))
    return Table(text("report.own_results"), head, rows, "wide")


def joining_table(sites: Sequence[Mapping[str, Any]], digits: int) -> Table:
    """What joining brought to each hospital that compared the joint tree with one of its own."""
    rows = tuple(
        (
            site["hospital"],
            _short(site["measures"]["accuracy"], digits),
            _short(site["joining"]["own_accuracy"], digits),
            _short(site["joining"]["difference"], digits),
            _number(site["joining"]["mcnemar_p"], digits),
        )
        for site in sites
        if site["joining"] is not None
    )
    head = _head("hospital", "joint_accuracy", "own_accuracy", "difference", "mcnemar")
    return Table(text("report.joining"), head, rows, "wide")


def importance_table(importance: Sequence[tuple[str, float, float]]) -> Table:
    """How much each attribute that the tree asks told, in percent."""
    rows = tuple((name, f"{gini:.0%}", f"{entropy:.0%}") for name, gini, entropy in importance)
    return Table(text("report.importance"), _head("attribute", "gini", "entropy"), rows)


def privacy_table(privacy: Sequence[tuple[str, str, str]]) -> Table:
    """Lines of the ledger."""
    return Table(text("report.privacy"), _head("who", "learned", "how_much"), tuple(privacy))


def _head(*names: str) -> tuple[str, ...]:
    return tuple(text(f"report.head.{name}") for name in names)


def _label(label: str) -> str:
    return label or text("listed.empty")


def _between(low: str, high: str) -> str:
    return text("report.between", low=low, high=high)


def _on(entry: Mapping[str, Any]) -> str:
    return str(entry["words"])


def _kind(attribute: Attribute) -> str:
    if attribute.fixed_point is not None:
        return text("report.kind.number")
    return text("report.kind.categories" if attribute.cuts is None else "report.kind.intervals")


def _values(attribute: Attribute) -> str:
    if attribute.fixed_point is not None:
        point = attribute.fixed_point
        between = _between(str(point.minimum), str(point.maximum))
        return text("report.decimals", between=between, n=point.decimals)
    return ", ".join(map(_label, attribute.values))


def _digits(told: Mapping[str, Any]) -> int:
    """Behind the point: under a floor figures are told in hundredths."""
    return 3 if told["floor"] is None else 2


def _figure(found: Mapping[str, Any], digits: int) -> tuple[str, str, str]:
    """Value, interval and remark."""
    interval = found["interval"]
    told = NOTHING if interval is None else _between(*(f"{end:.{digits}f}" for end in interval))
    value = NOTHING if found["value"] is None else f"{found['value']:.{digits}f}"
    return value, told, found["reason"] or found["method"] or ""


def _short(found: Mapping[str, Any], digits: int) -> str:
    """Value and interval in one cell."""
    value, interval, _ = _figure(found, digits)
    return value if interval == NOTHING else f"{value} ({interval})"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
