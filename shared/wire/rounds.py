"""Bodies of the messages of a Paillier job (protocol sections 5 to 7), one class each."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from shared.errors import JobCode
from shared.wire.base import Base64Url, Count, Hex32, Id, WireModel, is_absent
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import MAX_AGENTS, MAX_ATTRIBUTES, MAX_CELLS, Manifest
from shared.wire.quality import MAX_QUALITY_BYTES
from shared.wire.secret import MAX_RECORDS, DirectEndpoint

MAX_DECISIONS_BYTES: Final = 2**22

Ciphertext = Annotated[Base64Url, Field(max_length=1366)]
"""Base64url of at most 1024 bytes, a ciphertext under the longest key."""
Wrapped = Annotated[Base64Url, Field(max_length=512)]
"""Base64url of at most 384 bytes, an RSA-3072 ciphertext."""
Residue = Annotated[Base64Url, Field(max_length=683)]
"""Base64url of at most 512 bytes, an integer mod the longest n."""
WrappedKey = Annotated[Base64Url, Field(max_length=80)]
"""Base64url of 60 bytes: nonce, AES key, tag."""
AgreementKey = Annotated[Base64Url, Field(max_length=43)]
"""Base64url of 32 bytes."""

NodePathText = Annotated[str, Field(max_length=16384, pattern=r"^(/[0-9]{1,4}=[0-9]{1,3})*$")]


class JobOffer(WireModel):
    """cloud -> agents."""

    manifest: Manifest


class JobAccept(WireModel):
    """agent -> cloud. `ephemeral`: X25519 public key of this job (32 bytes).

    `state`: the hidden state of round 0, which the cloud needs for the context of the first masks and cannot
    compute, because it does not know the federation secret (docs/adr/0004).
    Of a secret job: `records`: how many records the agent will share, which is public there. `direct`: of a compute
    party that the two others may connect to.
    """

    mh: Hex32
    state: Hex32
    snapshot_sha256: Hex32
    ephemeral: AgreementKey
    records: Annotated[int | None, Field(ge=0, le=MAX_RECORDS, exclude_if=is_absent)] = None
    direct: Annotated[DirectEndpoint | None, Field(exclude_if=is_absent)] = None


class JobDecline(WireModel):
    """agent -> cloud: a policy code of section 13, `declined` (a person said no) or `data` (records do not fit).

    No detail travels; the reason stands in the agent's own status.
    """

    mh: Hex32
    code: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")]


class Roster(WireModel):
    """cloud -> agents: the signed acceptances verbatim, sorted by sender."""

    accepts: Annotated[list[SignedEnvelope], Field(min_length=3, max_length=MAX_AGENTS)]
    certificates: Annotated[list[Base64Url], Field(min_length=3, max_length=MAX_AGENTS)]
    roster_hash: Hex32


class Prompt(WireModel):
    """Profile paper: one node whose frequency matrices are asked for, and the attributes still open there."""

    node: NodePathText
    attributes: Annotated[list[Count], Field(max_length=MAX_ATTRIBUTES)]


class RoundOpen(WireModel):
    """cloud -> agents. `decisions`: all signed decisions (paper: notifications) of the previous round."""

    roster: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)]
    slots: Annotated[int, Field(ge=0, le=MAX_CELLS)]
    deadline: Count
    decisions: Annotated[list[SignedEnvelope], Field(max_length=MAX_AGENTS)]
    prompts: list[Prompt] | None = None


class Contribution(WireModel):
    """agent -> cloud, profile hardened: J+1 ciphertexts and the wrapped mask seed; `head`: last log head seen."""

    ciphertexts: Annotated[list[Ciphertext], Field(min_length=2, max_length=MAX_CELLS + 32)]
    seed: Wrapped
    head: Hex32


class PaperMatrix(WireModel):
    """One encrypted frequency matrix, row by row, and its nonce wrapped with PKCS#1 v1.5."""

    node: NodePathText
    attribute: Count
    ciphertexts: Annotated[list[Ciphertext], Field(min_length=1, max_length=MAX_CELLS)]
    nonce: Wrapped


class PaperContribution(WireModel):
    """agent -> cloud, profile paper."""

    matrices: Annotated[list[PaperMatrix], Field(min_length=1, max_length=MAX_CELLS)]
    head: Hex32


