"""The scanner of the leak tests finds a key and a count in every form, and does not take chance for one."""

from __future__ import annotations

import base64
import ctypes
import gzip
import os
import sys

import pytest

from tests.support.leaks import Scanner, count_patterns, everything_in, integer_patterns, key_patterns
from tests.support.memory import PythonInts

KEY = 0xB7E1_5162_8AED_2A6A_BF71_5880_9CF4_F3C7_62E7_160F_38B4_DA56_A784_D904_5190_CFEF
BIG = KEY.to_bytes(32, "big")
CELLS = (734_917, 128_573)

KEY_FORMS = {
    "big-endian": BIG,
    "little-endian": BIG[::-1],
    "decimal": str(KEY).encode(),
    "hexadecimal": f"{KEY:x}".encode(),
    "HEXADECIMAL": f"{KEY:X}".encode(),
    "half of it": BIG[:16],
    "base64": base64.b64encode(b"x" + BIG),
    "base64url": base64.urlsafe_b64encode(b"xy" + BIG),
    "base64url in gzip": gzip.compress(b'{"n":"' + base64.urlsafe_b64encode(b"xyz" + BIG) + b'"}'),
    "gzip in base64url": base64.urlsafe_b64encode(gzip.compress(f'{{"n":"{KEY:x}"}}'.encode())),
    "CPython": ctypes.string_at(id(KEY), KEY.__sizeof__()),
}
COUNT_FORMS = {
    "in a list": b"[1,734917,3]",
    "as text": b'"734917"',
    "in a log": b"count=734917 ",
    "as a float": b"[734917.0]",
    "hexadecimal": b"0xb36c5",
    "little-endian words": CELLS[0].to_bytes(8, "little") + CELLS[1].to_bytes(8, "little"),
    "big-endian words": CELLS[0].to_bytes(8, "big") + CELLS[1].to_bytes(8, "big"),
    "slots, little-endian": (CELLS[0] + (CELLS[1] << 48)).to_bytes(256, "little"),
    "slots, big-endian": (CELLS[0] + (CELLS[1] << 48)).to_bytes(256, "big"),
    "Python integer": ctypes.string_at(id(CELLS[0]), sys.getsizeof(CELLS[0])),
}
CHANCE = {
    "in a hash": b"a734917f",
    "in a longer number": b"1734917",
    "digits of a fraction": b"0.734917",
    "one word": CELLS[0].to_bytes(8, "little"),
    "CPython digits of something": CELLS[0].to_bytes(4, "little"),
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("form", KEY_FORMS)
def test_key_is_found(form: str) -> None:
    scanner, noise = Scanner(key_patterns("key", KEY, 32)), os.urandom(2**14)
    text = noise + b'"' + KEY_FORMS[form] + b'"' + noise
    assert {secret for secret, _ in scanner.find(everything_in([text]))} == {"key"}
    assert scanner.find(noise) == set()


@pytest.mark.parametrize("form", COUNT_FORMS)
def test_count_is_found(form: str) -> None:
    integers = integer_patterns([("counts: 734917", CELLS[0])], PythonInts.of(os.getpid()))
    scanner, noise = Scanner([*count_patterns("counts", CELLS), *integers]), os.urandom(2**14)
    assert scanner.find(noise + b"\0" + COUNT_FORMS[form] + b"\0" + noise)


@pytest.mark.parametrize("form", CHANCE)
def test_chance_is_no_count(form: str) -> None:
    integers = integer_patterns([("counts: 734917", CELLS[0])], PythonInts.of(os.getpid()))
    scanner = Scanner([*count_patterns("counts", CELLS), *integers])
    assert scanner.find(bytes(16) + CHANCE[form] + bytes(16)) == set()
