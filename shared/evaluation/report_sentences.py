"""The sentences of a report, section by section: what the program knows of a model, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from shared.evaluation.floors import shown, shown_count
from shared.evaluation.judging import OF_SCORES
from shared.evaluation.report_subject import Judged, Report, Subject
from shared.evaluation.report_words import JUDGED_ON, MEASURE_NAMES
from shared.tree.model import Leaf


def _title(report: Report) -> Iterator[str]:
    subject = report.subject
    yield (
        f"Development{' and evaluation' if _is_separate(report) else ''} of a decision tree that predicts "
        f"“{subject.schema.class_name}”, grown by {len(subject.hospitals)} hospitals without pooling their records."
    )
    if subject.synthetic:
        yield "The study is marked as test data of no patient."


def _abstract(report: Report) -> Iterator[str]:
    digits = 3 if report.floor is None else 2
    for entry in report.judged:
        plain = shown(entry.judgement.overall["accuracy"], report.floor, report.confidence).to_json()
        if plain["value"] is None:
            yield f"On {JUDGED_ON[entry.on]}: no accuracy ({plain['reason']})."
            continue
        interval = plain["interval"]
        told = "" if interval is None else f" ({interval[0]:.{digits}f} to {interval[1]:.{digits}f})"
        yield f"Accuracy {plain['value']:.{digits}f}{told} on {JUDGED_ON[entry.on]}."


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
    attributes, parted = report.subject.schema.attributes, report.subject.parted
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
    if report.folds:
        yield (
            f"Cross-validated with {len(report.folds)} folds, each judged by a tree of its own that was grown by the "
            "same study on the other parts."
        )
    if report.judged:
        confidence = report.confidence
        yield (
            f"Intervals are of {confidence.level:.0%}: of shares by {confidence.method}, of AUC by DeLong on the "
            "logit, of balanced accuracy by joining those of the classes, of other measures by the delta method; "
            "records count as independent, hospitals as alike."
        )
    yield "Log loss and recalibration are of leaf scores smoothed by Laplace's rule, all else of shares as they are."
    parted = "; where a record goes down all branches, these vote" if subject.parted else ""
    yield f"Nothing was recalibrated or updated. Answers come from one walk down the tree{parted}."
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
    for costs in report.costs:
        yield (
            f"Where a miss of “{costs.label}” costs {costs.miss} and a false alarm {costs.false_alarm}, calling it "
            f"pays from a share of {costs.threshold} on, as far as shares are true probabilities. The model's answers "
            "do not follow this threshold; whoever wants it has to apply it to the shares."
        )


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
    if training is not None:
        yield f"Grown on {_records(training, report.floor)}."
    elif report.subject.grown_on is None:
        yield "The tree came without the counts of its training records."
    else:
        yield (
            f"Grown on {shown_count(report.subject.grown_on, report.floor)} records. Those without a value that their "
            "walk needed came to leaves in parts, so the tree is not judged on what it was grown on."
        )


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
    if not subject.lines_of_tree:
        yield "It is left out here, as its study keeps it at the hospitals; they can have it drawn (--with-tree)."


def _performance(report: Report) -> Iterator[str]:
    if not report.judged:
        without = report.subject.grown_on is None
        why = "it came without counts" if without else "its leaves hold parts of records"
        yield f"The tree was not judged here: {why}, and no evaluation was given."
    yield from _votes(report)
    if report.judged and not _is_separate(report):
        yield "Records that a tree was grown on flatter it; hold records out to know how good it is."
    if report.subject.disclosure == "class" and report.judged:
        yield "The study shows only classes, so curves of leaf scores are left out."


def _hospitals(report: Report) -> Iterator[str]:
    if report.left_out:
        yield "How the study's trees do at a hospital that took no part in growing them; each handed over its result."
    if not report.sites and report.left_out:
        return
    if not report.sites:
        yield "Results of single hospitals are not shown: each needs the consent of that hospital."
    elif not report.shown_sites:
        yield (
            "Results of single hospitals are not shown: with the pooled result they would tell of one or two hospitals "
            "that did not hand over theirs."
        )
    else:
        yield "Each hospital below handed over its own result; it is not signed."


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
    if any(entry.judgement.votes for entry in report.judged):
        yield "How good the shares of a vote are as probabilities is not known: measures of scores leave votes out."
    if report.subject.noise:
        yield "Counts carry noise, which the intervals do not know."
    yield report.subject.notice


def _usability(report: Report) -> Iterator[str]:
    parted = report.subject.parted
    if parted:
        yield f"Where {_listed(parted)} has no value, all branches vote, and the answer says so."
    yield (
        f"Where {'another' if parted else 'an'} attribute has no value, or any has one that the training did not know, "
        "the walk ends there, the most frequent class of the records so far answers, and the answer says so."
    )
    yield "Intended use: decision support for research until certified. A person decides."


def _privacy(report: Report) -> Iterator[str]:
    yield f"From the ledger of job {report.subject.job}; in full by: privet agent ledger DIR {report.subject.job[:8]}."


def _votes(report: Report) -> Iterator[str]:
    """Which figures rest on fewer records than the rest, and on how many."""
    names = ", ".join(MEASURE_NAMES[name] for name in OF_SCORES)
    for entry in report.judged:
        judgement = entry.judgement
        if judgement.votes:
            yield (
                f"{_records(entry, report.floor)}, {JUDGED_ON[entry.on]}: "
                f"{shown_count(judgement.voted, report.floor)} lacked a value that their walk needed, and all branches "
                "answered together. They count in all that is made of answers, such as accuracy. What is made of "
                f"scores rests on the other {shown_count(judgement.table.records, report.floor)}: {names}, curves and "
                "thresholds."
            )


def _is_separate(report: Report) -> bool:
    """Whether any judgement is on records that the tree was not grown on."""
    return bool(report.folds or report.left_out) or any(entry.on == "held-out" for entry in report.judged)


def _records(entry: Judged, floor: int | None) -> str:
    return f"{shown_count(entry.judgement.records, floor)} records"


def _rules(subject: Subject) -> str:
    return ", ".join(f"{name} {value}" for name, value in subject.rules.items())


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts)


FACTS: Final[Mapping[str, Callable[[Report], Iterator[str]]]] = {
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
"""By section, what is told of a report."""
