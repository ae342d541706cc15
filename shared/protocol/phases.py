"""The parts of a computation on shares in words: programs name them shortly, and these names travel.

A part that a later version names, and this one does not know, is told as it is named.
"""

from __future__ import annotations

from shared.texts import has_text, text


def phase_in_words(phase: str) -> str:
    """What is done in a phase. Args: phase: `shared.wire.secret.Progress.phase`."""
    name = f"phase.{phase.replace(' ', '_')}"
    return text(name) if has_text(name) else phase
