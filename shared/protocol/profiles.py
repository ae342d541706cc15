"""What differs between the two Paillier profiles: how counts are hidden, how sums are opened, what is stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.crypto.paillier import CountCipher
from shared.crypto.threshold import ShareCipher
from shared.crypto.wrapping import WrappingKey
from shared.errors import ErrorCode, InternalError, PeerError
from shared.ids import AgentId
from shared.protocol.participation import Participation
from shared.rng import RandomBytes, random_bytes
from shared.secure_tree import aggregate, contribution, paper
from shared.tree.frontier import NodeQuery
from shared.tree.paths import path_text
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.manifest import KeyMode
from shared.wire.rounds import (
    Aggregate,
    Contribution,
    Decision,
    Notify,
    PaperContribution,
    PaperDecisions,
    PaperMatrix,
    PaperNodeDecision,
)


@dataclass(frozen=True, slots=True)
class RoundKeys:
    """What a hospital needs to hide counts and open sums. `secret`: the federation secret G, 32 bytes.

    `cipher`: the whole key, or in key mode threshold a share of it. `holders`: then every holder's index.
    """

    cipher: CountCipher | ShareCipher = field(repr=False)
    secret: bytes = field(repr=False)
    random_bytes: RandomBytes = random_bytes
    holders: Mapping[AgentId, int] = field(default_factory=dict)

    @property
    def key_mode(self) -> KeyMode:
        """Whether this hospital can open a sum by itself."""
        return "threshold" if isinstance(self.cipher, ShareCipher) else "shared"

    @property
    def whole(self) -> CountCipher:
        """The whole key. Raises: InternalError: this hospital holds a share of it."""
        if isinstance(self.cipher, ShareCipher):
            raise InternalError("a sum under a key in shares cannot be opened by one hospital")
        return self.cipher

    @property
    def share(self) -> ShareCipher:
        """The share. Raises: InternalError: this hospital holds the whole key."""
        if not isinstance(self.cipher, ShareCipher):
            raise InternalError("a hospital that holds the whole key gives no partial decryptions")
        return self.cipher


def contribution_body(
    participation: Participation, counts: Sequence[int], seed: bytes, keys: RoundKeys, hidden: bytes
) -> Contribution | PaperContribution:
    """The message that hides `counts` (cells of the open round, in order) by the job's profile."""
    if len(counts) != participation.growth.slot_count:
        raise InternalError("the records room counted another number of cells than was asked")
    if participation.manifest.profile == "paper":
        return _paper_contribution(participation, counts, keys)
    context = participation.context(hidden)
    ciphertexts = contribution.build_contribution(
        keys.cipher,
        context,
        participation.own,
        keys.secret,
        counts,
        participation.ephemeral_private,
        {peer.id: peer.ephemeral for peer in participation.peers() if peer.id != participation.own},
        seed,
        noisy=participation.manifest.noise is not None,
    )
    wrapped = _wrapping_key(participation).wrap(seed, context.seed_label(participation.own))
    return Contribution(
        ciphertexts=[encode_base64url(c) for c in ciphertexts],
        seed=encode_base64url(wrapped),
        head=participation.head,
    )


def _wrapping_key(participation: Participation) -> WrappingKey:
    return WrappingKey.from_der(
        decode_base64url(participation.manifest.rsa_public_key, what="rsa_public_key")
    )


def open_sums(participation: Participation, body: Aggregate, keys: RoundKeys, hidden: bytes) -> list[int]:
    """The summed cells of the open round, checked (protocol 6.3). Raises: JobFailure."""
    raw = [decode_base64url(text, what="aggregate ciphertext") for text in body.ciphertexts]
    slots = participation.growth.slot_count
    if participation.manifest.profile == "paper":
        if len(raw) != slots:
            raise PeerError(ErrorCode.MALFORMED, f"aggregate: expected {slots} ciphertexts, got {len(raw)}")
        return paper.open_matrix(keys.whole, raw)
    noisy = participation.manifest.noise is not None
    context = participation.context(hidden)
    return aggregate.open_aggregate(keys.whole, context, keys.secret, slots, raw, noisy=noisy)


def statement_body(participation: Participation, hidden: bytes) -> Decision | Notify:
    """What this hospital tells the others it has decided (protocol 6.4; paper: section 5 step 4)."""
    growth = participation.growth
    if participation.manifest.profile == "paper":
        decisions = [PaperNodeDecision.model_validate(decision) for decision in growth.last_decisions]
        text = PaperDecisions(decisions=decisions).canonical().decode()
        return Notify(state=hidden.hex(), decisions=text, head=participation.head)
    return Decision(
        state=hidden.hex(),
        next_nodes=growth.open_nodes,
        next_slots=growth.slot_count,
        done=growth.is_done,
        head=participation.head,
    )


def secret_statement_body(participation: Participation, hidden: bytes) -> Decision:
    """What a member of a secret job states at its end; there are no rounds whose sizes could be told."""
    return Decision(state=hidden.hex(), next_nodes=0, next_slots=0, done=True, head=participation.head)


def _paper_contribution(
    participation: Participation, counts: Sequence[int], keys: RoundKeys
) -> PaperContribution:
    """One nonce a matrix, cell by cell (protocol section 5 step 2)."""
    rsa_key = _wrapping_key(participation)
    schema = participation.manifest.schema_
    matrices, start = [], 0
    for query, attribute in _tables(participation.growth.queries):
        cells = len(schema.attributes[attribute].values) * len(query.classes)
        nonce = keys.random_bytes(paper.NONCE_BYTES)
        hidden = paper.build_matrix(keys.whole, counts[start : start + cells], nonce)
        matrices.append(
            PaperMatrix(
                node=path_text(query.path),
                attribute=attribute,
                ciphertexts=[encode_base64url(c) for c in hidden],
                nonce=encode_base64url(paper.wrap_nonce(rsa_key, nonce)),
            )
        )
        start += cells
    return PaperContribution(matrices=matrices, head=participation.head)


def _tables(queries: Sequence[NodeQuery]) -> list[tuple[NodeQuery, int]]:
    return [(query, attribute) for query in queries for attribute in query.attributes]
