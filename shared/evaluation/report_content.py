"""What a report says, section by section, as plain data: facts, tables, and what is left to its authors.

Every section names the items of the TRIPOD+AI checklist that it answers, wholly or in part. A fact is something the
program knows from the signed manifest, the tree, the counts or the ledger; nothing else is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.evaluation.floors import shown_count
from shared.evaluation.report_subject import Judged, Report, Subject
from shared.evaluation.report_tables import (
    Table,
    attribute_table,
    class_table,
    confusion_table,
    hospital_table,
    importance_table,
    overall_table,
    per_class_table,
    privacy_table,
)
from shared.evaluation.report_words import JUDGED_ON, TO_FILL
from shared.tree.model import Leaf

REPORT_VERSION: Final = 1

_TITLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "title": ("Title", ("1",)),
    "abstract": ("Abstract", ("2",)),
    "background": ("Background and objectives", ("3a", "3b", "3c", "4")),
    "data": ("Source of data", ("5a", "5b")),
    "participants": ("Hospitals and participants", ("6a", "6b", "6c")),
    "preparation": ("Preparation of data", ("7",)),
    "outcome": ("Outcome", ("8a", "8b", "8c")),
    "predictors": ("Predictors", ("9a", "9b", "9c")),
    "sample": ("Sample size", ("10",)),
    "missing": ("Missing data", ("11",)),
    "methods": ("Analytical methods", ("12a", "12b", "12c", "12d", "12e", "12f", "12g")),
    "imbalance": ("Class imbalance", ("13",)),
    "fairness": ("Fairness", ("14",)),
    "output": ("Output of the model", ("15",)),
    "differences": ("Growing against judging", ("16",)),
    "openness": ("Ethics, open science, involvement", ("17", "18a", "18b", "18c", "18d", "18e", "18f", "19")),
    "flow": ("Participants in each analysis", ("20a", "20b", "20c")),
    "development": ("Development of the model", ("21",)),
    "model": ("The model in full", ("22",)),
    "performance": ("Performance", ("23a",)),
    "hospitals": ("Performance by hospital", ("23b",)),
    "updating": ("Updating", ("24",)),
    "interpretation": ("Interpretation", ("25",)),
    "limitations": ("Limitations", ("26",)),
    "usability": ("Use", ("27a", "27b", "27c")),
    "privacy": ("Who learned what", ()),
}


def report_document(report: Report) -> dict[str, Any]:
    """The whole report as plain JSON; the page shows what stands here and nothing else."""
    subject = report.subject
    judged = [_judged_json(entry, report) for entry in report.judged]
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
            "program": f"Privet {subject.version}",
            "synthetic": subject.synthetic,
            "notice": subject.notice,
            "floor": report.floor,
            "for": "the hospital's own eyes" if report.floor is None else "others as well",
        },
        "sections": [
            {
                "id": name,
                "title": title,
                "tripod_ai_items": list(items),
                "facts": list(_FACTS[name](report)) if name in _FACTS else [],
                "tables": [table.to_json() for table in _tables(name, report, judged)],
                "to_be_filled_in_by_the_authors": list(TO_FILL[name]),
            }
            for name, (title, items) in _TITLES.items()
        ],
        "judged": judged,
        "drawing": subject.lines_of_tree,
        "importance": [{"attribute": name, "share": share} for name, share in subject.importance],
    }


def _judged_json(entry: Judged, report: Report) -> dict[str, Any]:
    """A judgement, without what the study's disclosure keeps: leaf counts, or scores as well."""
    plain = entry.judgement.to_json(report.floor)
    if report.subject.disclosure != "counts":
        del plain["places"]
    if report.subject.disclosure == "class":
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


