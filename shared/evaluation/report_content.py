"""What a report says, section by section, as plain data: facts, tables, and what is left to its authors.

Every section names the items of the TRIPOD+AI checklist that it answers, wholly or in part. A fact is something the
program knows from the signed manifest, the tree, the counts or the ledger; nothing else is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.evaluation.combining import COMBINED, over_parts
from shared.evaluation.comparing import Paired
from shared.evaluation.confusion import Confusion, accuracy
from shared.evaluation.costs import decision_json
from shared.evaluation.floors import rounded, shown, shown_count
from shared.evaluation.measures import Measure
from shared.evaluation.report_sentences import FACTS
from shared.evaluation.report_subject import Disclosure, Judged, Report, SiteResult
from shared.evaluation.report_tables import (
    Table,
    attribute_table,
    class_table,
    confusion_table,
    decision_tables,
    hospital_table,
    importance_table,
    joining_table,
    left_out_table,
    overall_table,
    per_class_table,
    privacy_table,
    spread_table,
)
from shared.evaluation.report_words import JUDGED_ON, to_fill
from shared.texts import text

REPORT_VERSION: Final = 1

_ITEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("1",),
    "abstract": ("2",),
    "background": ("3a", "3b", "3c", "4"),
    "data": ("5a", "5b"),
    "participants": ("6a", "6b", "6c"),
    "preparation": ("7",),
    "outcome": ("8a", "8b", "8c"),
    "predictors": ("9a", "9b", "9c"),
    "sample": ("10",),
    "missing": ("11",),
    "methods": ("12a", "12b", "12c", "12d", "12e", "12f", "12g"),
    "imbalance": ("13",),
    "fairness": ("14",),
    "output": ("15",),
    "differences": ("16",),
    "openness": ("17", "18a", "18b", "18c", "18d", "18e", "18f", "19"),
    "flow": ("20a", "20b", "20c"),
    "development": ("21",),
    "model": ("22",),
    "performance": ("23a",),
    "hospitals": ("23b",),
    "updating": ("24",),
    "interpretation": ("25",),
    "limitations": ("26",),
    "usability": ("27a", "27b", "27c"),
    "privacy": (),
}
"""The sections, with the items of the checklist that each is about."""


def report_document(report: Report) -> dict[str, Any]:
    """The whole report as plain JSON; the page shows what stands here and nothing else."""
    subject = report.subject
    judged = [_judged_json(entry, report) for entry in report.judged]
    folds = _spreads_json(report.folds, report)
    left_out = _left_out_json(report)
    sites = [_site_json(site, report) for site in report.shown_sites]
    return {
        "privet_report": REPORT_VERSION,
        "about": {
            "job": subject.job,
            "study": subject.study,
            "question": subject.question,
            "hospitals": list(subject.hospitals),
            "tree_sha256": subject.tree_sha256,
            "manifest_sha256": subject.manifest_sha256,
            "agreed": subject.day_agreed,
            "done": subject.day_done,
            "program": text("report.program", version=subject.version),
            "synthetic": subject.synthetic,
            "notice": subject.notice,
            "floor": report.floor,
            "for": text("report.for_itself" if report.floor is None else "report.for_others"),
        },
        "sections": [
            {
                "id": name,
                "title": text(f"report.section.{name}"),
                "tripod_ai_items": list(items),
                "facts": list(FACTS[name](report)) if name in FACTS else [],
                "tables": [
                    table.to_json() for table in _tables(name, report, judged, folds, left_out, sites)
                ],
                "to_be_filled_in_by_the_authors": to_fill(name),
            }
            for name, items in _ITEMS.items()
        ],
        "judged": judged,
        "cross_validation": folds,
        "leave_one_hospital_out": left_out,
        "hospitals": sites,
        "drawing": subject.lines_of_tree,
        "importance": [
            {"attribute": name, "gini": round(gini, 2), "entropy": round(entropy, 2)}
            for name, gini, entropy in subject.importance
        ],
    }


def _judged_json(entry: Judged, report: Report) -> dict[str, Any]:
    """A judgement with what costs of errors make of it."""
    decisions = [
        decision_json(entry.judgement.table, costs, report.confidence, report.floor) for costs in report.costs
    ]
    return judged_json(entry, report.subject.disclosure, report.floor) | {"decisions": decisions}


def judged_json(entry: Judged, disclosure: Disclosure, floor: int | None) -> dict[str, Any]:
    """A judgement, without what the study's disclosure keeps: leaf counts, or scores as well."""
    plain = entry.judgement.to_json(floor)
    if disclosure != "counts":
        del plain["places"]
    if disclosure == "class":
        for found in plain["classes"]:
            for curve in ("roc", "precision_recall", "calibration", "net_benefit"):
                del found[curve]
    return {
        "on": entry.on,
        "words": JUDGED_ON[entry.on],
        "note": entry.note,
        "hospitals": list(entry.hospitals),
        "evaluation": plain,
    }


