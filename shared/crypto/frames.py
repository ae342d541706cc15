"""Sealed frames between two members of a job, and the keys that two members have in common (protocol section 7).

A frame is `prefix || start || number || acknowledgement || round || ciphertext || tag`: AES-256-GCM under a key of the
ordered pair, start and number as nonce, everything before the ciphertext as associated data. The prefix names job,
manifest, sender and receiver, so that what does not belong here is known without a key. Numbers begin at 0. The start
is random and drawn anew with each run of the sender's program: what it says under a number may depend on what others
tell it again, after a power cut took the end of its log, and one of them may tell it something else. A control frame
(acknowledging, asking again) is sealed under a key of its own with a random nonce, because it has no place in that
order. No I/O, no state: links keep the numbers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.crypto.derivation import hk, lp
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId, JobId

TAG_BYTES: Final = 16
PRSS_KEY_BYTES: Final = 16
_VERSION: Final = b"PF1"
_DATA, _CONTROL = b"d", b"c"
START_BYTES: Final = 4
_PLACE: Final = struct.Struct(">QQI")
_NONCE_BYTES: Final = 12
_JOB: Final = slice(4, 20)
_MANIFEST: Final = slice(20, 52)
_CONTROL_CONTENT: Final = struct.Struct(">IIQB")

Buffer = bytes | bytearray | memoryview


class Refusal(StrEnum):
    """Why a frame was not taken. None of them ends a job: anybody on the way can make such a frame."""

    MALFORMED = "malformed"
    OTHER_JOB = "other_job"
    OTHER_MANIFEST = "other_manifest"
    STRANGER = "stranger"
    FORGED = "forged"
    REPEATED = "repeated"
    OUT_OF_ORDER = "out_of_order"


class RefusedFrameError(PeerError):
    """A frame that is dropped; `reason` says why, the text never what it holds."""

    def __init__(self, reason: Refusal) -> None:
        code = ErrorCode.BAD_SIGNATURE if reason is Refusal.FORGED else ErrorCode.MALFORMED
        super().__init__(code, f"a frame was refused: {reason.value}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a frame stands. number: of the ordered pair. acknowledgement: all frames below it were taken by the
    sender's program. round: of the sender's message on this pair, counted from 0. start: of the sender's run."""

    number: int
    acknowledgement: int
    round: int
    start: bytes = bytes(START_BYTES)


@dataclass(frozen=True, slots=True)
class Control:
    """What a link says outside the order of frames. (epoch, counter) grows with every control frame of a sender.

    epoch: the sender's starts so far. expected: the number of the next frame it has not. ask: send from there, again
    if need be. gap: a later frame has come, so that one is lost. cut: the way was interrupted, what was under way is
    lost. answer: say what you expect. done: nothing more will be sent or expected.
    """

    epoch: int
    counter: int
    expected: int
    ask: bool = False
    answer: bool = False
    done: bool = False
    gap: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """An ordered pair of members of one job. agreement: X25519 of their job keys, 32 bytes. mh: manifest hash, raw."""

    job: JobId
    mh: bytes
    sender: AgentId
    receiver: AgentId
    agreement: bytes = field(repr=False)

    def reversed(self) -> Pair:
        """The other direction."""
        return Pair(self.job, self.mh, self.receiver, self.sender, self.agreement)

    def _prefix(self, kind: bytes) -> bytes:
        names = lp(self.sender) + lp(self.receiver)
        return _VERSION + kind + bytes.fromhex(self.job) + self.mh + names

    def _cipher(self, label: bytes) -> AESGCM:
        return AESGCM(hk(self.agreement, label + lp(self.sender) + lp(self.receiver), mh=self.mh))


class FrameSealer:
    """Seals what goes from the pair's sender to its receiver."""

    __slots__ = ("_cipher", "_control", "_control_prefix", "_prefix")

    def __init__(self, pair: Pair) -> None:
        self._prefix, self._control_prefix = pair._prefix(_DATA), pair._prefix(_CONTROL)
        self._cipher, self._control = pair._cipher(b"relay"), pair._cipher(b"relay control")

    def seal(self, place: Place, content: Buffer) -> bytearray:
        """One frame. The same start and number are never given two contents: they are the nonce."""
        header = self._prefix + place.start + _PLACE.pack(place.number, place.acknowledgement, place.round)
        frame = bytearray(len(header) + len(content) + TAG_BYTES)
        frame[: len(header)] = header
        self._cipher.encrypt_into(_nonce(place), content, header, memoryview(frame)[len(header) :])
        return frame

    def seal_control(self, control: Control, nonce: bytes) -> bytes:
        """A control frame. nonce: 12 random bytes."""
        said = (control.ask, control.answer, control.done, control.gap, control.cut)
        flags = sum(is_said << place for place, is_said in enumerate(said))
        content = _CONTROL_CONTENT.pack(control.epoch, control.counter, control.expected, flags)
        header = self._control_prefix + nonce
        return header + self._control.encrypt(nonce, content, header)