def _tables(name: str, report: Report, judged: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    subject = report.subject
    if name == "predictors":
        yield attribute_table(subject.schema)
    elif name == "imbalance" and judged:
        yield class_table(judged)
    elif name == "performance":
        for entry in judged:
            yield overall_table(entry)
            yield per_class_table(entry)
            yield confusion_table(entry)
    elif name == "hospitals" and report.by_hospital is not None:
        yield hospital_table(report.by_hospital)
    elif name == "model" and subject.importance:
        yield importance_table(subject.importance)
    elif name == "privacy" and subject.privacy:
        yield privacy_table(subject.privacy)


def _title(report: Report) -> Iterator[str]:
    subject = report.subject
    yield (
        f"Development{' and evaluation' if _is_separate(report) else ''} of a decision tree that predicts "
        f"“{subject.schema.class_name}”, grown by {len(subject.hospitals)} hospitals without pooling their records."
    )
    if subject.synthetic:
        yield "The study is marked as test data of no patient."


def _abstract(report: Report) -> Iterator[str]:
    for entry in report.judged:
        plain = entry.judgement.to_json(report.floor)["overall"]["accuracy"]
        if plain["value"] is None:
            yield f"On {JUDGED_ON[entry.on]}: no accuracy ({plain['reason']})."
            continue
        interval = plain["interval"]
        told = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
        yield f"Accuracy {plain['value']:.3f}{told} on {JUDGED_ON[entry.on]}."


def _data(report: Report) -> Iterator[str]:
    yield (
        "Records of several hospitals, each of which kept its own; what left them is said in “Who learned what”. "
        f"The job was agreed on {report.subject.day_agreed}, its tree was there on {report.subject.day_done}."
    )


def _participants(report: Report) -> Iterator[str]:
    hospitals = report.subject.hospitals
    yield f"{len(hospitals)} hospitals took part: {', '.join(hospitals)}."


def _preparation(report: Report) -> Iterator[str]:
    yield (
        "Every hospital read its records by the same signed list of attributes and values, and froze what it had read "
        "for the time of the job. A record that has a value outside the list is refused, never guessed at."
    )


def _outcome(report: Report) -> Iterator[str]:
    schema = report.subject.schema
    yield f"The class column is “{schema.class_name}”, with the values {_listed(schema.classes)}."


def _predictors(report: Report) -> Iterator[str]:
    yield f"{len(report.subject.schema.attributes)} attributes were offered to the tree."


def _sample(report: Report) -> Iterator[str]:
    for entry in report.judged:
        yield f"Judged on {JUDGED_ON[entry.on]}: {_records(entry, report.floor)}."


def _missing(report: Report) -> Iterator[str]:
    attributes = report.subject.schema.attributes
    parted = [a.name for a in attributes if a.is_fractional]
    own = [a.name for a in attributes if a.missing_code is not None and not a.is_fractional]
    refused = [a.name for a in attributes if a.missing_code is None]
    if own:
        yield f"An empty field counts as a value of its own, or as a declared number, in: {_listed(own)}."
    if parted:
        yield f"A record with an empty field goes down all branches in parts, as C4.5 has it, in: {_listed(parted)}."
    if refused:
        yield f"An empty field is refused in: {_listed(refused)}."


def _methods(report: Report) -> Iterator[str]:
    subject = report.subject
    yield f"One decision tree, grown in mode {subject.mode}; rules: {_rules(subject)}."
    yield "Categories are used as listed; numbers by the study's cut points, or as they are where it declares a range."
    for entry in report.judged:
        yield f"Judged on {JUDGED_ON[entry.on]}{f': {entry.note}' if entry.note else ''}."
    if report.judged:
        confidence = report.judged[0].judgement.confidence
        yield (
            f"Intervals are of {confidence.level:.0%}: of shares by {confidence.method}, of AUC by DeLong on the "
            "logit, of balanced accuracy by joining those of the classes, of other measures by the delta method; "
            "records count as independent, hospitals as alike."
        )
    yield "Log loss and recalibration are of leaf scores smoothed by Laplace's rule, all else of shares as they are."
    yield "Nothing was recalibrated or updated. Answers come from one walk down the tree."
    if subject.noise:
        yield subject.noise


def _imbalance(report: Report) -> Iterator[str]:
    weights = report.subject.class_weights
    if weights is None:
        yield "Classes were not weighted; a leaf answers its most frequent class."
        return
    told = ", ".join(f"“{c}” {w}" for c, w in zip(report.subject.schema.classes, weights, strict=True))
    yield f"Classes were weighted: {told}."


def _fairness(report: Report) -> Iterator[str]:
    yield "Not assessed by the program."


def _output(report: Report) -> Iterator[str]:
    told = {
        "class": "a class",
        "probability": "a class, and its share among the training records of the leaf",
        "counts": "a class, its share among the training records of the leaf, and the summed counts behind it",
    }
    yield f"The model answers {told[report.subject.disclosure]}. The class is the leaf's most frequent one."


def _differences(report: Report) -> Iterator[str]:
    if any(entry.on == "training" for entry in report.judged):
        yield "Where “resubstitution” is said, growing and judging used the same records."
    if any(entry.on == "mixed" for entry in report.judged):
        yield "Some of the judged records were grown on: they were not kept apart before the tree was grown."


def _openness(report: Report) -> Iterator[str]:
    yield f"Grown and judged by Privet {report.subject.version}. No record was pooled, so none can be handed on."


def _flow(report: Report) -> Iterator[str]:
    for entry in report.judged:
        yield f"{_records(entry, report.floor)} of {', '.join(entry.hospitals)}: {JUDGED_ON[entry.on]}."


def _development(report: Report) -> Iterator[str]:
    training = next((entry for entry in report.judged if entry.on == "training"), None)
    if training is None:
        yield "The tree came without the counts of its training records."
        return
    yield f"Grown on {_records(training, report.floor)}."


def _model(report: Report) -> Iterator[str]:
    subject = report.subject
    if subject.tree is None:
        yield "The tree is not shown at this hospital."
        return
    leaves = sum(isinstance(node, Leaf) for node in subject.tree.nodes())
    yield (
        f"{subject.tree.node_count} nodes, {leaves} of them leaves, {subject.tree.depth} questions at most. "
        f"SHA-256 of the tree: {subject.tree_sha256}."
    )
    yield f"The tree is {'published by the cloud' if subject.published else 'kept by the hospitals'}."


def _performance(report: Report) -> Iterator[str]:
    if not report.judged:
        yield "The tree was not judged here: it came without counts, and no evaluation was given."
    if report.judged and not _is_separate(report):
        yield "Records that a tree was grown on flatter it; hold records out to know how good it is."
    if report.subject.disclosure == "class" and report.judged:
        yield "The study shows only classes, so curves of leaf scores are left out."


def _hospitals(report: Report) -> Iterator[str]:
    if report.by_hospital is None:
        yield "Results of single hospitals are not shown: each needs the consent of that hospital."


def _updating(report: Report) -> Iterator[str]:
    yield "The model was not updated."


def _limitations(report: Report) -> Iterator[str]:
    if not _is_separate(report):
        yield "No record was held out: how the tree does on new records is not known."
    yield "Intervals know the chance of a sample, not differences between hospitals or over time."
    if report.floor is not None:
        yield (
            f"Counts below {report.floor} are shown as “< {report.floor}”, others rounded to multiples of "
            f"{report.floor}; measures that rest on few records are rounded coarsely or withheld."
        )
    if report.subject.noise:
        yield "Counts carry noise, which the intervals do not know."
    yield report.subject.notice


def _usability(report: Report) -> Iterator[str]:
    yield (
        "Where an attribute has no value, or one that the training did not know, the walk ends there, the most "
        "frequent class of the records so far answers, and the answer says so."
    )
    yield "Intended use: decision support for research until certified. A person decides."


def _privacy(report: Report) -> Iterator[str]:
    yield f"From the ledger of job {report.subject.job}; in full by: privet agent ledger DIR {report.subject.job[:8]}."


_FACTS: Final = {
    "title": _title,
    "abstract": _abstract,
    "background": lambda report: iter([f"Question of the study: {report.subject.question}"]),
    "data": _data,
    "participants": _participants,
    "preparation": _preparation,
    "outcome": _outcome,
    "predictors": _predictors,
    "sample": _sample,
    "missing": _missing,
    "methods": _methods,
    "imbalance": _imbalance,
    "fairness": _fairness,
    "output": _output,
    "differences": _differences,
    "openness": _openness,
    "flow": _flow,
    "development": _development,
    "model": _model,
    "performance": _performance,
    "hospitals": _hospitals,
    "updating": _updating,
    "limitations": _limitations,
    "usability": _usability,
    "privacy": _privacy,
}


def _is_separate(report: Report) -> bool:
    """Whether any judgement is on records that the tree was not grown on."""
    return any(entry.on in ("held-out", "folds") for entry in report.judged)


def _records(entry: Judged, floor: int | None) -> str:
    return f"{shown_count(entry.judgement.table.records, floor)} records"


def _rules(subject: Subject) -> str:
    return ", ".join(f"{name} {value}" for name, value in subject.rules.items())


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts)
