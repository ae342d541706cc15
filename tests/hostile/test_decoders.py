"""Whatever bytes come to a decoder, it gives what it promises or says whose fault it is, and nothing else.

Inputs are noise, and valid ones damaged by `hostile_corpus`. The long run has a hundred times as many.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from hospital_agent.cloud.answers import inbox_items, refusal_of
from shared.crypto import at_rest, certificates, identity
from shared.crypto.paillier import decode_ciphertext, validate_ciphertexts
from shared.crypto.paper import unwrap_nonce
from shared.crypto.sealing import open_sealed
from shared.crypto.wrapping import UnwrappingKey, WrappingKey
from shared.errors import InputError, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol.audit_log import read_claim
from shared.protocol.enrolment import fingerprint, open_cloud_bundle
from shared.protocol.envelopes import reseal, unseal
from shared.protocol.polling import read_call, read_poll, read_studies_call
from shared.wire import enrolment, rounds, secret
from shared.wire.base import WireModel, decode_base64url, parse_canonical
from shared.wire.consent import SignedConsent
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import Manifest
from shared.wire.relay import pack, read_parcel, unpack
from shared.wire.study import SignedAnswer, SignedStudy
from tests.support import hostile_corpus as corpus
from tests.support.cloud_server import cloud_bundle
from tests.support.toy_keys import fixed_key
from tests.support.world import TOY_KEY, UNWRAPPING, Parties

LIMIT = 2**22
PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3")], fixed_key(2048))
VECTORS = json.loads(Path("tests/vectors/wire.json").read_text())
FAULTS = (PeerError, InputError)
Decoder = Callable[[bytes], object]


def models() -> Iterator[tuple[str, Decoder, bytes]]:
    """Every wire model that has a vector, by its own parser."""
    places = (rounds, secret, enrolment)
    known = {name: one for place in places for name, one in vars(place).items() if isinstance(one, type)}
    known |= {
        one.__name__: one for one in (Manifest, SignedEnvelope, SignedConsent, SignedAnswer, SignedStudy)
    }
    for name, raw in VECTORS.items():
        model = known.get(name.split(" ")[0])
        if model is not None and issubclass(model, WireModel):
            yield name, lambda raw, model=model: model.parse(raw, what="test", max_bytes=LIMIT), raw.encode()


def text_of(decode: Callable[[str], object]) -> Decoder:
    """A decoder of text, given bytes."""
    return lambda raw: decode(raw.decode("latin-1"))


def _cloud_bundle(raw: bytes) -> object:
    """As `privet cloud join` reads it."""
    bundle = enrolment.CloudBundle.parse(raw, what="bundle", max_bytes=LIMIT)
    return open_cloud_bundle(
        bundle, fingerprint(PARTIES.root), identity_public=PARTIES.identities[CLOUD].public
    )


def decoders() -> Iterator[tuple[str, Decoder, bytes]]:
    """Name, decoder, a valid input."""
    yield from models()
    certificate = PARTIES.certificates["h1"]
    pem = certificates.to_pem(certificate)
    request = certificates.create_request(PARTIES.identities["h1"], "h1", certificates.Role.AGENT, "ab" * 32)
    header = b'{"after":0,"agent":"h1","time":1}.' + b"0" * 128
    public = TOY_KEY.public
    yield (
        "envelope",
        lambda raw: reseal(unseal(raw, max_bytes=LIMIT).signed),
        VECTORS["SignedEnvelope"].encode(),
    )
    yield "canonical", lambda raw: parse_canonical(raw, what="test", max_bytes=LIMIT), b'{"a":[1,"x"]}'
    yield "base64url", text_of(lambda raw: decode_base64url(raw, what="test")), b"AAECAwQ"
    yield "parcel", read_parcel, b"\x02h1frame"
    yield "batch", unpack, pack([b"\x02h1frame", b"\x02h2frame"])
    yield "certificate", certificates.read, certificate
    yield "certificate in PEM", certificates.from_pem, pem
    yield (
        "listed certificate",
        lambda raw: PARTIES.trust.certificate(raw, role=certificates.Role.AGENT),
        certificate,
    )
    yield "request", certificates.parse_request, request
    yield "identity key", identity.IdentityKey.from_pem, PARTIES.identities["h1"].to_pem()
    yield "wrapping key", WrappingKey.from_pem, UNWRAPPING.public.to_pem()
    yield "wrapping key in DER", WrappingKey.from_der, UNWRAPPING.public.to_der()
    yield "unwrapping key", UnwrappingKey.from_pem, UNWRAPPING.to_pem()
    yield "secret at rest", lambda raw: at_rest.parse_secret(raw, where="test"), b'{"v":1}'
    yield "ciphertext", lambda raw: decode_ciphertext(public, raw), b"\x01" * public.ciphertext_bytes
    yield "ciphertexts", lambda raw: validate_ciphertexts(public, [raw]), b"\x01" * public.ciphertext_bytes
    yield (
        "wrapped seed",
        lambda raw: UNWRAPPING.unwrap(raw, b"label"),
        UNWRAPPING.public.wrap(bytes(32), b"label"),
    )
    yield "wrapped nonce", lambda raw: unwrap_nonce(UNWRAPPING, raw), bytes(384)
    yield "sealed", lambda raw: open_sealed(bytes(range(32)), raw, b"test"), bytes(100)
    yield "poll", text_of(read_poll), header
    yield "call", text_of(read_call), header
    yield "studies", text_of(read_studies_call), header
    yield "claim", text_of(read_claim), header
    yield "inbox", inbox_items, b'{"items":[{"id":1,"message":{"envelope":{"type":"roster"}}}]}'
    yield "refusal", lambda raw: refusal_of(422, raw), b'{"code":"late","detail":"x"}'
    yield "cloud bundle", _cloud_bundle, cloud_bundle(PARTIES)


def damaged(choose: random.Random, raw: bytes) -> bytes:
    """The input with one fault, or noise of about its size."""
    drawn = choose.random()
    if drawn < 0.2:
        return choose.randbytes(choose.randrange(2 * len(raw) + 2))
    if drawn < 0.4 and raw[:1] == b"{" and raw[-1:] == b"}":
        document = json.loads(raw)
        if document:
            corpus.STRUCTURE[choose.choice(list(corpus.STRUCTURE))](choose, document)
            return corpus.canonical(document)
    names = ["truncated", "bit flipped", "spliced"]
    if raw[:1] == b"{" and raw[-1:] == b"}":
        names += [
            "a key twice",
            "another encoding",
            "surrogates and bad UTF-8",
            "no number",
            "deep nesting",
            "another form",
        ]
    return corpus.UNSIGNED[choose.choice(names)](choose, raw)


@pytest.mark.parametrize(
    "inputs", [10, pytest.param(4000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_a_decoder_says_whose_fault_it_is(inputs: int, capsys: pytest.CaptureFixture[str]) -> None:
    refused: Counter[str] = Counter()
    wrong: list[str] = []
    total = 0
    for name, decode, valid in decoders():
        choose = random.Random(f"{inputs} {name}")
        for _ in range(inputs):
            raw = damaged(choose, valid)
            total += 1
            try:
                decode(raw)
            except FAULTS:
                refused[name] += 1
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error!s:.100} for {raw[:120]!r}")
    assert wrong == [], "\n".join(wrong[:30])
    silent = set() if inputs < 100 else {name for name, _, _ in decoders()} - set(refused) - {"refusal"}
    assert not silent, silent
    with capsys.disabled():
        print(f"\ndecoders: {len(list(decoders()))}, {total} inputs, {sum(refused.values())} refused")


def test_valid_inputs_are_read() -> None:
    """A control: the decoders refuse the damage and not the form."""
    decode: Mapping[str, tuple[Decoder, bytes]] = {name: (one, valid) for name, one, valid in decoders()}
    for name, _, _ in [
        *models(),
        *[("envelope", None, None), ("certificate", None, None), ("parcel", None, None)],
    ]:
        one, valid = decode[name]
        one(valid)
    assert CLOUD in PARTIES.certificates