def _spreads_json(parts: Sequence[Confusion], report: Report) -> dict[str, Any] | None:
    """The measures over several parts, None without any."""
    if not parts:
        return None
    spreads = over_parts(parts, report.confidence)
    return {name: spread.to_json(report.floor, report.confidence) for name, spread in spreads.items()}


def _left_out_json(report: Report) -> dict[str, Any] | None:
    """Each left-out hospital, and all of them together; None without any."""
    spreads = _spreads_json([matrix for _, matrix in report.left_out], report)
    if spreads is None:
        return None
    hospitals = [
        {
            "hospital": hospital,
            "records": shown_count(matrix.records, report.floor),
            "measures": _combined_json(matrix, report),
        }
        for hospital, matrix in report.left_out
    ]
    return {"hospitals": hospitals, "together": spreads}


def _combined_json(matrix: Confusion, report: Report) -> dict[str, Any]:
    made = {name: measure(matrix, report.confidence) for name, measure in COMBINED.items()}
    return {
        name: shown(m, report.floor, report.confidence, smallest=matrix.smallest).to_json()
        for name, m in made.items()
    }


def _site_json(site: SiteResult, report: Report) -> dict[str, Any]:
    """One hospital's own result."""

    def told(measure: Measure) -> dict[str, Any]:
        return shown(measure, report.floor, report.confidence).to_json()

    joining = None
    if site.own is not None and site.paired is not None:
        joining = {
            "own_accuracy": told(accuracy(site.own, report.confidence)),
            "difference": told(site.paired.difference(report.confidence)),
            "mcnemar_p": _told_p_value(site.paired, report.floor),
        }
    return {
        "hospital": site.hospital,
        "on": site.on,
        "records": shown_count(site.matrix.records, report.floor),
        "measures": _combined_json(site.matrix, report),
        "joining": joining,
    }


def _told_p_value(paired: Paired, floor: int | None) -> float | None:
    """McNemar's, of the counts as they are told; nothing where one of them is small, for it would follow."""
    if floor is None:
        return paired.p_value
    if min(paired.first_only, paired.second_only) < floor:
        return None
    apart = rounded(paired.first_only, floor), rounded(paired.second_only, floor)
    p = Paired(paired.both, *apart, paired.neither).p_value
    return None if p is None else round(p, 2)


def _tables(
    name: str,
    report: Report,
    judged: Sequence[Mapping[str, Any]],
    folds: Mapping[str, Any] | None,
    left_out: Mapping[str, Any] | None,
    sites: Sequence[Mapping[str, Any]],
) -> Iterator[Table]:
    subject, digits = report.subject, 3 if report.floor is None else 2
    if name == "predictors":
        yield attribute_table(subject.schema)
    elif name == "imbalance" and judged:
        yield class_table(judged)
    elif name == "performance":
        for entry in judged:
            yield overall_table(entry)
            yield per_class_table(entry)
            yield confusion_table(entry)
            yield from decision_tables(entry, digits)
        if folds is not None:
            caption = text("report.cross_validation", n=len(report.folds))
            yield spread_table(caption, folds, "fold", digits)
    elif name == "hospitals":
        yield from _hospital_tables(left_out, sites, digits)
    elif name == "model" and subject.importance:
        yield importance_table(subject.importance)
    elif name == "privacy" and subject.privacy:
        yield privacy_table(subject.privacy)


def _hospital_tables(
    left_out: Mapping[str, Any] | None, sites: Sequence[Mapping[str, Any]], digits: int
) -> Iterator[Table]:
    if left_out is not None:
        yield left_out_table(left_out["hospitals"], digits)
        yield spread_table(text("report.left_out_together"), left_out["together"], "hospital", digits)
    if sites:
        yield hospital_table(sites, digits)
    if any(site["joining"] is not None for site in sites):
        yield joining_table(sites, digits)
