"""What the trusted authority hands out: the signed federation document and each member's bundle.

The federation document is public: who belongs, by which certificate, under which Paillier modulus. An agent's
bundle adds the private half, sealed to that agent; the cloud's has no place for it. Signing and checking live
in `shared.protocol.enrolment`; here is only the form.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from shared.wire.base import Base64Url, Count, Hex32, Hex64, Id, WireModel, is_absent

MAX_MEMBERS: Final = 1025
"""1024 agents and one cloud."""
MAX_HOLDERS: Final = 256
"""Of a key in shares."""
MAX_FEDERATION_BYTES: Final = 2**20
MAX_BUNDLE_BYTES: Final = 2**21

FederationName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}$")]
"""1 to 63 characters that are safe in a certificate's common name, a file and a terminal."""
Epoch = Annotated[int, Field(ge=1, le=2**32 - 1)]
KeyBits = Literal[2048, 3072, 4096]
ModulusHex = Annotated[str, StringConstraints(pattern=r"^[1-9a-f][0-9a-f]{511,1023}$")]
PrimeHex = Annotated[str, StringConstraints(pattern=r"^[1-9a-f][0-9a-f]{255,511}$")]


VerificationValue = Annotated[Base64Url, Field(max_length=1366)]
"""Base64url of at most 1024 bytes, an integer mod the longest n^2."""
ShareHex = Annotated[str, StringConstraints(pattern=r"^[1-9a-f][0-9a-f]{0,2047}$")]
HolderIndex = Annotated[int, Field(ge=1, le=MAX_HOLDERS)]


class Member(WireModel):
    """One certified party; `certificate_sha256` is the SHA-256 of the certificate's DER bytes."""

    id: Id
    role: Literal["agent", "cloud"]
    certificate_sha256: Hex32


class Holder(WireModel):
    """Key mode threshold: who got the share of that index, and `value`, what its partial decryptions are checked by."""

    id: Id
    index: HolderIndex
    value: VerificationValue


class ThresholdSpec(WireModel):
    """Key mode threshold: how many of the holders open a sum together, and the base v of their `value`s."""

    threshold: HolderIndex
    base: VerificationValue
    holders: Annotated[list[Holder], Field(min_length=3, max_length=MAX_HOLDERS)]


class Federation(WireModel):
    """Who works together, and under which key. Public.

    `n` and `key_id` (SHA-256 of n) name the Paillier key of this `epoch`; `issued` is Unix time in seconds
    and grows with every document, so that the newer of two documents of one epoch can be told. `threshold`: of a key
    that was dealt in shares; absent where every agent holds the whole key.
    """

    v: Literal[1] = 1
    name: FederationName
    epoch: Epoch
    key_id: Hex32
    n: ModulusHex
    key_bits: KeyBits
    root_certificate: Base64Url
    members: Annotated[list[Member], Field(max_length=MAX_MEMBERS)]
    issued: Count
    threshold: Annotated[ThresholdSpec | None, Field(exclude_if=is_absent)] = None

    def member(self, member_id: str) -> Member | None:
        """The member of that id, or None: not certified, or removed."""
        return next((member for member in self.members if member.id == member_id), None)


class SignedFederation(WireModel):
    """The federation document and the root's Ed25519 signature over its canonical bytes."""

    federation: Federation
    signature: Hex64


class FederationSecrets(WireModel):
    """What only agents may know: the primes of n and the federation secret G (protocol section 1).

    Exists in clear only inside the trusted authority and an agent; travels only sealed in an `AgentBundle`.
    """

    p: Annotated[PrimeHex, Field(repr=False)]
    q: Annotated[PrimeHex, Field(repr=False)]
    g: Annotated[Hex32, Field(alias="G", repr=False)]
    key_id: Hex32
    epoch: Epoch


class ShareSecrets(WireModel):
    """Key mode threshold: what one agent gets, its own share and G. Nobody gets p and q."""

    share: Annotated[ShareHex, Field(repr=False)]
    index: HolderIndex
    g: Annotated[Hex32, Field(alias="G", repr=False)]
    key_id: Hex32
    epoch: Epoch


class DealtSecrets(WireModel):
    """Key mode threshold: what the trusted authority keeps to write bundles again, every share and G."""

    shares: Annotated[dict[Id, ShareHex], Field(max_length=MAX_HOLDERS, repr=False)]
    g: Annotated[Hex32, Field(alias="G", repr=False)]
    key_id: Hex32
    epoch: Epoch


class AgentBundleBody(WireModel):
    """An agent's bundle before signing; `sealed` is the HPKE of a canonical `FederationSecrets` or `ShareSecrets`."""

    v: Literal[1] = 1
    kind: Literal["agent"] = "agent"
    id: Id
    epoch: Epoch
    certificate: Base64Url
    federation: SignedFederation
    sealed: Base64Url


class AgentBundle(WireModel):
    """The file `<id>.bundle`: the body and the root's Ed25519 signature over its canonical bytes."""

    bundle: AgentBundleBody
    signature: Hex64


class CloudBundle(WireModel):
    """The file `cloud.bundle`: public parts only, each already signed by the root."""

    v: Literal[1] = 1
    kind: Literal["cloud"] = "cloud"
    certificate: Base64Url
    federation: SignedFederation
