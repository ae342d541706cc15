"""A reliable way to and from one peer: numbered frames, acknowledged, sent again when asked for.

Rules that keep it sound:
- a frame's content depends on the job's keys and the program's course only, never on the network; each run of the
  program has nonces of its own (AES-GCM allows one content a nonce), since peers may tell a restarted one other things;
- a frame is kept until the peer has acknowledged it; a peer acknowledges what stands in its log;
- whoever finds a gap or a new connection says which number it expects, and gets everything from there;
- what does not open is counted and dropped: anybody on the way can make it. What opens and has another size or round
  than the program expects is the peer's fault: the job fails.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final

from hospital_agent.links.channel import Channel
from hospital_agent.links.frame_log import Frame, FrameRecord
from hospital_agent.links.outbox import WINDOW_BYTES, Outbox
from hospital_agent.links.pieces import Incoming
from shared.crypto.frames import Control, FrameOpener, FrameSealer, Pair, Place, Refusal, RefusedFrameError
from shared.errors import JobCode, JobFailure
from shared.mpc.program import Spec
from shared.mpc.ring import Words
from shared.rng import random_bytes

AHEAD_BYTES: Final = 2**25
"""Opened contents that the program has not asked for yet; beyond it, the peer has to wait."""
_FRAME_COST_BYTES: Final = 2**8
"""What a waiting frame takes besides its content, so that many small ones are bounded too."""
MOST_AHEAD_BYTES: Final = 2**31
"""So far ahead no program is: the peer sends what nobody asked for."""
_ACKNOWLEDGE_BYTES: Final = WINDOW_BYTES // 4
_ACKNOWLEDGE_FRAMES: Final = 256
_ASK_SECONDS: Final = (0.25, 15.0)
"""First and longest wait before a silent peer is asked again."""
_AGAIN_SECONDS: Final = 10.0
"""On a way that was not cut, a peer that asks for the same frame for less long is only slow: it is under way."""
_GAP_SECONDS: Final = 2.0
"""What is sent again because of a gap needs so long to arrive, before the same gap counts as another one."""
_NONCE_BYTES: Final = 12


class Link:
    """Frames to and from one peer. place: of the peer in the log. clock: monotonic seconds."""

    def __init__(
        self, pair: Pair, channel: Channel, log: FrameRecord, place: int, clock: Callable[[], float]
    ) -> None:
        self.peer = pair.receiver
        self.place = place
        self.channel = channel
        self.refused: Counter[Refusal] = Counter()
        self.wire_bytes = 0
        self.last_heard = clock()
        self.peer_done = False
        self._sealer, self._opener = FrameSealer(pair), FrameOpener(pair.reversed())
        self._log, self._clock = log, clock
        self._epoch, self._counter = log.starts, 0
        self._peer_control = (0, 0)
        self._cuts = channel.cuts
        self._patience = _ASK_SECONDS[0]
        self._asked_at = clock()
        self._wanted = self._gap = (-1, 0.0)
        self._outbox = Outbox(self.peer, self._sealer, channel)
        self._was_cut = False  # since the last frame that came
        self._expected = 0
        self._unacknowledged_frames = self._unacknowledged_bytes = 0
        self._begin()

    def _begin(self) -> None:
        """The state at the start of the program."""
        self._messages = self._replayed = self._taken = 0
        self._incoming: Incoming | None = None
        self._inbox: deque[tuple[int, bytearray]] = deque()
        self._inbox_bytes = 0
        self._done = False

    # --- the program's side -----------------------------------------------------------------------------------

    def queue(self, arrays: Sequence[Words]) -> None:
        """Begin to send a message; the arrays stay as they are until `sent`."""
        self._outbox.queue(arrays, self._taken)

    @property
    def sent(self) -> bool:
        """Whether all that was queued is sealed and on its way."""
        box = self._outbox
        return box.is_sealed and not (box.live and box.heard and self.channel.wants_to_write)

    def expect(self, specs: Sequence[Spec]) -> None:
        """Begin to receive a message. Raises: JobFailure: what came already is another message."""
        self._incoming = incoming = Incoming(specs)
        while self._inbox and not incoming.complete:
            round_number, content = self._inbox.popleft()
            self._inbox_bytes -= len(content) + _FRAME_COST_BYTES
            self._check(incoming, round_number, len(content))
            incoming.fill(content)

    @property
    def complete(self) -> bool:
        """Whether the expected message is there, or none is expected."""
        return self._incoming is None or self._incoming.complete

    def take_message(self) -> tuple[Words, ...]:
        """The arrays of the expected message, which is complete."""
        incoming, self._incoming = self._incoming, None
        if incoming is None:
            return ()
        if incoming.frames_in_all:
            self._taken += incoming.frames_in_all
            self._messages += 1
        return incoming.arrays

    @property
    def all_acknowledged(self) -> bool:
        """Whether the peer has everything."""
        return self._outbox.all_acknowledged

    # --- the channel's side -----------------------------------------------------------------------------------

    def go_live(self) -> None:
        """The log is used up: from here on the program is given what comes over the channel."""
        self._outbox.live = True
        self._expected = self._replayed
        self._cuts = self.channel.cuts
        self._greet()

    def rewind(self) -> None:
        """Back to the start of the program, to run again over the log.

        What the peer has said stays known, and what it sends meanwhile goes into the log, to be replayed in its turn.
        """
        self._outbox.live = False
        self._outbox.begin()
        self._begin()

    def service(self) -> bool:
        """Send and receive what can be without waiting; whether anything moved.

        Raises: JobFailure: the peer's message has another size or round than expected. FramesGoneError.
        """
        moved = False
        if self.channel.cuts != self._cuts:
            self._notice_cuts()
        if not self._outbox.is_idle:
            moved = self.push()
        while self.reads and (frame := self.channel.receive()) is not None:
            moved = True
            self.wire_bytes += len(frame)
            if self.channel.cuts != self._cuts:
                self._notice_cuts()
            self.take(frame)
            if self._incoming is not None and self._incoming.complete:
                break
        if self.channel.cuts != self._cuts:
            self._notice_cuts()
        if not self._outbox.is_idle:
            moved = self.push() or moved
        return moved

    @property
    def reads(self) -> bool:
        """Whether it takes what comes; not while too much waits for the program already."""
        # While something is to be sent, acknowledgements are needed, and they stand behind what the peer sent.
        return self._inbox_bytes < AHEAD_BYTES or not self._outbox.is_sealed

    def _notice_cuts(self) -> None:
        self._cuts = self.channel.cuts
        self._outbox.heard, self._was_cut = False, True
        self._greet()

    def push(self) -> bool:
        """Seal and send what the window allows; whether anything moved."""
        return self._outbox.push()

    # --- what comes -------------------------------------------------------------------------------------------

    def recognises(self, frame: Frame) -> bool:
        """Whether this is a fresh control frame of the peer: proof that a new connection is the peer's."""
        try:
            if self._opener.place(frame) is not None:
                return False
            control = self._opener.open_control(frame)
        except RefusedFrameError as error:
            self.refused[error.reason] += 1
            return False
        return (control.epoch, control.counter) > self._peer_control

    def take(self, frame: Frame) -> None:
        """Deal with a frame that the channel brought."""
        try:
            place = self._opener.place(frame)
            if place is None:
                self._obey(self._opener.open_control(frame))
            elif place.number == self._expected:
                if self._outbox.live:
                    self._open(frame, place)
                    self._replayed += 1
                else:
                    self._opener.open(frame, place)
                self._log.append(self.place, frame)
                self._note_taken(place, len(frame))
            else:
                self._misplaced(place)
        except RefusedFrameError as error:
            self.refused[error.reason] += 1

    def take_logged(self, frame: Frame) -> bool:
        """Deal with a frame of the log; False: it is damaged."""
        try:
            place = self._opener.place(frame)
            if place is None or place.number != self._replayed:
                return False
            self._open(frame, place)
        except RefusedFrameError:
            return False
        self._replayed += 1
        return True

    def _open(self, frame: Frame, place: Place) -> None:
        size = self._opener.content_bytes(frame)
        incoming = self._incoming
        if incoming is None or incoming.complete:
            self._inbox.append((place.round, self._opener.open(frame, place)))
            self._inbox_bytes += size + _FRAME_COST_BYTES
            if self._inbox_bytes > MOST_AHEAD_BYTES:
                raise JobFailure(
                    JobCode.SHARE_INCONSISTENT, f"{self.peer} sends far more than the program asks for"
                )
            return
        target = incoming.next_target
        if target is not None and len(target) == size and place.round == self._messages:
            self._opener.open_into(frame, place, target)
            incoming.pass_on()
            return
        content = self._opener.open(frame, place)
        self._check(incoming, place.round, size)
        incoming.fill(content)

    def _check(self, incoming: Incoming, round_number: int, size: int) -> None:
        if round_number != self._messages or size != incoming.next_bytes:
            raise JobFailure(
                JobCode.SHARE_INCONSISTENT,
                f"{self.peer} sent a message of another shape or round than the program has here: "
                f"message {self._messages} was expected with {incoming.next_bytes} bytes in its next frame, "
                f"message {round_number} came with {size}; the job ends here",
            )

    def _note_taken(self, place: Place, size: int) -> None:
        self._expected += 1
        self._was_cut = False
        self.last_heard, self._patience = self._clock(), _ASK_SECONDS[0]
        self._outbox.acknowledge(place.acknowledgement)
        self._unacknowledged_frames += 1
        self._unacknowledged_bytes += size
        if (
            self._unacknowledged_bytes >= _ACKNOWLEDGE_BYTES
            or self._unacknowledged_frames >= _ACKNOWLEDGE_FRAMES
        ):
            self.say()

    def _misplaced(self, place: Place) -> None:
        if place.number < self._expected:
            self.refused[Refusal.REPEATED] += 1
            return
        self.refused[Refusal.OUT_OF_ORDER] += 1
        if self._clock() - self._asked_at >= _ASK_SECONDS[0]:
            self.say(ask=True, gap=True)

    # --- outside the order ------------------------------------------------------------------------------------

    def end(self) -> None:
        """The program has sent and received everything; from here on the peer is told so."""
        self._done = True

    def say(self, *, ask: bool = False, answer: bool = False, gap: bool = False) -> None:
        """Tell the peer which frame is expected next; ask: and to send from there; answer: and to tell the same."""
        self._log.flush()
        self._counter += 1
        self._unacknowledged_frames = self._unacknowledged_bytes = 0
        if ask:
            self._asked_at = self._clock()
        cut = ask and self._was_cut
        control = Control(self._epoch, self._counter, self._expected, ask, answer, self._done, gap, cut)
        self.channel.send(self._sealer.seal_control(control, random_bytes(_NONCE_BYTES)))

    def remind(self) -> None:
        """Called now and then while the program waits for this peer: ask again, less and less often."""
        now = self._clock()
        if now - max(self._asked_at, self.last_heard) >= self._patience:
            self._patience = min(2 * self._patience, _ASK_SECONDS[1])
            self._greet()

    def _greet(self) -> None:
        self.say(ask=True, answer=True)

    def _obey(self, control: Control) -> None:
        order = (control.epoch, control.counter)
        if order <= self._peer_control:
            raise RefusedFrameError(Refusal.REPEATED)
        is_new_start = control.epoch > self._peer_control[0]
        self._peer_control = order
        self.last_heard = self._clock()
        self.peer_done = control.done
        if is_new_start:
            self._outbox.start_again(control.expected)
        self._outbox.acknowledge(control.expected)
        was_heard, self._outbox.heard = self._outbox.heard, True
        if control.ask and (is_new_start or control.cut or not was_heard or self._is_lost(control)):
            self._outbox.send_again_from(control.expected)
        if control.answer:
            self.say(ask=True)

    def _is_lost(self, control: Control) -> bool:
        """Whether the frame asked for is lost on a way that was not cut, and not merely slow."""
        number, now = control.expected, self._clock()
        if control.gap:
            again = self._gap[0] != number or now - self._gap[1] >= _GAP_SECONDS
            self._gap = (number, now) if again else self._gap
            return again
        if number >= self._outbox.sent_up_to:
            return False
        if self._wanted[0] != number:
            self._wanted = (number, now)
        if now - self._wanted[1] < _AGAIN_SECONDS:
            return False
        self._wanted = (number, now)
        return True
