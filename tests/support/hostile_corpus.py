"""Messages as an attacker would write them, drawn from valid ones: by bytes, by structure, and by what fields mean.

Every draw is of one class by name, so that counts can be stated a class, and follows from the seed alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

Document = dict[str, Any]
Place = tuple[str | int, ...]

OPTIONAL: Final = frozenset({"tree", "prompts", "records", "direct", "forwarded", "self_sums"})
"""Fields that may be left out or null in some message; leaving them out is no fault."""
HUGE: Final = (2**31, 2**32, 2**53, 2**63, 2**64, 10**30, 10**400, -1, -(2**63))
STRANGE_TEXTS: Final = (
    "",
    "\u0000",
    "a\u0000b",
    "\u202egnp.exe",
    "\ufeff",
    "../../etc/passwd",
    "%s%n%x",
    "' OR 1=1 --",
    "${jndi:ldap://x}",
    "ﬀ",
    "é" * 3000,
    "A" * 70_000,
    "\U0010ffff",
)


def canonical(value: object) -> bytes:
    """The canonical form of what has no floats in it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def places(value: object, place: Place = ()) -> Iterator[Place]:
    """Every place inside a document, the document itself left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inside:
        yield (*place, name)
        yield from places(part, (*place, name))


def at(value: Any, place: Place) -> Any:
    """What stands there."""
    for name in place:
        value = value[name]
    return value


def put(value: Any, place: Place, new: object) -> None:
    """Replace what stands there."""
    at(value, place[:-1])[place[-1]] = new


# --- bytes: whatever comes of these was signed by nobody ---------------------------------------------------------


def _truncated(choose: random.Random, raw: bytes) -> bytes:
    return raw[: choose.randrange(len(raw))]


def _bit_flipped(choose: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for place in {choose.randrange(len(raw)) for _ in range(choose.choice((1, 1, 2, 8)))}:
        changed[place] ^= 1 << choose.randrange(8)
    return bytes(changed)


def _spliced(choose: random.Random, raw: bytes) -> bytes:
    place = choose.randrange(len(raw))
    piece = choose.choice(
        (b'"', b"{", b"]", b"\\u0000", b"\0", b",1", b"-", b"\xff", b"\r\n", raw[:40], b"//", b"/*")
    )
    return raw[:place] + piece + raw[place + choose.choice((0, 0, 1, 7)) :]


def _key_twice(choose: random.Random, raw: bytes) -> bytes:
    keys = [b'"envelope":', b'"body":', b'"from":', b'"job":', b'"seq":', b'"signature":']
    key = choose.choice([one for one in keys if one in raw] or [b"{"])
    return raw.replace(key, key + choose.choice((b"1,", b"null,", b"{},", b'"x",')) + key, 1)


def _other_encoding(choose: random.Random, raw: bytes) -> bytes:
    encoding = choose.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037", "utf-8-sig"))
    return raw.decode().encode(encoding, "replace")


def _surrogate(choose: random.Random, raw: bytes) -> bytes:
    half = choose.choice(
        (b"\\ud800", b"\\udfff", b"\\udc00\\ud800", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80")
    )
    place = choose.choice([place for place in range(len(raw)) if raw[place : place + 1] == b'"'])
    return raw[: place + 1] + half + raw[place + 1 :]


def _no_number(choose: random.Random, raw: bytes) -> bytes:
    new = choose.choice(
        (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"0x1", b"01", b"1.0", b"9" * 5000)
    )
    digits = [
        place
        for place in range(1, len(raw) - 1)
        if raw[place - 1 : place] == b":" and raw[place : place + 1].isdigit()
    ]
    place = choose.choice(digits or [0])
    end = place
    while end < len(raw) and raw[end : end + 1].isdigit():
        end += 1
    return raw[:place] + new + raw[end:]


def _deep(choose: random.Random, raw: bytes) -> bytes:
    depth, (opening, closing) = (
        choose.choice((9, 20, 500, 20_000)),
        choose.choice(((b"[", b"]"), (b'{"a":', b"}"))),
    )
    return b'{"envelope":' + opening * depth + choose.choice((b"1" + closing * depth + b"}", b""))


def _other_form(choose: random.Random, raw: bytes) -> bytes:
    document = json.loads(raw)
    match choose.randrange(4):
        case 0:
            return json.dumps(document, indent=1).encode()
        case 1:
            return json.dumps(document, sort_keys=True).encode()
        case 2:
            return b" " + raw
        case _:
            return raw + choose.choice((b"\n", b" ", b"{}", b"\0", raw))


def _base64_variant(choose: random.Random, raw: bytes) -> bytes:
    text = raw.decode()
    match choose.randrange(4):
        case 0:
            return text.replace('"]', '=="]', 1).replace('"}', '="}', 1).encode()
        case 1:
            return text.replace("_", "/").replace("-", "+").encode() + b" "
        case 2:
            return text.replace('["', '["\\n', 1).replace('":"', '":" ', 1).encode()
        case _:
            return text.replace('":"', '":"\u00e9', 1).encode()


def _wrong_signature(choose: random.Random, raw: bytes) -> bytes:
    document = json.loads(raw)
    size = choose.choice((128, 128, 128, 0, 2, 127, 130, 64_000))
    document["signature"] = "".join(choose.choices("0123456789abcdef", k=size))
    return canonical(document)


def _noise(choose: random.Random, raw: bytes) -> bytes:
    return choose.randbytes(choose.choice((0, 1, 16, 1000, 100_000)))


UNSIGNED: Mapping[str, Callable[[random.Random, bytes], bytes]] = {
    "truncated": _truncated,
    "bit flipped": _bit_flipped,
    "spliced": _spliced,
    "a key twice": _key_twice,
    "another encoding": _other_encoding,
    "surrogates and bad UTF-8": _surrogate,
    "no number": _no_number,
    "deep nesting": _deep,
    "another form": _other_form,
    "base64 variants": _base64_variant,
    "wrong signature": _wrong_signature,
    "noise": _noise,
}


# --- structure: the body is wrong, the signature is right -------------------------------------------------------


def _somewhere(
    choose: random.Random, document: Document, fits: Callable[[Any], bool] = lambda _part: True
) -> Place:
    found = [place for place in places(document) if fits(at(document, place))]
    return choose.choice(found or list(places(document)))


def _wrong_type(choose: random.Random, body: Document) -> None:
    place = _somewhere(choose, body, lambda part: part is not None)
    old = at(body, place)
    others = [one for one in (17, "text", True, [], {}, ["x"], {"x": 1}) if type(one) is not type(old)]
    put(body, place, choose.choice(others))


def _missing(choose: random.Random, body: Document) -> None:
    found = [place for place in places(body) if isinstance(place[-1], str) and place[-1] not in OPTIONAL]
    place = choose.choice(found)
    del at(body, place[:-1])[place[-1]]


def _extra(choose: random.Random, body: Document) -> None:
    inside = [()] + [place for place in places(body) if isinstance(at(body, place), dict)]
    name = choose.choice(("zzz", "__proto__", "v", "", "\u0000", "model_config", "A" * 5000))
    at(body, choose.choice(inside))[name] = choose.choice((1, "x", None, [], {}))


def _huge(choose: random.Random, body: Document) -> None:
    put(body, _somewhere(choose, body, lambda part: isinstance(part, str | int)), choose.choice(HUGE))


def _strange_text(choose: random.Random, body: Document) -> None:
    put(body, _somewhere(choose, body, lambda part: isinstance(part, str)), choose.choice(STRANGE_TEXTS))


def _nested(choose: random.Random, body: Document) -> None:
    deep: Any = 1
    for _ in range(choose.choice((6, 9, 60, 300))):
        deep = choose.choice(([deep], {"a": deep}))
    put(body, _somewhere(choose, body), deep)


def _many(choose: random.Random, body: Document) -> None:
    place = _somewhere(choose, body, lambda part: isinstance(part, list))
    old = at(body, place)
    put(body, place, (old * 5000)[:20_000] if isinstance(old, list) and old else [0] * 20_000)


STRUCTURE: Mapping[str, Callable[[random.Random, Document], None]] = {
    "wrong type": _wrong_type,
    "missing field": _missing,
    "extra field": _extra,
    "huge number": _huge,
    "strange text": _strange_text,
    "nested too deep": _nested,
    "too many items": _many,
}


def headers(choose: random.Random, envelope: Document, others: Sequence[str]) -> tuple[str, Document]:
    """A header that does not fit the message: class and fields to change, None to leave one out. others: other jobs.

    No number of a message is ahead of its sender's chain: that is how a hospital tells a cloud that it lost a message.
    """
    drawn: Mapping[str, Callable[[], Document]] = {
        "wrong job": lambda: {"job": choose.choice((*others, "0" * 32, "f" * 32))},
        "wrong manifest": lambda: {"mh": f"{choose.getrandbits(256):064x}"},
        "wrong round": lambda: {"round": envelope["round"] + choose.choice((1, 2, 2**31, 2**32 - 1))},
        "wrong attempt": lambda: {"attempt": envelope["attempt"] + choose.choice((1, 9, 2**32 - 1))},
        "wrong seq": lambda: {"seq": choose.choice((0, max(0, envelope["seq"] - 1)))},
        "wrong prev": lambda: {"prev": f"{choose.getrandbits(256):064x}"},
        "wrong receiver": lambda: {"to": choose.choice(("all", "h2", "h1", "nobody"))},
        "wrong version": lambda: {"v": choose.choice((0, 2, -1, 2**70, "1"))},
        "another spelling": lambda: choose.choice(
            ({"v": None}, {"v": True}, {"from": None, "sender": envelope["from"]})
        ),
        "wrong kind": lambda: {"type": choose.choice(("offer", "", "JOB_OFFER", "receipt ", "\u0000"))},
    }
    name = choose.choice(list(drawn))
    return name, drawn[name]()


def ciphertexts(n: int, p: int, q: int, length: int) -> Mapping[str, bytes]:
    """What is no ciphertext under n, by class. Args: p, q: its factors. length: of a ciphertext, bytes."""

    def full(value: int) -> bytes:
        return value.to_bytes(length, "big")

    return {
        "0": full(0),
        "n": full(n),
        "multiple of p": full(p * 0xABCDEF),
        "multiple of q": full(q**3),
        "n squared": full(n * n),
        "n squared and more": full(n * n + 1),
        "all ones": b"\xff" * length,
        "a byte short": b"\x01" * (length - 1),
        "a byte long": b"\x00" + full(1),
        "a byte": b"\x01",
        "nothing": b"",
        "very long": b"\x01" * 1024,
    }
