"""A sealed partial decryption opens for its receivers in its round, and for nobody and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.crypto.agreement import generate_private, public_of
from shared.crypto.sealed_partials import Place, SealedPartial, open_partial, seal_partial
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId

H1, H2, H3 = AgentId("h1"), AgentId("h2"), AgentId("h3")
PRIVATE = {name: generate_private() for name in (H1, H2, H3)}
PUBLIC = {name: public_of(key) for name, key in PRIVATE.items()}
PLACES = {name: Place(b"m" * 32, b"ctx", key) for name, key in PRIVATE.items()}
CONTENT = bytes(range(256)) * 5


def sealed() -> SealedPartial:
    return seal_partial(PLACES[H1], H1, CONTENT, {H2: PUBLIC[H2], H3: PUBLIC[H3]})


def opened(box: SealedPartial, by: AgentId, place: Place | None = None, sender: AgentId = H1) -> bytes:
    return open_partial(place or PLACES[by], by, sender, PUBLIC[sender], box.content, box.keys[by])


def test_every_receiver_opens_it() -> None:
    box = sealed()
    assert opened(box, H2) == opened(box, H3) == CONTENT
    assert CONTENT[:32] not in box.content
    assert sealed().content != box.content


def test_it_opens_nowhere_else() -> None:
    box = sealed()
    flipped = replace(box, content=bytes([box.content[0] ^ 1]) + box.content[1:])
    exchanged = replace(box, keys={H2: box.keys[H3], H3: box.keys[H2]})
    short = replace(box, keys={H2: box.keys[H2][:-1], H3: b""})
    other = sealed()
    mixed = replace(box, content=other.content)
    wrong = [(flipped, None), (exchanged, None), (short, None), (mixed, None)]
    wrong += [
        (box, replace(PLACES[H2], ctx=b"other round")),
        (box, replace(PLACES[H2], mh=b"x" * 32)),
        (box, replace(PLACES[H2], private=generate_private())),
    ]
    for attempt, place in wrong:
        with pytest.raises(PeerError) as caught:
            opened(attempt, H2, place)
        assert caught.value.code is ErrorCode.BAD_SIGNATURE
    with pytest.raises(PeerError):
        opened(box, H2, sender=H3)
