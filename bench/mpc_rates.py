"""What this machine takes for the parts of `bench.mpc_work`, measured in the same run: `measure_rates`.

CPU seconds on one core, the best of some repeats, on arrays of the size that a training handles at a time, so that
caches count as they do there.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Thread
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.mpc_work import Work
from bench.parties import run_three
from shared.mpc.prss import KEY_BYTES, Stream
from shared.mpc.random_permutation import draw_permutation
from shared.rng import random_bytes

_REPEATS: Final = 5
_LEAST_ELEMENTS: Final = 10**6
"""A repeat handles at least so many, in as many arrays as it takes."""
_MESSAGE_BYTES: Final = 2**20
_PIECE_BYTES: Final = 2**15
_LARGE_BYTES: Final = 31 * 2**20
_MESSAGES: Final = 64
_STRETCHES, _ROUNDS = 40, 50


@dataclass(frozen=True, slots=True)
class Rates:
    """CPU seconds for a byte sent, drawn, passed over, summed up; for an element permuted, moved; seconds of a round.

    sent: TCP over loopback, both ends, and one encryption and decryption. round_seconds: by the clock, of the direct
    transport with three processes and eight bytes a message.
    """

    elements: int
    sent: float
    drawn: float
    passed: float
    summed: float
    permuted: float
    moved: float
    round_seconds: float

    def cpu_seconds(self, work: Work) -> float:
        """Of all three parties together, if nothing but this work cost anything."""
        return sum(self.parts(work).values())

    def parts(self, work: Work) -> dict[str, float]:
        """The same, by kind of work."""
        return {
            "transport": self.sent * work.sent,
            "key streams": self.drawn * work.drawn,
            "permutations": self.permuted * work.permuted,
            "moves": self.moved * work.moved,
            "running sums": self.summed * work.summed,
            "passes": self.passed * work.passed,
        }

    def wall_seconds(self, work: Work, rounds: int) -> float:
        """By the clock, if the three parties shared the cores without a gap, and then waited for each round."""
        return self.cpu_seconds(work) / min(3, cores()) + rounds * self.round_seconds


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=16)
def measure_rates(elements: int) -> Rates:
    """Rates for arrays of so many elements."""
    _keep_pages()
    times = max(1, _LEAST_ELEMENTS // elements)
    stream = Stream(random_bytes(KEY_BYTES))
    x = stream.words(elements, np.uint32)
    y = stream.words(elements, np.uint32)
    target = np.empty_like(x)
    order = np.random.default_rng(0).permutation(elements)
    size = x.nbytes * times

    def drawing() -> None:
        stream.words(elements, np.uint32)

    return Rates(
        elements=elements,
        sent=_transport() + _sealing(),
        drawn=_cpu(drawing, times) / size,
        passed=_cpu(lambda: np.add(x, y, out=target), times) / size,
        summed=_cpu(lambda: np.cumsum(x, dtype=np.uint32, out=target), times) / size,
        permuted=_cpu(lambda: draw_permutation(stream, elements), times) / (elements * times),
        moved=_cpu(lambda: np.take(x, order), times) / (elements * times),
        round_seconds=_round_seconds(),
    )


def _keep_pages() -> None:
    """Free a large block: the C library then keeps the pages of smaller ones, and no rate pays for fresh ones."""
    bytearray(_LARGE_BYTES)


def _cpu(work: Callable[[], object], times: int) -> float:
    """Least CPU seconds of `times` calls."""
    spent = []
    for _ in range(_REPEATS):
        begun = time.process_time()
        for _ in range(times):
            work()
        spent.append(time.process_time() - begun)
    return min(spent)


@lru_cache(maxsize=1)
def _transport() -> float:
    """CPU seconds a byte, of sender and receiver."""
    message = bytes(_MESSAGE_BYTES)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    target = memoryview(bytearray(_MESSAGE_BYTES))

    def send_all() -> None:
        for _ in range(_MESSAGES):
            sender.sendall(message)

    def carry() -> None:
        thread = Thread(target=send_all)
        thread.start()
        left = _MESSAGES * _MESSAGE_BYTES
        while left:
            left -= receiver.recv_into(target)
        thread.join()

    with sender, receiver:
        return _cpu(carry, 1) / (_MESSAGES * _MESSAGE_BYTES)


@lru_cache(maxsize=1)
def _sealing() -> float:
    """CPU seconds a byte to encrypt and to decrypt once; in pieces for which no fresh pages are asked each time."""
    cipher, nonce, piece = AESGCM(random_bytes(32)), bytes(12), bytes(_PIECE_BYTES)
    times = _MESSAGE_BYTES // _PIECE_BYTES
    spent = _cpu(lambda: cipher.decrypt(nonce, cipher.encrypt(nonce, piece, None), None), 16 * times)
    return spent / (16 * _MESSAGE_BYTES)


@lru_cache(maxsize=1)
def _round_seconds() -> float:
    arguments = {"stretches": _STRETCHES, "rounds": _ROUNDS}
    word = np.zeros(1, np.uint64)
    results = run_three("bench.mpc_programs:quickest_rounds", arguments, shares={"x": word})
    return float(max(result.value for result in results))
