"""The names of measures for readers, and what only authors know: the items of TRIPOD+AI that no program can answer.

Item numbers are those of the checklist: G. S. Collins et al., TRIPOD+AI statement: updated guidance for reporting
clinical prediction models that use regression or machine learning methods, BMJ 385 (2024) e078378. The words are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MEASURE_NAMES: Final[Mapping[str, str]] = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1_macro": "F1, plain mean of classes",
    "f1_weighted": "F1, weighted by records",
    "kappa": "Cohen's kappa",
    "mcc": "Matthews' correlation",
    "auc_macro": "AUC, mean of classes",
    "brier": "Brier score",
    "brier_skill": "Brier skill",
    "log_loss": "Log loss, of smoothed scores",
    "not_covered": "Walks that stopped early",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "ppv": "PPV",
    "npv": "NPV",
    "f1": "F1",
    "auc": "AUC",
    "average_precision": "Average precision",
    "calibration_error": "Calibration error",
    "observed_over_expected": "Observed / expected",
    "calibration_intercept": "Calibration intercept, of smoothed scores",
    "calibration_slope": "Calibration slope, of smoothed scores",
}

JUDGED_ON: Final[Mapping[str, str]] = {
    "training": "the records it was grown on (resubstitution: optimistic)",
    "held-out": "records held out from growing, at all hospitals together",
    "mixed": "records of which some were grown on (optimistic)",
}

TO_FILL: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("The population that the model is meant for.",),
    "abstract": ("A structured summary, as TRIPOD+AI for abstracts asks.",),
    "background": (
        "The setting in care, diagnostic or prognostic, and why a model is needed; models that exist.",
        "Who is to use it, at which point, for whom.",
        "Known inequalities in health between groups of this population.",
    ),
    "data": (
        "Where the records come from (cohort, registry, routine care), why these, and how representative they are.",
        "From when to when patients were included, and the end of follow-up.",
    ),
    "participants": (
        "The level of care and the places of the hospitals.",
        "Who was eligible; treatments received, and how they were dealt with.",
    ),
    "preparation": ("What was done to the records before they were read, and whether alike in all groups.",),
    "outcome": ("How, when and over what time the outcome was assessed; by whom, and blind to what.",),
    "predictors": ("Why these predictors; how, when and by whom each was measured.",),
    "sample": ("How the number of records was arrived at, and whether it suffices.",),
    "missing": ("Why values are missing.",),
    "methods": ("Why a decision tree; how its rules of growing were chosen.",),
    "imbalance": (),
    "fairness": (
        "What was done for fairness between groups, and why. The program knows no groups of patients.",
    ),
    "output": ("Whether a threshold is used, and why this one.",),
    "differences": ("How eligibility, setting, outcome and predictors differ between growing and judging.",),
    "openness": (
        "Approval by an ethics committee, and consent or its waiver.",
        "Funding, competing interests, protocol, registration.",
        "Where data and code can be had.",
        "How patients and the public were involved.",
    ),
    "flow": (
        "How many patients were considered, left out and why; follow-up time.",
        "Characteristics of the patients, and how they differ between growing and judging.",
    ),
    "development": (),
    "model": (),
    "performance": ("Performance in groups that matter for fairness.",),
    "hospitals": (),
    "updating": (),
    "interpretation": ("What the results mean, fairness included, against earlier studies.",),
    "limitations": ("Limits of the sample, of missing data, of what was measured, and their effect.",),
    "usability": (
        "What training its users need, and how they act on an answer.",
        "What has to be shown next, above all elsewhere.",
    ),
    "privacy": (),
}
"""By section: what is left for the authors. Nothing of it is known to the program, so nothing of it is written."""
