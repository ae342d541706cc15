"""What left this house for a job and what came in, message by message, from this hospital's own chained log.

Contents are told in plain words by the kind of message and by how the job protects counts. The log holds no count of
patients, so none can be here: numbers are of cells, ciphertexts and bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hospital_agent.journal import JobEntry
from shared.texts import text, texts
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest

_LEFT, _CAME, _HERE = "left", "came", "here"
_DIRECTIONS: Final = {"sent": _LEFT, "received": _CAME}
_SIZED: Final = {
    MessageType.CONTRIBUTION: "slots",
    MessageType.ROUND_OPEN: "slots",
    MessageType.AGGREGATE: "ciphertexts",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the log. `direction`: left, came or here. `place`: round and attempt, empty outside of rounds.

    Logs count rounds from 0, people from 1.
    """

    moment: int
    direction: str
    what: str
    contents: str
    place: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Volume:
    """All messages of one kind in one direction. `messages`: 0 where only their bytes are known."""

    direction: str
    what: str
    messages: int
    bytes: int


def steps_of(records: Sequence[Mapping[str, Any]], manifest: Manifest) -> list[Step]:
    """The log's lines about one job, in order. Args: records: those of the job."""
    return list(_steps(records, manifest))


def volumes_of(entry: JobEntry, records: Sequence[Mapping[str, Any]]) -> list[Volume]:
    """Bytes by kind of message, headers included, most first."""
    told = Counter((str(record.get("kind")), str(record.get("type"))) for record in records)
    found = [
        Volume(direction, _kind_name(kind), told[direction_kind, kind], size)
        for direction, direction_kind, sizes in (
            (_LEFT, "sent", entry.tally.sent),
            (_CAME, "received", entry.tally.received),
        )
        for kind, size in sizes.items()
        if size
    ]
    return sorted(found, key=lambda volume: -volume.bytes)


def _steps(records: Sequence[Mapping[str, Any]], manifest: Manifest) -> Iterator[Step]:
    asked: dict[int, int] = {}
    for record in records:
        kind, message = str(record["kind"]), record.get("type")
        if message == MessageType.ROUND_OPEN:
            asked[int(record["round"])] = int(record.get("slots", 0))
        known = {"slots": asked.get(int(record.get("round", 0)), 0), **record}
        yield Step(
            moment=int(record["time"]),
            direction=_DIRECTIONS.get(kind, _HERE),
            what=_kind_name(str(message)) if kind in _DIRECTIONS else _event_name(kind),
            contents=_contents(kind, message, known, manifest),
            place=_place(record, message),
            sha256=str(record.get("sha256", "")),
        )


def _contents(kind: str, message: Any, record: Mapping[str, Any], manifest: Manifest) -> str:
    if kind not in _DIRECTIONS:
        return _optional(f"house.event.{kind}.contents", code=record.get("code") or text("common.none"))
    key = f"house.message.{message}.contents"
    if message == MessageType.CONTRIBUTION:
        key = f"house.message.contribution.{manifest.profile}"
    if message == MessageType.ATTEST and record.get("published"):
        key = "house.message.attest.published"
    size = record.get(_SIZED.get(message, ""), 0)
    return _optional(key, n=size, code=record.get("code") or text("common.none"))


def _place(record: Mapping[str, Any], message: Any) -> str:
    if "round" not in record or message in _OUTSIDE_OF_ROUNDS:
        return ""
    again = int(record.get("attempt", 0))
    name = "house.job.round_again" if again else "house.job.round"
    return text(name, n=int(record["round"]) + 1, attempt=again + 1)


_OUTSIDE_OF_ROUNDS: Final = (
    MessageType.JOB_OFFER,
    MessageType.JOB_ACCEPT,
    MessageType.JOB_DECLINE,
    MessageType.ROSTER,
    MessageType.JOB_DONE,
    MessageType.ATTEST,
    MessageType.ABORT,
)


def _kind_name(kind: str) -> str:
    return _optional(f"house.message.{kind}.name") or kind.replace("_", " ")


def _event_name(kind: str) -> str:
    return _optional(f"house.event.{kind}.name") or kind.replace("_", " ")


def _optional(name: str, **places: object) -> str:
    return text(name, **places) if name in texts() else ""
