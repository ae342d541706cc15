"""Rules in words as paragraphs: one that begins with a short subject and a colon has the subject as its heading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LONGEST_SUBJECT: Final = 60


@dataclass(frozen=True, slots=True)
class Paragraph:
    """What it is about, empty where it does not say so, and what it says."""

    subject: str
    words: str


def paragraph_of(sentence: str) -> Paragraph:
    """A sentence of `shared.protocol.plain_words`, parted."""
    subject, colon, rest = sentence.partition(": ")
    is_headed = bool(colon) and len(subject) <= _LONGEST_SUBJECT
    return Paragraph(subject, rest) if is_headed else Paragraph("", sentence)
