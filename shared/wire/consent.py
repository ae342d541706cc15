"""A hospital's signed consent to a difference of one (rule A4).

Two results over the same records whose rosters differ by one hospital tell of that hospital. Only it can allow that,
and the consent travels in the manifest of the job that would make the difference. Signing and checking:
`shared.protocol.consenting`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from shared.wire.base import Base64Url, Count, Hex32, Hex64, Id, WireModel

MAX_CONSENTS: Final = 64
"""Of one manifest."""


class Consent(WireModel):
    """What the hospital signs: results of the study `with_sha256`, in which it takes part, and of `without_sha256`
    without it, may both be known. The two are hashes of study documents, and may be the same one."""

    v: Literal[1] = 1
    hospital: Id
    with_sha256: Hex32
    without_sha256: Hex32
    time: Count


class SignedConsent(WireModel):
    """The consent, the hospital's Ed25519 signature, and its certificate (DER), so that anybody can check it."""

    consent: Consent
    signature: Hex64
    certificate: Annotated[Base64Url, Field(max_length=8192)]
