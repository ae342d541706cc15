"""A model made into a report: what its file proves, what its training counts say, and what an evaluation opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hospital_agent.models.answers import notice_of
from hospital_agent.models.model import Model
from hospital_agent.models.tallies import TallyResult
from shared.errors import InputError
from shared.evaluation.calibration import laplace
from shared.evaluation.confusion import Confusion
from shared.evaluation.costs import Costs
from shared.evaluation.judging import Judgement, judge
from shared.evaluation.measures import CONFIDENCE_95, Confidence
from shared.evaluation.report_subject import Judged, Report, SiteResult, Subject
from shared.evaluation.table import Counts, leaf_table, resubstitution
from shared.protocol.disclosure import Entry
from shared.protocol.expiry import day_of
from shared.protocol.participation import rules_of
from shared.protocol.report_facts import judged_on, mode_words, noise_sentence, privacy_lines, rule_words
from shared.texts import text
from shared.tree.drawing import draw
from shared.tree.importance import importances
from shared.tree.model import Split, Tree
from shared.tree.schema import Schema


@dataclass(frozen=True, slots=True)
class Choices:
    """How a report is made. `floor`: None tells exact counts, for the hospital's own eyes.

    `with_tree`: the tree stands in a shared report though its study keeps it at the hospitals. `costs`: of errors, by
    which a class may be called in place of the tree's answer.
    """

    floor: int | None
    with_tree: bool = False
    confidence: Confidence = CONFIDENCE_95
    costs: Sequence[Costs] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a report rests on besides the model.

    `evaluations`: of this model's tree. `folds`, `left_out`, `sites`: see `report_parts`.

    `fact`: the entries of the job's fact ledger, None where only the forecast is known.
    """

    evaluations: Sequence[TallyResult] = ()
    folds: Sequence[Confusion] = ()
    left_out: Sequence[tuple[str, Confusion]] = ()
    sites: Sequence[SiteResult] = ()
    fact: Sequence[Entry] | None = None


def report_of(model: Model, evidence: Evidence, choices: Choices, version: str) -> Report:
    """The report on a model.

    Args: version: of Privet. Raises: InputError: an evaluation of another tree, or costs where the study shows no
        shares.
    """
    if choices.costs and model.manifest.disclosure == "class":
        raise InputError("the study shows only classes, no shares that costs could decide by", where="--cost")
    found = [judged(model, result, choices) for result in evidence.evaluations]
    training = _training(model, choices)
    return Report(
        _subject(model, version, evidence.fact, choices),
        found if training is None else [*found, training],
        choices.floor,
        choices.confidence,
        evidence.folds,
        evidence.left_out,
        evidence.sites,
        choices.costs,
    )


def _subject(model: Model, version: str, fact: Iterable[Entry] | None, choices: Choices) -> Subject:
    manifest = model.manifest
    drawn = choices.with_tree or choices.floor is None or manifest.publish_tree
    shown = None if model.tree is None else model.tree.without_counts()
    weights = manifest.class_weights
    return Subject(
        job=model.id,
        study=manifest.study,
        question=manifest.question,
        schema=model.schema,
        hospitals=model.hospitals,
        mode=mode_words(manifest),
        rules=rule_words(manifest),
        disclosure=manifest.disclosure,
        tree=shown,
        tree_sha256=model.tree_sha256,
        manifest_sha256=model.mh,
        lines_of_tree=draw(shown, model.schema) if shown is not None and drawn else "",
        day_agreed=day_of(manifest.created),
        day_done=day_of(model.saved),
        notice=notice_of(model),
        version=version,
        synthetic=manifest.synthetic,
        published=manifest.publish_tree,
        noise=noise_sentence(manifest),
        class_weights=None if weights is None else tuple(weights),
        privacy=privacy_lines(manifest, fact),
        importance=_importance(model),
        grown_on=_grown_on(model),
    )


def _grown_on(model: Model) -> int | None:
    """Records of the training, each of which came whole to the root; None where the tree came without counts."""
    weights = None if model.tree is None else model.tree.root.weights
    return None if weights is None else int(sum(weights))


def _importance(model: Model) -> tuple[tuple[str, float, float], ...]:
    """How much each attribute told; nothing where the study shows no counts, or the tree came without."""
    tree, shown = model.tree, model.manifest.disclosure == "counts"
    if tree is None or not shown or tree.root.counts is None:
        return ()
    found = importances(tree, rules_of(model.manifest).weighed)
    names = [attribute.name for attribute in model.schema.attributes]
    return tuple((names[each.attribute], float(each.gini), float(each.entropy)) for each in found)


def _training(model: Model, choices: Choices) -> Judged | None:
    """The tree on its own training records; None where it came without their counts, or with parts of records.

    Parts may add up to whole records at a leaf, so a tree that asks what may be missing in parts is not judged by them.
    """
    if model.tree is None or _may_hold_parts(model.tree, model.schema):
        return None
    try:
        counts = resubstitution(model.tree)
    except InputError:
        return None
    return Judged("training", model.hospitals, _judge(model, counts, choices))


def _may_hold_parts(tree: Tree, schema: Schema) -> bool:
    asked = (node.attribute for node in tree.nodes() if isinstance(node, Split))
    return any(schema.attributes[attribute].is_fractional for attribute in asked)


def judged(model: Model, result: TallyResult, choices: Choices) -> Judged:
    """A model's tree by the records that an evaluation counted. Raises: InputError: it evaluated another tree."""
    asked = result.manifest.tally
    if asked is None or asked.kind != "evaluation" or asked.tree_sha256 != model.tree_sha256:
        raise InputError(
            "this job did not evaluate that tree",
            where=f"job {result.job}",
            remedy="See `privet agent evaluation DIR` for the jobs here and their trees.",
        )
    votes = result.votes(model) or ()
    judgement = _judge(model, result.places(model.shown_tree), choices, votes)
    hospitals = result.proof.hospitals
    on = judged_on(
        model.manifest.selection, result.manifest.selection, frozenset(model.hospitals), frozenset(hospitals)
    )
    return Judged(on, hospitals, judgement, _note(result))


def _note(result: TallyResult) -> str:
    selection = result.manifest.selection
    if selection is None:
        return text("measured.all_records", job=result.job)
    test, parts = selection.last - selection.first, selection.parts
    taken = test if selection.use == "test" else parts - test
    return text("measured.parts", taken=taken, parts=parts, job=result.job)


def _judge(
    model: Model, counts: dict[int, Counts], choices: Choices, votes: Sequence[Counts] = ()
) -> Judgement:
    classes, tree = model.schema.classes, model.shown_tree
    return judge(
        leaf_table(tree, classes, counts),
        smoothed=leaf_table(tree, classes, counts, laplace(len(classes))),
        votes=votes,
        training_majority=_majority(model),
        confidence=choices.confidence,
    )


def _majority(model: Model) -> int | None:
    """The class that the root answers: the most frequent of the training."""
    root = model.shown_tree.root
    if root.counts is None:
        return None
    return max(range(len(root.counts)), key=root.counts.__getitem__)