class Receipt(WireModel):
    """cloud -> agent, the answer to a contribution or decision, and the agent's evidence of it."""

    message_sha256: Hex32
    time: Count
    head: Hex32


class Aggregate(WireModel):
    """cloud -> agents: the sums, and which contributions (SHA-256 of the envelope) went into them.

    Of key mode threshold: `forwarded`: the contributions themselves, in the roster's order, and `self_sums`: S_j, so
    that every hospital can see that the sums are of them and of nothing else.
    """

    ciphertexts: Annotated[list[Ciphertext], Field(min_length=1, max_length=MAX_CELLS + 32)]
    roster_hash: Hex32
    contributions: Annotated[
        # A pair arrives as a JSON list, which a strict tuple would refuse.
        list[Annotated[tuple[Id, Hex32], Field(strict=False)]], Field(min_length=3, max_length=MAX_AGENTS)
    ]
    head: Hex32
    forwarded: Annotated[
        list[SignedEnvelope] | None, Field(min_length=3, max_length=MAX_AGENTS, exclude_if=is_absent)
    ] = None
    self_sums: Annotated[
        list[Residue] | None, Field(min_length=1, max_length=MAX_CELLS + 32, exclude_if=is_absent)
    ] = None


class Partial(WireModel):
    """agent -> cloud -> agents, key mode threshold: partial decryptions of a round's sums.

    `content` is sealed for the other members of the roster, and `keys` holds its key for each of them
    (`shared.crypto.sealed_partials`). Keyed by id and not a list of pairs, because JSON may nest 8 deep only.
    """

    content: Base64Url
    keys: Annotated[dict[Id, WrappedKey], Field(min_length=2, max_length=MAX_AGENTS)]
    head: Hex32


class Partials(WireModel):
    """cloud -> agents: the members' signed `partial` messages verbatim, sorted by sender."""

    partials: Annotated[list[SignedEnvelope], Field(min_length=2, max_length=MAX_AGENTS)]


class Decision(WireModel):
    """agent -> cloud, profile hardened: the hidden state, and sizes for the next round."""

    state: Hex32
    next_nodes: Annotated[int, Field(ge=0, le=MAX_CELLS)]
    next_slots: Annotated[int, Field(ge=0, le=MAX_CELLS)]
    done: bool
    head: Hex32


class PaperNodeDecision(WireModel):
    """Profile paper: the split or leaf of one node in the clear (protocol section 4, decisions)."""

    node: NodePathText
    leaf: Count | None = None
    attr: Count | None = None
    kids: list[Literal["open"] | dict[Literal["leaf"], Count]] | None = None


class PaperDecisions(WireModel):
    """Profile paper: the decisions of one round in frontier order."""

    decisions: Annotated[list[PaperNodeDecision], Field(max_length=MAX_CELLS)]


class Notify(WireModel):
    """agent -> cloud, profile paper. `decisions`: a canonical `PaperDecisions` as text.

    As text, because `round_open` carries notifications inside envelopes and JSON may nest 8 deep only.
    """

    state: Hex32
    decisions: Annotated[str, Field(max_length=MAX_DECISIONS_BYTES)]
    head: Hex32

    def parsed(self) -> list[PaperNodeDecision]:
        """The decisions. Raises: PeerError: `malformed`."""
        text = self.decisions.encode()
        return PaperDecisions.parse(text, what="decisions", max_bytes=MAX_DECISIONS_BYTES).decisions


class JobDone(WireModel):
    """cloud -> agents: all final decisions (paper: notifications)."""

    decisions: Annotated[list[SignedEnvelope], Field(min_length=3, max_length=MAX_AGENTS)]


class Attest(WireModel):
    """agent -> cloud: what this hospital holds; the tree itself only where the manifest publishes it.

    `quality`: figures of the job as canonical JSON (`shared.wire.quality`), only where the study's document publishes
    them.
    """

    state: Hex32
    tree_sha256: Hex32
    tree: str | None = None
    quality: Annotated[str | None, Field(max_length=MAX_QUALITY_BYTES, exclude_if=is_absent)] = None


class Abort(WireModel):
    """any -> all: a job code, no values."""

    code: Annotated[JobCode, Field(strict=False)]
