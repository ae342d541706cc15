"""The tables of a report, made of the plain form of judgements: what is withheld there is withheld here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.evaluation.report_words import MEASURE_NAMES
from shared.tree.schema import Attribute, Schema

TOO_FEW: Final = "too few records to tell it under this floor"
NOTHING: Final = "–"
_WAYS: Final[Mapping[str, str]] = {
    "by_costs": "by the costs",
    "as_the_tree_answers": "where the tree answers it",
    "everybody": "everybody",
    "nobody": "nobody",
}


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
    return Table("Attributes that every hospital's records have", ("attribute", "kind", "values"), rows)


def class_table(judged: Sequence[Mapping[str, Any]]) -> Table:
    """Records per class in each judgement."""
    classes = judged[0]["evaluation"]["confusion"]["classes"]
    rows = tuple(
        (label or "(empty)", *(str(entry["evaluation"]["confusion"]["truth"][k]) for entry in judged))
        for k, label in enumerate(classes)
    )
    return Table("Records of each class", ("class", *(_on(entry) for entry in judged)), rows)


def overall_table(entry: Mapping[str, Any]) -> Table:
    """Measures of the whole tree, and of always answering one class."""
    evaluation = entry["evaluation"]
    digits = _digits(evaluation)
    rows = [(MEASURE_NAMES[name], *_figure(found, digits)) for name, found in evaluation["overall"].items()]
    base = evaluation["baseline"]
    rows.append(("Answering the most frequent class", *_figure(base["most_frequent_class"], digits)))
    if base["training_majority"] is not None:
        rows.append(
            ("Answering the training's most frequent class", *_figure(base["training_majority"], digits))
        )
    if base["p_value"] is not None:
        p = base["p_value"]
        rows.append(
            ("Chance of this accuracy without skill (p)", "< 0.001" if p <= 0.001 else f"{p:.3f}", "", "")
        )
    head = ("measure", "value", f"{evaluation['level']:.0%} interval", "remark")
    return Table(f"The tree as a whole, on {_on(entry)}", head, tuple(rows))


def per_class_table(entry: Mapping[str, Any]) -> Table:
    """Measures of each class against the rest."""
    classes, digits = entry["evaluation"]["classes"], _digits(entry["evaluation"])
    names = list(classes[0]["measures"])
    rows = tuple(
        (found["class"] or "(empty)", *(_short(found["measures"][name], digits) for name in names))
        for found in classes
    )
    head = ("class", *(MEASURE_NAMES[name] for name in names))
    return Table(f"Each class against the rest, on {_on(entry)}", head, rows, "wide")


def confusion_table(entry: Mapping[str, Any]) -> Table:
    """True classes in rows, predicted ones in columns."""
    confusion = entry["evaluation"]["confusion"]
    labels = [label or "(empty)" for label in confusion["classes"]]
    rows = tuple((label, *map(str, cells)) for label, cells in zip(labels, confusion["cells"], strict=True))
    return Table(
        f"Records by true class (rows) and predicted class (columns), on {_on(entry)}",
        ("true \\ predicted", *labels),
        rows,
        "confusion",
    )


def calibration_table(entry: Mapping[str, Any]) -> Table:
    """Whether predicted shares come true: records by their predicted share of a class, and how many are of it."""
    digits = _digits(entry["evaluation"])
    rows = tuple(
        (
            found["class"] or "(empty)",
            f"{one['from']:.1f} to {one['to']:.1f}",
            str(one["records"]),
            _number(one["expected"], digits),
            _short(one["observed"], digits),
        )
        for found in entry["evaluation"]["classes"]
        for one in found["calibration"]
        if one["records"]
    )
    head = ("class", "predicted share", "records", "mean of it", "observed share")
    return Table(f"Whether predicted shares come true, on {_on(entry)}", head, rows)


def decision_tables(entry: Mapping[str, Any], digits: int) -> Iterator[Table]:
    """Calling a class by what errors cost beside other ways of calling it; one table for each class with costs."""
    floor = entry["evaluation"]["floor"]
    counts = (
        ""
        if floor is None
        else f"; of counts rounded to multiples of {floor}, so that few errors may show as none"
    )
    for found in entry["decisions"]:
        rows = tuple(
            (
                _WAYS[name],
                *(_short(measure, digits) for measure in way["measures"].values()),
                _number(way["net_benefit"], digits),
                f"{way['cost_of_100_records']:.0f}",
            )
            for name, way in found["ways"].items()
        )
        caption = (
            f"Calling “{found['class']}” from a share of {found['threshold']:.3g} on, where a miss costs "
            f"{found['cost_of_miss']} and a false alarm {found['cost_of_false_alarm']}, on {_on(entry)}{counts}"
        )
        names = ("sensitivity", "specificity", "ppv", "npv")
        head = (
            "who is called",
            *(MEASURE_NAMES[name] for name in names),
            "Net benefit",
            "Cost of 100 records",
        )
        yield Table(caption, head, rows or ((TOO_FEW, *[NOTHING] * (len(head) - 1)),), "wide")


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
    head = ("measure", f"all {part}s pooled", f"mean of {part}s", "standard deviation", "least", "most")
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
    caption = "Leave one hospital out: each by a tree that was grown without it"
    return Table(caption, ("hospital", "records", *(MEASURE_NAMES[name] for name in names)), rows, "wide")


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
    head = ("hospital", "of its records", "records", *(MEASURE_NAMES[name] for name in names))
    return Table("Hospitals that handed over their own result", head, rows, "wide")


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
    head = ("hospital", "accuracy of the joint tree", "of its own tree", "difference", "McNemar's p")
    return Table(
        "What joining brought: the joint tree and each hospital's own, on the same records",
        head,
        rows,
        "wide",
    )


def importance_table(importance: Sequence[tuple[str, float, float]]) -> Table:
    """How much each attribute that the tree asks told, in percent."""
    rows = tuple((name, f"{gini:.0%}", f"{entropy:.0%}") for name, gini, entropy in importance)
    caption = "Importance: shares of what all questions together told of the training records"
    return Table(caption, ("attribute", "of Gini impurity", "of entropy"), rows)


def privacy_table(privacy: Sequence[tuple[str, str, str]]) -> Table:
    """Lines of the ledger."""
    return Table("Who learned what by growing this tree", ("who", "learned what", "how much"), tuple(privacy))


def _on(entry: Mapping[str, Any]) -> str:
    return str(entry["words"])


def _kind(attribute: Attribute) -> str:
    if attribute.fixed_point is not None:
        return "number"
    return "categories" if attribute.cuts is None else "number in intervals"


def _values(attribute: Attribute) -> str:
    if attribute.fixed_point is not None:
        point = attribute.fixed_point
        return f"{point.minimum} to {point.maximum}, {point.decimals} decimals"
    return ", ".join(value or "(empty)" for value in attribute.values)


def _digits(told: Mapping[str, Any]) -> int:
    """Behind the point: under a floor figures are told in hundredths."""
    return 3 if told["floor"] is None else 2


def _figure(found: Mapping[str, Any], digits: int) -> tuple[str, str, str]:
    """Value, interval and remark."""
    interval = found["interval"]
    told = NOTHING if interval is None else f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"
    value = NOTHING if found["value"] is None else f"{found['value']:.{digits}f}"
    return value, told, found["reason"] or found["method"] or ""


def _short(found: Mapping[str, Any], digits: int) -> str:
    """Value and interval in one cell."""
    value, interval, _ = _figure(found, digits)
    return value if interval == NOTHING else f"{value} ({interval})"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
