"""The counters of all models that were asked, and of trials of candidates: one file, at most a few seconds behind.

It holds numbers by attribute and value, never a record, and no more models than are on the shelf. Only the running
agent writes it; commands read it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from hospital_agent.models.names import SERVING, Change
from hospital_agent.models.watching import TOLD_EVERY, Watch
from machine.files import make_private_folder, read_file, write_file
from shared.errors import InputError

COUNTERS_FILE: Final = "counters.json"
_MAX_BYTES: Final = 2**26
_MOST_MODELS: Final = 64
WRITE_SECONDS: Final = 5.0


@dataclass(slots=True)
class Trial:
    """A champion and a candidate on the same questions: how often they agree. `pairs`: by what each answered."""

    champion: str
    candidate: str
    since: int
    asked: int = 0
    differ: int = 0
    pairs: dict[str, int] = field(default_factory=dict)
    _told: dict[str, Any] | None = field(default=None, repr=False)
    _told_at: int = 0

    def advance(self) -> None:
        """After records were counted: a new step, if `TOLD_EVERY` more have come."""
        if self.asked - self._told_at >= TOLD_EVERY:
            self._told, self._told_at = self.document(), self.asked

    def told(self) -> dict[str, Any]:
        """What people and programs are shown: how it stood when at least `TOLD_EVERY` more records had come.

        At each question, one could read the class of a patient off two looks.
        """
        return self._told or Trial(self.champion, self.candidate, self.since).document()

    def document(self) -> dict[str, Any]:
        """How it stands now."""
        share = None if not self.asked else round(self.differ / self.asked, 6)
        return {
            "champion": self.champion,
            "candidate": self.candidate,
            "since": self.since,
            "records": self.asked,
            "differ": self.differ,
            "differ_share": share,
            "answers": [
                {"champion": pair.split("\t")[0], "candidate": pair.split("\t")[1], "records": count}
                for pair, count in sorted(self.pairs.items(), key=lambda item: (-item[1], item[0]))
            ],
        }


@dataclass(slots=True)
class Counters:
    """`clock`: Unix seconds."""

    folder: Path
    clock: Callable[[], float]
    watches: dict[str, Watch] = field(default_factory=dict)
    trials: dict[str, Trial] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)
    _written: float = 0.0
    _dirty: bool = False
    _later: threading.Timer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Go on from what is on disk; a damaged file begins anew, since nothing but counts is in it."""
        try:
            self._kept = read_counters(self.folder)
        except InputError:
            self._kept = {}
        for name, entry in self._kept.get("trials", {}).items():
            self.trials[name] = Trial(**entry)

    def watch(self, model: str, make: Callable[[int], Watch], since: int | None) -> Watch:
        """The counters of a model. Args: make: new ones from a moment on. since: begin anew if they began earlier."""
        with self.lock:
            known = self.watches.get(model)
            if known is not None and (since is None or known.since >= since):
                return known
            known = make(int(self.clock()) if since is None else since)
            kept = self._kept.get("models", {}).get(model)
            if kept is not None and (since is None or int(kept["since"]) >= since):
                known.restore(kept)
            self.watches[model] = known
            return known

    def trial(self, name: str, now: Change) -> Trial:
        """The trial that runs under a name; a new one begins where champion or candidate changed."""
        with self.lock:
            known = self.trials.get(name)
            if known is None or (known.champion, known.candidate, known.since) != (
                now.model,
                now.candidate,
                now.time,
            ):
                known = self.trials[name] = Trial(now.model, now.candidate or "", now.time)
            return known

    def note(self, trial: Trial, pairs: Sequence[tuple[str, str]]) -> None:
        """What champion and candidate answered to the same records."""
        with self.lock:
            for champion, candidate in pairs:
                trial.asked += 1
                trial.differ += champion != candidate
                pair = f"{champion}\t{candidate}"
                trial.pairs[pair] = trial.pairs.get(pair, 0) + 1
            trial.advance()

    def touch(self) -> None:
        """Something was counted: write it now, or within `WRITE_SECONDS` even if nobody asks again.

        A full disk keeps nobody from an answer; it is tried again.
        """
        self._dirty = True
        now = self.clock()
        if not 0 <= now - self._written < WRITE_SECONDS:
            with suppress(OSError):
                self.flush()
            return
        with self.lock:
            if self._later is None:
                self._later = threading.Timer(WRITE_SECONDS, self._write_later)
                self._later.daemon = True
                self._later.start()

    def close(self) -> None:
        """Write what was counted; nothing is written later. Raises: OSError: it cannot be written."""
        with self.lock:
            later, self._later = self._later, None
        if later is not None:
            later.cancel()
        self.flush()

    def _write_later(self) -> None:
        with self.lock:
            self._later = None
        with suppress(OSError):
            self.flush()

    def flush(self) -> None:
        """Write, if something was counted since. Raises: OSError: it cannot be written; the next call tries again."""
        with self._writing:
            with self.lock:
                if not self._dirty:
                    return
                self._written, self._dirty = self.clock(), False
                content = json.dumps(self._document()).encode()
            path = self.folder / SERVING / COUNTERS_FILE
            try:
                make_private_folder(path.parent)
                write_file(path, content)
            except OSError:
                self._dirty = True
                raise

    def _document(self) -> dict[str, Any]:
        """All counters, of models that were asked since the start last: they are dropped last."""
        asked = {model: watch.kept() for model, watch in self.watches.items()}
        before = {m: kept for m, kept in self._kept.get("models", {}).items() if m not in asked}
        newest = dict([*before.items(), *asked.items()][-_MOST_MODELS:])
        return {"v": 1, "models": newest, "trials": {name: asdict(t) for name, t in self.trials.items()}}


def read_counters(folder: Path) -> dict[str, Any]:
    """What is on disk; empty where nothing was counted yet. Raises: InputError: damaged."""
    path = folder / SERVING / COUNTERS_FILE
    if not path.is_file():
        return {}
    raw = read_file(path, max_bytes=_MAX_BYTES, remedy="Remove it: counting begins anew.")
    try:
        document = json.loads(raw)
        if not isinstance(document, Mapping) or document.get("v") != 1:
            raise ValueError("v")
    except ValueError:
        raise InputError(
            "the counters cannot be read", where=str(path), remedy="Remove the file: counting begins anew."
        ) from None
    return dict(document)
