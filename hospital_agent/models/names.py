"""Names for models: which version answers under a name, which one is on trial beside it, and how that came about.

A name is a study's (`study:ID`) or chosen. It points to one model, the champion, and perhaps to a candidate that
answers a share of the requests. All of it is one file of the agent's folder, replaced whole; a running agent notices.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from machine.files import PRIVATE, make_private_folder, read_file, write_file
from shared.errors import InputError
from shared.rng import random_bytes

SERVING: Final = "serving"
STUDY_PREFIX: Final = "study:"
_FILE: Final = "names.json"
_MAX_BYTES: Final = 2**24
_MOST_CHANGES: Final = 200
"""Of a name; older ones stand in the audit chain only."""
_MOST_NAMES: Final = 256
_KEY_BYTES: Final = 32
_NAME: Final = re.compile(r"study:[a-z0-9][a-z0-9-]{0,63}|[a-z0-9][a-z0-9-]{0,63}")
_LIKE_AN_ID: Final = re.compile(r"[0-9a-f]+")
LATEST: Final = "latest"
"""The newest model; no name of one."""


@dataclass(frozen=True, slots=True)
class Change:
    """One act on a name, and how things stood after it. `share`: of requests that the candidate answers, as text.

    `candidate_sha256`: of its tree when the trial began; None in what was written before this was kept.
    """

    time: int
    by: str
    act: str
    model: str
    tree_sha256: str
    candidate: str | None = None
    share: str = "0"
    candidate_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """What a name points to: its newest change, and those before, oldest first."""

    name: str
    changes: tuple[Change, ...] = field(repr=False)

    @property
    def now(self) -> Change:
        """How things stand."""
        return self.changes[-1]

    @property
    def before(self) -> Change | None:
        """The newest change after which another model was the champion; None if there was none."""
        return next((c for c in reversed(self.changes) if c.model != self.now.model), None)

    def document(self) -> dict[str, Any]:
        """As people and programs are shown it."""
        now = self.now
        trial = None if now.candidate is None else {"model": now.candidate, "share": now.share}
        return {
            "name": self.name,
            "model": now.model,
            "tree_sha256": now.tree_sha256,
            "candidate": trial,
            "since": now.time,
            "by": now.by,
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything in the file. `key`: decides who answers during a trial, known to nobody outside.

    `windows`: model to the moment since when what it is asked is counted, where a person has set one. `uses`: model to
    the words of this hospital on its intended use.
    """

    key: bytes = field(repr=False)
    names: Mapping[str, Name]
    windows: Mapping[str, int]
    uses: Mapping[str, str]

    def answers_by(self, now: Change, asked: bytes) -> str:
        """The model that answers: the same one for the same question, as long as the trial stands."""
        if now.candidate is None:
            return now.model
        digest = hashlib.blake2b(
            asked, key=self.key, digest_size=8, person=now.candidate[:16].encode()
        ).digest()
        return now.candidate if int.from_bytes(digest, "big") < Fraction(now.share) * 2**64 else now.model


def check_name(name: str) -> str:
    """A name that can be told from an id. Raises: InputError."""
    if not _NAME.fullmatch(name) or name == LATEST or _LIKE_AN_ID.fullmatch(name):
        raise InputError(
            "no name of a model",
            where=name[:80],
            remedy="Use study:ID, or 1 to 64 of a-z, 0-9 and -, with a letter after f among them; not `latest`.",
        )
    return name


def check_share(text: str) -> str:
    """A share of requests, above 0 and below 1, as `0.1` or `10%`; returned as a fraction. Raises: InputError."""
    try:
        share = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise InputError(
            "expected a share between 0 and 1", where="--share", remedy="Such as --share 0.1 or 10%."
        )
    return str(share)


