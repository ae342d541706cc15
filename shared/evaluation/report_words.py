"""The names of measures for readers, and what only authors know: the items of TRIPOD+AI that no program can answer.

Item numbers are those of the checklist: G. S. Collins et al., TRIPOD+AI statement: updated guidance for reporting
clinical prediction models that use regression or machine learning methods, BMJ 385 (2024) e078378. The words are ours.
"""

from __future__ import annotations

from typing import Final

from shared.texts import Named

MEASURE_NAMES: Final = Named(
    "report.measure",
    (
        "accuracy",
        "balanced_accuracy",
        "f1_macro",
        "f1_weighted",
        "kappa",
        "mcc",
        "auc_macro",
        "brier",
        "brier_skill",
        "log_loss",
        "not_covered",
        "sensitivity",
        "specificity",
        "ppv",
        "npv",
        "f1",
        "auc",
        "average_precision",
        "calibration_error",
        "observed_over_expected",
        "calibration_intercept",
        "calibration_slope",
    ),
)
JUDGED_ON: Final = Named("report.on", ("training", "held-out", "mixed"))
_TO_FILL: Final = Named(
    "report.to_fill",
    (
        "title",
        "abstract",
        "background",
        "data",
        "participants",
        "preparation",
        "outcome",
        "predictors",
        "sample",
        "missing",
        "methods",
        "fairness",
        "output",
        "differences",
        "openness",
        "flow",
        "performance",
        "interpretation",
        "limitations",
        "usability",
    ),
)


def to_fill(section: str) -> list[str]:
    """What a section leaves to the authors. Nothing of it is known to the program, so nothing of it is written."""
    return _TO_FILL[section].split("\n") if section in _TO_FILL else []
