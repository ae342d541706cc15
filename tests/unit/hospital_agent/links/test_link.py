"""Links: every message arrives whole and once, whatever the wire does; what is not the peer's is dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hospital_agent.links import link as link_module
from hospital_agent.links import outbox, pieces
from hospital_agent.links.frame_log import NoLog
from hospital_agent.links.link import Link
from shared.crypto.frames import FrameOpener, FrameSealer, Place, Refusal
from shared.errors import JobCode, JobFailure
from shared.ids import JobId
from shared.mpc.program import Spec
from shared.mpc.ring import Words
from tests.support.wires import FAULTS, NAMES, Member, Step, Wire, pair_of

A, B, _ = NAMES


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that messages of some hundred bytes have many frames and fill the window."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 64)
    monkeypatch.setattr(outbox, "WINDOW_BYTES", 600)
    monkeypatch.setattr(link_module, "_ACKNOWLEDGE_BYTES", 400)
    monkeypatch.setattr(link_module, "AHEAD_BYTES", 1500)


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def message(place: int, sizes: Sequence[int]) -> list[Words]:
    kinds = (np.uint8, np.uint16, np.uint32, np.uint64)
    return [
        (np.arange(size) * 251 + place).astype(kinds[(place + number) % 4])
        for number, size in enumerate(sizes)
    ]


def scripts(rounds: Sequence[tuple[list[int], list[int]]]) -> tuple[list[Step], list[Step]]:
    """Sizes that a sends and b sends in each round, as two scripts that fit."""
    first: list[Step] = []
    second: list[Step] = []
    for place, (from_a, from_b) in enumerate(rounds):
        a_words, b_words = message(2 * place, from_a), message(2 * place + 1, from_b)
        first.append((a_words, b_words))
        second.append((b_words, a_words))
    return first, second


SIZES = st.lists(st.sampled_from([0, 1, 7, 8, 63, 64, 65, 300]), max_size=3)
ROUNDS = st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=8)
KILLS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 1), st.integers(0, 5)), max_size=3)


def play(
    rounds: Sequence[tuple[list[int], list[int]]],
    faults: Sequence[str] = (),
    kills: Sequence[tuple[int, int, int]] = (),
) -> tuple[Wire, tuple[Member, Member]]:
    """Both scripts to their ends. kills: (step, member, frames that its log loses)."""
    clock, wire = Clock(), Wire(faults)
    first, second = scripts(rounds)
    members = Member(A, B, wire.ends[0], first, clock), Member(B, A, wire.ends[1], second, clock)
    for moment in range(2000):
        clock.seconds += 0.3
        for step, who, lost in kills:
            if step == moment:
                wire.cut()
                members[who].kill(lost)
        for member in members:
            member.step()
        if all(member.done and member.link.all_acknowledged for member in members) and moment > 60:
            return wire, members
    raise AssertionError("the two members did not come to an end")


@given(ROUNDS, st.lists(st.sampled_from(FAULTS), max_size=60))
@settings(deadline=None, max_examples=150)
def test_messages_arrive_whatever_the_wire_does(
    rounds: list[tuple[list[int], list[int]]], faults: list[str]
) -> None:
    play(rounds, faults)


@given(ROUNDS, st.lists(st.sampled_from(FAULTS), max_size=30), KILLS)
@settings(deadline=None, max_examples=150)
def test_a_killed_member_comes_back_from_its_log(
    rounds: list[tuple[list[int], list[int]]], faults: list[str], kills: list[tuple[int, int, int]]
) -> None:
    play(rounds, faults, [(step, who, 0) for step, who, _ in kills])


@given(ROUNDS, KILLS)
@settings(deadline=None, max_examples=150)
def test_a_lost_tail_of_a_log_is_sent_again(
    rounds: list[tuple[list[int], list[int]]], kills: list[tuple[int, int, int]]
) -> None:
    play(rounds, (), kills)


@given(ROUNDS, st.lists(st.sampled_from(FAULTS), max_size=30), KILLS)
@settings(deadline=None, max_examples=150)
def test_no_number_is_ever_sealed_into_two_contents(
    rounds: list[tuple[list[int], list[int]]], faults: list[str], kills: list[tuple[int, int, int]]
) -> None:
    wire, _ = play(rounds, faults, kills)
    header = len(FrameSealer(pair_of(A, B)).seal(Place(0, 0, 0), b"")) - 16 - 24
    seen: dict[bytes, bytes] = {}
    for frame in wire.carried:
        if frame[3:4] == b"d":
            assert seen.setdefault(frame[: header + 12], frame) == frame
        else:
            # A control frame's nonce is random and never comes twice.
            assert frame[: header + 12] not in seen
            seen[frame[: header + 12]] = frame


def test_a_peer_that_lost_its_log_makes_the_other_run_again() -> None:
    rounds = [([100], [100]) for _ in range(6)]
    _, members = play(rounds, (), [(55, 0, 1000)])
    assert members[1].repeats >= 1


def test_a_program_that_is_told_other_things_after_a_restart_seals_under_other_nonces() -> None:
    """A power cut takes the end of a log, and a peer that is asked again may send something else."""
    frames = []
    for answer in (b"one answer", b"another one"):
        wire = Wire()
        link = Link(pair_of(A, B), wire.ends[0], NoLog(), 0, Clock())
        other = Link(pair_of(B, A), wire.ends[1], NoLog(), 0, Clock())
        for each in (link, other):
            each.go_live()
        for each in (link, other, link):
            each.service()
        link.queue([np.frombuffer(answer, np.uint8)])
        link.push()
        frames.append(wire.carried[-1])
    opener = FrameOpener(pair_of(A, B))
    first, second = (opener.place(frame) for frame in frames)
    assert first is not None
    assert second is not None
    assert first.number == second.number == 0
    assert first.start != second.start


def one_link(wire: Wire) -> Link:
    """Link of a, live, to a b that the test plays by hand."""
    link = Link(pair_of(A, B), wire.ends[0], NoLog(), 0, Clock())
    link.go_live()
    return link


WORDS = np.arange(4, dtype=np.uint32)


def test_strange_frames_are_counted_and_dropped() -> None:
    wire = Wire()
    link = one_link(wire)
    link.expect([Spec.of(WORDS)])
    good = FrameSealer(pair_of(B, A)).seal(Place(0, 0, 0), WORDS.tobytes())
    strange = {
        Refusal.MALFORMED: b"hello",
        Refusal.OTHER_JOB: FrameSealer(pair_of(B, A, job=JobId("cd" * 16))).seal(Place(0, 0, 0), b"x"),
        Refusal.OTHER_MANIFEST: FrameSealer(pair_of(B, A, mh=bytes(32))).seal(Place(0, 0, 0), b"x"),
        Refusal.STRANGER: FrameSealer(pair_of(NAMES[2], A)).seal(Place(0, 0, 0), b"x"),
        Refusal.FORGED: good[:-1] + b"?",
        Refusal.OUT_OF_ORDER: FrameSealer(pair_of(B, A)).seal(Place(7, 0, 0), b"x"),
    }
    for frame in strange.values():
        wire.ends[0].arrived.append(bytes(frame))
    wire.ends[0].arrived.append(bytes(good))
    link.service()
    assert link.complete
    assert np.array_equal(link.take_message()[0], WORDS)
    wire.ends[0].arrived.append(bytes(good))
    link.service()
    assert link.refused == dict.fromkeys((*strange, Refusal.REPEATED), 1)


@pytest.mark.parametrize("early", [True, False], ids=["before it is asked for", "while it is waited for"])
@pytest.mark.parametrize(
    ("round_number", "content"),
    [(0, bytes(8)), (0, bytes(17)), (0, b""), (1, WORDS.tobytes())],
    ids=["short", "long", "empty", "other round"],
)
def test_a_sealed_message_of_another_shape_ends_the_job(
    early: bool, round_number: int, content: bytes
) -> None:
    wire = Wire()
    link = one_link(wire)
    wire.ends[0].arrived.append(bytes(FrameSealer(pair_of(B, A)).seal(Place(0, 0, round_number), content)))
    if early:
        link.service()
    with pytest.raises(JobFailure) as caught:  # noqa: PT012 - one of the two raises, by when the frame came
        link.expect([Spec.of(WORDS)])
        link.service()
    assert caught.value.code is JobCode.SHARE_INCONSISTENT
    assert "b sent" in str(caught.value)


def test_an_old_control_frame_moves_nothing() -> None:
    wire = Wire()
    peer = Link(pair_of(B, A), wire.ends[1], NoLog(), 0, Clock())
    peer.go_live()
    greeting = wire.carried[-1]
    link = one_link(wire)
    link.service()
    wire.ends[0].arrived.append(greeting)
    link.service()
    assert link.refused == {Refusal.REPEATED: 1}
    assert not link.recognises(greeting)


def test_a_way_that_nobody_reads_is_not_filled_for_ever() -> None:
    wire = Wire()
    link = one_link(wire)
    Link(pair_of(B, A), wire.ends[1], NoLog(), 0, Clock()).go_live()
    link.service()
    link.queue([np.zeros(100_000, np.uint8)])
    for _ in range(100):
        link.service()
    assert not link.sent
    assert sum(len(frame) for frame in wire.carried) < 2000


def test_a_slow_way_is_not_filled_with_repetitions() -> None:
    """Frames that take long are asked for now and then; only what is lost for good is sent again."""
    clock, wire = Clock(), Wire()
    sender = Link(pair_of(A, B), wire.ends[0], NoLog(), 0, clock)
    receiver = Link(pair_of(B, A), wire.ends[1], NoLog(), 0, clock)
    sender.go_live()
    receiver.go_live()
    for link in (sender, receiver, sender):
        link.service()
    words = np.arange(500, dtype=np.uint8)
    sender.queue([words])
    receiver.expect([Spec.of(words)])
    slow = deque[bytes]()
    while not receiver.complete:
        clock.seconds += 3.0
        sender.service()
        slow.extend(wire.ends[1].arrived)
        wire.ends[1].arrived.clear()
        if slow:
            wire.ends[1].arrived.append(slow.popleft())
        receiver.service()
        receiver.remind()
    data = [frame for frame in wire.carried if frame[3:4] == b"d"]
    assert len(data) == len(set(data)) == 8
    # The last frame is lost without a cut: the receiver gets it in the end.
    sender.queue([WORDS])
    receiver.take_message()
    receiver.expect([Spec.of(WORDS)])
    wire.faults.append("drop")
    for _ in range(20):
        clock.seconds += 3.0
        sender.service()
        receiver.service()
        receiver.remind()
    assert receiver.complete


@pytest.mark.parametrize("cut_end", [0, 1], ids=["the sender's end", "the receiver's end"])
def test_what_a_cut_took_is_sent_again_at_once(cut_end: int) -> None:
    clock, wire = Clock(), Wire()
    sender = Link(pair_of(A, B), wire.ends[0], NoLog(), 0, clock)
    receiver = Link(pair_of(B, A), wire.ends[1], NoLog(), 0, clock)
    sender.go_live()
    receiver.go_live()
    for link in (sender, receiver, sender):
        link.service()
    receiver.expect([Spec.of(WORDS)])
    for _ in range(3):
        sender.queue([WORDS])
        sender.push()
        wire.ends[1].arrived.clear()
        wire.ends[cut_end].cuts += 1
        for link in (receiver, sender, receiver, sender, receiver):
            link.service()
        assert receiver.complete
        receiver.take_message()
        receiver.expect([Spec.of(WORDS)])


@pytest.mark.parametrize("size", [0, 1])
def test_small_frames_that_nobody_asked_for_do_not_fill_the_memory(size: int) -> None:
    """A frame costs more than its content: without that, frames of no content were taken without end."""
    wire = Wire()
    link = Link(pair_of(A, B), wire.ends[0], NoLog(), 0, Clock())
    link.go_live()
    sealer = FrameSealer(pair_of(B, A))
    for number in range(500):
        wire.ends[1].send(sealer.seal(Place(number, 0, 0), bytes(size)))
    link.service()
    assert not link.reads
    assert len(wire.ends[0].arrived) > 400
