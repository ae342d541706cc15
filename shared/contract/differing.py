"""Drafts that contradict each other: who says what, by file, by number, or only in how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shared.errors import InputError


class DraftsDifferError(InputError):
    """Drafts that contradict each other. `said`: what each draft says, in their order."""

    def __init__(self, message: str, said: Sequence[str], *, where: str, remedy: str) -> None:
        super().__init__(f"{message}: {_by_draft(said)}", where=where, remedy=remedy)
        self._message, self.said = message, tuple(said)

    def named(self, files: Sequence[str]) -> InputError:
        """The same with the drafts' files in place of their numbers. Args: files: one for each draft, in order."""
        if len(files) != len(self.said):  # Not every draft has the value that they differ in.
            return self.counted()
        return InputError(
            f"{self._message}: {_by_draft(self.said, files)}", where=self.where, remedy=self.remedy
        )

    def counted(self) -> InputError:
        """The same with how many drafts say it, for who cannot know which. Says the same for drafts in any order."""
        times = Counter(self.said)
        told = "; ".join(
            f"{text or 'nothing'} in {count} of {len(self.said)}" for text, count in sorted(times.items())
        )
        return InputError(f"{self._message}: {told}", where=self.where, remedy=self.remedy)


def _by_draft(said: Sequence[str], files: Sequence[str] = ()) -> str:
    names = files or [f"draft {number}" for number in range(1, len(said) + 1)]
    holders: dict[str, list[str]] = {}
    for text, name in zip(said, names, strict=True):
        holders.setdefault(text, []).append(name)
    return "; ".join(f"{text or 'nothing'} in {', '.join(held)}" for text, held in holders.items())