@dataclass(slots=True)
class Names:
    """The file of an agent's folder; read again when it changed."""

    folder: Path
    clock: Callable[[], float]
    _known: tuple[tuple[int, int, int], Standing] | None = field(default=None, repr=False)
    _place: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Every question looks at the file: its path is written once."""
        self._place = str(self.path)

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / SERVING / _FILE

    def read(self) -> Standing:
        """How things stand now. Raises: InputError: the file was damaged."""
        try:
            now = os.stat(self._place)
        except FileNotFoundError:
            return Standing(b"\0" * _KEY_BYTES, {}, {}, {})
        # The time alone would not do: two changes may fall into one tick of the file system's clock.
        stamp = (now.st_mtime_ns, now.st_ino, now.st_size)
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, _read(self.path))
        return self._known[1]

    def find(self, name: str) -> Name:
        """Raises: InputError: no such name."""
        found = self.read().names.get(name)
        if found is None:
            raise InputError(
                "no model was pinned under that name",
                where=f"name {name}",
                remedy="See `privet agent models names DIR`; `privet agent models pin DIR NAME MODEL` makes one.",
            )
        return found

    def change(self, name: str, change: Change) -> Name:
        """Keep a change. Raises: InputError: no name, or too many."""
        check_name(name)
        with self._changing() as standing:
            known = standing.names.get(name)
            if known is None and len(standing.names) >= _MOST_NAMES:
                raise InputError(f"more than {_MOST_NAMES} names", where=name, remedy="Remove one.")
            changes = (*(() if known is None else known.changes), change)
            changed = Name(name, changes[-_MOST_CHANGES:])
            self._write(replace(standing, names={**standing.names, name: changed}))
        return changed

    def drop(self, name: str) -> None:
        """Remove a name. Raises: InputError: there is none."""
        self.find(name)
        with self._changing() as standing:
            self._write(replace(standing, names={n: k for n, k in standing.names.items() if n != name}))

    def count_since(self, model: str, moment: int) -> None:
        """Begin to count what a model is asked anew."""
        with self._changing() as standing:
            self._write(replace(standing, windows={**standing.windows, model: moment}))

    def describe(self, model: str, intended_use: str) -> None:
        """Keep this hospital's words on a model's intended use; empty ones remove them."""
        with self._changing() as standing:
            kept = {m: text for m, text in standing.uses.items() if m != model}
            self._write(replace(standing, uses=kept | ({model: intended_use} if intended_use else {})))

    def pointing_to(self, model: str) -> list[str]:
        """The names under which a model answers."""
        names = self.read().names.values()
        return [n.name for n in names if model in (n.now.model, n.now.candidate)]

    @contextmanager
    def _changing(self) -> Iterator[Standing]:
        """One changes at a time, over all processes."""
        make_private_folder(self.path.parent)
        descriptor = os.open(self.path.parent / ".lock", os.O_CREAT | os.O_RDWR, PRIVATE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            standing = self.read()
            if not any(standing.key):
                standing = replace(standing, key=random_bytes(_KEY_BYTES))
            yield standing
        finally:
            os.close(descriptor)

    def _write(self, standing: Standing) -> None:
        document = {
            "v": 1,
            "key": standing.key.hex(),
            "names": {n: [asdict(change) for change in known.changes] for n, known in standing.names.items()},
            "windows": dict(standing.windows),
            "uses": dict(standing.uses),
        }
        write_file(self.path, json.dumps(document, ensure_ascii=False, indent=1).encode())
        self._known = None


def _read(path: Path) -> Standing:
    raw = read_file(path, max_bytes=_MAX_BYTES, remedy="Restore it from a backup.")
    try:
        data = json.loads(raw)
        names = {
            name: Name(name, tuple(Change(**change) for change in changes))
            for name, changes in data["names"].items()
        }
        return Standing(bytes.fromhex(data["key"]), names, data["windows"], data["uses"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "the names of models cannot be read",
            where=str(path),
            remedy="Restore the file from a backup, or remove it and pin the models again.",
        ) from None
