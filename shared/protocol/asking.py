"""The signature under a hospital's wish to ask a shared tree: `"ppsdt/1/ask\\n" || SHA-256(canonical ask)`."""

from __future__ import annotations

import hashlib
from typing import Final

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.wire.asking import Ask, SignedAsk

_CONTEXT: Final = b"ppsdt/1/ask\n"


def sign_ask(ask: Ask, signer: Signer) -> SignedAsk:
    """The hospital's word."""
    return SignedAsk(ask=ask, signature=signer.sign(_message(ask)).hex())


def verify_ask(signed: SignedAsk, public_key: bytes, now: int) -> Ask:
    """The wish under the hospital's own key, as fresh as a poll. Raises: PeerError: `bad_signature`."""
    ask = signed.ask
    identity.verify(public_key, bytes.fromhex(signed.signature), _message(ask), what="ask")
    if abs(ask.time - now) > MAX_SKEW_SECONDS:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE, f"ask: signed at {ask.time}, it is {now} here; set the clock"
        )
    return ask


def _message(ask: Ask) -> bytes:
    return _CONTEXT + hashlib.sha256(ask.canonical()).digest()