class FrameOpener:
    """Opens what came from the pair's sender."""

    __slots__ = ("_cipher", "_control", "_control_prefix", "_prefix", "header_bytes")

    def __init__(self, pair: Pair) -> None:
        self._prefix, self._control_prefix = pair._prefix(_DATA), pair._prefix(_CONTROL)
        self._cipher, self._control = pair._cipher(b"relay"), pair._cipher(b"relay control")
        self.header_bytes = len(self._prefix) + START_BYTES + _PLACE.size

    def place(self, frame: Buffer) -> Place | None:
        """What a data frame claims to be, before its tag is checked; None: a control frame.

        Raises: RefusedFrameError: malformed, or of another job, manifest or pair.
        """
        head = bytes(frame[: self.header_bytes])
        if head.startswith(self._prefix) and len(frame) >= self.header_bytes + TAG_BYTES:
            end = len(self._prefix) + START_BYTES
            number, acknowledgement, round_number = _PLACE.unpack_from(head, end)
            return Place(number, acknowledgement, round_number, head[len(self._prefix) : end])
        if head.startswith(self._control_prefix):
            return None
        raise RefusedFrameError(self._why_not(head))

    def content_bytes(self, frame: Buffer) -> int:
        """Bytes of the content of a data frame."""
        return len(frame) - self.header_bytes - TAG_BYTES

    def open_into(self, frame: Buffer, place: Place, target: Buffer) -> None:
        """Write the content into `target`, which has its length. Raises: RefusedFrameError: forged."""
        view = memoryview(frame)
        header, sealed = view[: self.header_bytes], view[self.header_bytes :]
        try:
            self._cipher.decrypt_into(_nonce(place), sealed, header, target)
        except InvalidTag:
            raise RefusedFrameError(Refusal.FORGED) from None

    def open(self, frame: Buffer, place: Place) -> bytearray:
        """The content. Raises: RefusedFrameError: forged."""
        content = bytearray(self.content_bytes(frame))
        self.open_into(frame, place, content)
        return content

    def open_control(self, frame: Buffer) -> Control:
        """What a control frame says. Raises: RefusedFrameError: malformed, forged."""
        start = len(self._control_prefix)
        end = start + _NONCE_BYTES
        raw = bytes(frame)
        if len(raw) != end + _CONTROL_CONTENT.size + TAG_BYTES:
            raise RefusedFrameError(Refusal.MALFORMED)
        try:
            content = self._control.decrypt(raw[start:end], raw[end:], raw[:end])
        except InvalidTag:
            raise RefusedFrameError(Refusal.FORGED) from None
        epoch, counter, expected, flags = _CONTROL_CONTENT.unpack(content)
        return Control(epoch, counter, expected, *(bool(flags >> place & 1) for place in range(5)))

    def _why_not(self, head: bytes) -> Refusal:
        if len(head) < _MANIFEST.stop or head[:3] != _VERSION or head[3:4] not in (_DATA, _CONTROL):
            return Refusal.MALFORMED
        if head[_JOB] != self._prefix[_JOB]:
            return Refusal.OTHER_JOB
        if head[_MANIFEST] != self._prefix[_MANIFEST]:
            return Refusal.OTHER_MANIFEST
        return Refusal.MALFORMED if head.startswith(self._prefix) else Refusal.STRANGER


def prss_key(agreement: bytes, one: AgentId, other: AgentId, *, mh: bytes) -> bytes:
    """The key of the stream that two compute parties draw from together, 16 bytes; the same in either order."""
    lower, higher = sorted((one, other))
    return hk(agreement, b"prss" + lp(lower) + lp(higher), mh=mh)[:PRSS_KEY_BYTES]


def _nonce(place: Place) -> bytes:
    return place.start + place.number.to_bytes(8, "big")
