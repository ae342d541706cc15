"""The sentences of a report, section by section: what the program knows of a model, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from shared.evaluation.floors import shown, shown_count
from shared.evaluation.judging import OF_SCORES
from shared.evaluation.report_subject import Judged, Report, Subject
from shared.evaluation.report_words import JUDGED_ON, MEASURE_NAMES
from shared.texts import text
from shared.tree.model import Leaf


def _title(report: Report) -> Iterator[str]:
    subject = report.subject
    name = "report.title_evaluated" if _is_separate(report) else "report.title_developed"
    yield text(name, class_name=subject.schema.class_name, n=len(subject.hospitals))
    if subject.synthetic:
        yield text("report.test_data")


def _abstract(report: Report) -> Iterator[str]:
    digits = 3 if report.floor is None else 2
    for entry in report.judged:
        plain = shown(entry.judgement.overall["accuracy"], report.floor, report.confidence).to_json()
        if plain["value"] is None:
            yield text("report.no_accuracy", on=JUDGED_ON[entry.on], reason=plain["reason"])
            continue
        interval = plain["interval"]
        told = f"{plain['value']:.{digits}f}"
        if interval is not None:
            low, high = (f"{end:.{digits}f}" for end in interval)
            told = text("report.with_interval", value=told, low=low, high=high)
        yield text("report.accuracy", value=told, on=JUDGED_ON[entry.on])


def _data(report: Report) -> Iterator[str]:
    yield text("report.data", agreed=report.subject.day_agreed, done=report.subject.day_done)


def _participants(report: Report) -> Iterator[str]:
    hospitals = report.subject.hospitals
    yield text("report.participants", n=len(hospitals), hospitals=", ".join(hospitals))


def _preparation(report: Report) -> Iterator[str]:
    yield text("report.preparation")


def _outcome(report: Report) -> Iterator[str]:
    schema = report.subject.schema
    yield text("report.outcome", class_name=schema.class_name, classes=_listed(schema.classes))


def _predictors(report: Report) -> Iterator[str]:
    yield text("report.predictors", n=len(report.subject.schema.attributes))


def _sample(report: Report) -> Iterator[str]:
    for entry in report.judged:
        yield text("report.sample", on=JUDGED_ON[entry.on], records=_records(entry, report.floor))


def _missing(report: Report) -> Iterator[str]:
    attributes, parted = report.subject.schema.attributes, report.subject.parted
    own = [a.name for a in attributes if a.missing_code is not None and not a.is_fractional]
    refused = [a.name for a in attributes if a.missing_code is None]
    if own:
        yield text("report.empty_own", names=_listed(own))
    if parted:
        yield text("report.empty_parted", names=_listed(parted))
    if refused:
        yield text("report.empty_refused", names=_listed(refused))


def _methods(report: Report) -> Iterator[str]:
    subject = report.subject
    yield text("report.methods", mode=subject.mode, rules=_rules(subject))
    yield text("report.categories")
    for entry in report.judged:
        on = JUDGED_ON[entry.on]
        yield (
            text("report.judged_noted", on=on, note=entry.note)
            if entry.note
            else text("report.judged", on=on)
        )
    if report.folds:
        yield text("report.folds", n=len(report.folds))
    if report.judged:
        confidence = report.confidence
        yield text("report.intervals", level=f"{confidence.level:.0%}", method=confidence.method)
    yield text("report.smoothed")
    yield text("report.walks_vote" if subject.parted else "report.walks")
    if subject.noise:
        yield subject.noise


def _imbalance(report: Report) -> Iterator[str]:
    weights = report.subject.class_weights
    if weights is None:
        yield text("report.not_weighted")
        return
    told = ", ".join(f"“{c}” {w}" for c, w in zip(report.subject.schema.classes, weights, strict=True))
    yield text("report.weighted", weights=told)


def _fairness(report: Report) -> Iterator[str]:
    yield text("report.fairness")


def _output(report: Report) -> Iterator[str]:
    yield text(f"report.answers.{report.subject.disclosure}")
    for costs in report.costs:
        yield text(
            "report.costs",
            label=costs.label,
            miss=costs.miss,
            false_alarm=costs.false_alarm,
            threshold=costs.threshold,
        )


def _differences(report: Report) -> Iterator[str]:
    if any(entry.on == "training" for entry in report.judged):
        yield text("report.resubstitution")
    if any(entry.on == "mixed" for entry in report.judged):
        yield text("report.mixed")


def _openness(report: Report) -> Iterator[str]:
    yield text("report.openness", version=report.subject.version)


def _flow(report: Report) -> Iterator[str]:
    for entry in report.judged:
        yield text(
            "report.flow",
            records=_records(entry, report.floor),
            hospitals=", ".join(entry.hospitals),
            on=JUDGED_ON[entry.on],
        )


def _development(report: Report) -> Iterator[str]:
    training = next((entry for entry in report.judged if entry.on == "training"), None)
    if training is not None:
        yield text("report.grown_on", records=_records(training, report.floor))
    elif report.subject.grown_on is None:
        yield text("report.no_counts")
    else:
        yield text("report.grown_parted", n=shown_count(report.subject.grown_on, report.floor))


def _model(report: Report) -> Iterator[str]:
    subject = report.subject
    if subject.tree is None:
        yield text("report.not_shown")
        return
    leaves = sum(isinstance(node, Leaf) for node in subject.tree.nodes())
    yield text(
        "report.model",
        nodes=subject.tree.node_count,
        leaves=leaves,
        depth=subject.tree.depth,
        sha256=subject.tree_sha256,
    )
    yield text("report.published" if subject.published else "report.kept")
    if not subject.lines_of_tree:
        yield text("report.left_out_here")


def _performance(report: Report) -> Iterator[str]:
    if not report.judged:
        without = report.subject.grown_on is None
        yield text("report.not_judged_no_counts" if without else "report.not_judged_parts")
    yield from _votes(report)
    if report.judged and not _is_separate(report):
        yield text("report.flatter")
    if report.subject.disclosure == "class" and report.judged:
        yield text("report.only_classes")


def _hospitals(report: Report) -> Iterator[str]:
    if report.left_out:
        yield text("report.left_out")
    if not report.sites and report.left_out:
        return
    if not report.sites:
        yield text("report.no_consent")
    elif not report.shown_sites:
        yield text("report.few_sites")
    else:
        yield text("report.sites")


def _updating(report: Report) -> Iterator[str]:
    yield text("report.not_updated")


def _limitations(report: Report) -> Iterator[str]:
    if not _is_separate(report):
        yield text("report.nothing_held_out")
    yield text("report.chance_only")
    if report.floor is not None:
        yield text("report.floor", floor=report.floor)
    if any(entry.judgement.votes for entry in report.judged):
        yield text("report.votes_unknown")
    if report.subject.noise:
        yield text("report.noise")
    yield report.subject.notice


def _usability(report: Report) -> Iterator[str]:
    parted = report.subject.parted
    if parted:
        yield text("report.all_vote", names=_listed(parted))
    yield text("report.walk_ends_other" if parted else "report.walk_ends")
    yield text("report.intended_use")


def _privacy(report: Report) -> Iterator[str]:
    yield text("report.ledger", job=report.subject.job, short=report.subject.job[:8])


def _votes(report: Report) -> Iterator[str]:
    """Which figures rest on fewer records than the rest, and on how many."""
    names = ", ".join(MEASURE_NAMES[name] for name in OF_SCORES)
    for entry in report.judged:
        judgement = entry.judgement
        if judgement.votes:
            yield text(
                "report.voted",
                records=_records(entry, report.floor),
                on=JUDGED_ON[entry.on],
                voted=shown_count(judgement.voted, report.floor),
                rest=shown_count(judgement.table.records, report.floor),
                names=names,
            )


def _is_separate(report: Report) -> bool:
    """Whether any judgement is on records that the tree was not grown on."""
    return bool(report.folds or report.left_out) or any(entry.on == "held-out" for entry in report.judged)


def _records(entry: Judged, floor: int | None) -> str:
    return text("report.records", n=shown_count(entry.judgement.records, floor))


def _rules(subject: Subject) -> str:
    return ", ".join(f"{name} {value}" for name, value in subject.rules.items())


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts)


FACTS: Final[Mapping[str, Callable[[Report], Iterator[str]]]] = {
    "title": _title,
    "abstract": _abstract,
    "background": lambda report: iter([text("report.question", question=report.subject.question)]),
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
"""By section, what is told of a report."""
