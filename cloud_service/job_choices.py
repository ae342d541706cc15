"""Words of the command line for what a study allows and a job chooses."""

from __future__ import annotations

from enum import StrEnum


class ModeName(StrEnum):
    """How a job computes."""

    PPSDT = "ppsdt"
    ID3 = "id3"
    GAIN_RATIO = "gain-ratio"


class ProfileName(StrEnum):
    """How mode ppsdt hides counts."""

    HARDENED = "hardened"
    PAPER = "paper"


class CriterionName(StrEnum):
    """How splits are chosen in mode ppsdt."""

    INFORMATION_GAIN = "information-gain"
    GAIN_RATIO = "gain-ratio"
    C45 = "c45"


class KeyModeName(StrEnum):
    """Who opens the sums of mode ppsdt."""

    SHARED = "shared"
    THRESHOLD = "threshold"


class ResultName(StrEnum):
    """What becomes of a tree of mode gain-ratio."""

    OPEN = "open"
    SHARED = "shared"
