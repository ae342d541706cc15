"""The figures of a model or of an evaluation as a study publishes them: the same document at every hospital."""

from __future__ import annotations

from hospital_agent.models.model import Model
from hospital_agent.models.reporting import Choices, judged
from hospital_agent.models.tallies import TallyResult
from shared.errors import InputError
from shared.evaluation.report_content import judged_json
from shared.protocol.figures import evaluation_figures, importance_figures
from shared.protocol.participation import rules_of
from shared.tree.importance import importances
from shared.wire.quality import EvaluationFigures, ImportanceFigures, QualitySpec


def importance_of(model: Model) -> ImportanceFigures:
    """How much each attribute of a grown tree told. Raises: InputError: it is not here, or has no whole counts."""
    tree = model.shown_tree
    if tree.root.counts is None:
        raise InputError(
            "nodes of this tree hold parts of records or no numbers, and importance is told of whole ones only",
            where=f"model {model.id}",
        )
    found = importances(tree, rules_of(model.manifest).weighed)
    return importance_figures(model.manifest, tree.sha256, model.hospitals, found)


def evaluation_of(model: Model, result: TallyResult, spec: QualitySpec) -> EvaluationFigures:
    """How good a tree is by one evaluation. Args: spec: the study's. Raises: InputError: it evaluated another tree."""
    manifest = result.manifest
    entry = judged_json(judged(model, result, Choices(spec.floor)), manifest.disclosure, spec.floor)
    return evaluation_figures(manifest, result.proof.hospitals, entry)
