"""What left this house and what came in, message by message, from this hospital's own chained log.

Contents are told in plain words by the kind of message and by how the job protects counts. The log holds no count of
patients, so none can be here: numbers are of cells, ciphertexts and bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hospital_agent.journal import JobEntry
from hospital_agent.journal.reading import CAME, LEFT, Record, asked_by_round
from shared.texts import has_text, text
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest

_LEFT, _CAME, _HERE = "left", "came", "here"
_SIZED: Final = {
    MessageType.CONTRIBUTION: "slots",
    MessageType.ROUND_OPEN: "slots",
    MessageType.AGGREGATE: "ciphertexts",
}
_OUTSIDE_OF_ROUNDS: Final = (
    MessageType.JOB_OFFER,
    MessageType.JOB_ACCEPT,
    MessageType.JOB_DECLINE,
    MessageType.ROSTER,
    MessageType.JOB_DONE,
    MessageType.ATTEST,
    MessageType.ABORT,
)
_BY_KIND: Final = {
    "offer_came": MessageType.JOB_OFFER,
    "study_shown": "study_document",
    "study_word_sent": "study_word",
}
"""Messages whose records name no type of envelope."""
_REFUSED: Final = ("refused", "study_word_refused")
_UNKNOWN: Final = "unknown"
"""How a job that is forgotten protected its counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the log. `direction`: left, came or here. `place`: round and attempt, empty outside of rounds.

    `bytes`: of a message, 0 where the log does not say. Logs count rounds from 0, people from 1.
    """

    number: int
    moment: int
    direction: str
    what: str
    contents: str
    place: str
    sha256: str
    bytes: int
    job: str
    study: str


@dataclass(frozen=True, slots=True)
class Volume:
    """All messages of one kind in one direction. `messages`: 0 where only their bytes are known."""

    direction: str
    what: str
    messages: int
    bytes: int


def steps_of(
    records: Sequence[Record], manifest: Manifest | None, cells: Mapping[int, int] | None = None
) -> list[Step]:
    """Lines of the log in the order of `records`.

    Args: manifest: of the job that they are about, None where it is forgotten or they are about none. cells: that the
        cloud asked for by round, where `records` do not tell it all.
    """
    asked = asked_by_round(records) if cells is None else cells
    return [_step(record, manifest, asked) for record in records]


def volumes_of(entry: JobEntry, records: Sequence[Record]) -> list[Volume]:
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


def _step(record: Record, manifest: Manifest | None, asked: Mapping[int, int]) -> Step:
    kind = str(record["kind"])
    message = _BY_KIND.get(kind, record.get("type"))
    known = {"slots": asked.get(int(record.get("round", 0)), 0), **record}
    direction = _LEFT if kind in LEFT else _CAME if kind in CAME else _HERE
    is_message = direction != _HERE and kind not in _REFUSED
    return Step(
        number=int(record["n"]),
        moment=int(record["time"]),
        direction=direction,
        what=_kind_name(str(message)) if is_message else _event_name(kind),
        contents=_contents(message, known, manifest) if is_message else _about(kind, record),
        place=_place(record, message),
        sha256=str(record.get("sha256", "")),
        bytes=int(record.get("bytes", 0)),
        job=str(record.get("job", "")),
        study=str(record.get("study", "")),
    )


def _about(kind: str, record: Record) -> str:
    if code := record.get("code"):
        return _optional(f"house.event.{kind}.contents", code=code)
    return _optional(f"house.event.{kind}.plain") or _optional(
        f"house.event.{kind}.contents", code=text("common.none")
    )


def _contents(message: Any, record: Record, manifest: Manifest | None) -> str:
    key = f"house.message.{message}.contents"
    if message == MessageType.CONTRIBUTION:
        key = f"house.message.contribution.{manifest.profile if manifest else _UNKNOWN}"
    if message == MessageType.ATTEST and record.get("published"):
        key = "house.message.attest.published"
    size = record.get(_SIZED.get(message, ""), 0)
    told = _optional(key, n=size, code=record.get("code") or text("common.none"))
    return f"{told} {text('house.message.attest.figures')}" if record.get("quality_sha256") else told


def _place(record: Mapping[str, Any], message: Any) -> str:
    if "round" not in record or message in _OUTSIDE_OF_ROUNDS:
        return ""
    again = int(record.get("attempt", 0))
    name = "house.job.round_again" if again else "house.job.round"
    return text(name, n=int(record["round"]) + 1, attempt=again + 1)


def _kind_name(kind: str) -> str:
    return _optional(f"house.message.{kind}.name") or kind.replace("_", " ")


def _event_name(kind: str) -> str:
    return _optional(f"house.event.{kind}.name") or kind.replace("_", " ")


def _optional(name: str, **places: object) -> str:
    return text(name, **places) if has_text(name) else ""
