"""The cloud's arithmetic on contributions: what is refused at the door, and the sum of a complete round.

Every fault of a contribution's ciphertexts, sizes or wrapped seed is the one code `contribution_rejected`
with one text (protocol section 13), so that nothing can be learned from trying.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.crypto.integers import to_bytes
from shared.crypto.paillier import PublicKey, validate_ciphertexts
from shared.crypto.wrapping import UnwrappingKey, rejected
from shared.errors import PeerError
from shared.ids import AgentId
from shared.protocol.effects import Forwarded
from shared.protocol.envelopes import body_of
from shared.protocol.job import Job
from shared.protocol.layout import contribution_ciphertexts
from shared.secure_tree import aggregate, paper
from shared.secure_tree.masks import self_mask_sums
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import Envelope, SignedEnvelope
from shared.wire.manifest import SchemaSpec
from shared.wire.rounds import Contribution, PaperContribution, Prompt


@dataclass(frozen=True, slots=True)
class CloudKeys:
    """What the cloud computes with: the public Paillier key and its own RSA key. It never holds p, q or G."""

    public: PublicKey
    unwrapping: UnwrappingKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class CheckedContribution:
    """A contribution that passed the door. `nonces`: mask seed (hardened, one) or z of each matrix (paper)."""

    ciphertexts: tuple[bytes, ...] = field(repr=False)
    nonces: tuple[bytes, ...] = field(repr=False)


def check_contribution(job: Job, envelope: Envelope, keys: CloudKeys) -> CheckedContribution:
    """Exact sizes, validity of every ciphertext, and the unwrap.

    Raises: PeerError: `contribution_rejected`, or `malformed` when the body is not a contribution at all.
    """
    if job.manifest.profile == "paper":
        return _paper_parts(job, body_of(envelope, PaperContribution), keys)
    return _hardened_parts(job, body_of(envelope, Contribution), envelope.sender, keys)


def _bytes(text: str) -> bytes:
    try:
        return decode_base64url(text, what="contribution")
    except PeerError:
        raise rejected() from None


def _hardened_parts(job: Job, body: Contribution, sender: str, keys: CloudKeys) -> CheckedContribution:
    expected = contribution_ciphertexts(job.slots, len(job.roster), keys.public.bits)
    if len(body.ciphertexts) != expected:
        raise rejected()
    ciphertexts = tuple(_bytes(text) for text in body.ciphertexts)
    validate_ciphertexts(keys.public, ciphertexts)  # lengths and ranges first, and all before the unwrap
    seed = keys.unwrapping.unwrap(_bytes(body.seed), job.context().seed_label(AgentId(sender)))
    return CheckedContribution(ciphertexts, (seed,))


def _paper_parts(job: Job, body: PaperContribution, keys: CloudKeys) -> CheckedContribution:
    expected = _paper_layout(job.manifest.schema_, job.prompts)
    came = [(m.node, m.attribute, len(m.ciphertexts)) for m in body.matrices]
    if came != expected:
        raise rejected()
    ciphertexts = tuple(_bytes(text) for matrix in body.matrices for text in matrix.ciphertexts)
    validate_ciphertexts(keys.public, ciphertexts)
    nonces = tuple(paper.unwrap_nonce(keys.unwrapping, _bytes(matrix.nonce)) for matrix in body.matrices)
    return CheckedContribution(ciphertexts, nonces)


def _paper_layout(schema: SchemaSpec, prompts: tuple[Prompt, ...]) -> list[tuple[str, int, int]]:
    labels = len(schema.class_.labels)
    return [(p.node, a, len(schema.attributes[a].values) * labels) for p in prompts for a in p.attributes]


def compute_sum(job: Job, checked: Mapping[AgentId, CheckedContribution], public: PublicKey) -> list[str]:
    """The aggregate's ciphertexts as base64url. Args: checked: one contribution of each roster member."""
    if job.manifest.profile == "paper":
        sums = _paper_sums(job, checked, public)
    else:
        ciphertexts = {agent: checked[agent].ciphertexts for agent in job.roster}
        seeds = {agent: checked[agent].nonces[0] for agent in job.roster}
        sums = aggregate.sum_contributions(public, job.context(), ciphertexts, seeds)
    return [encode_base64url(c) for c in sums]


def forwarded(
    job: Job,
    contributions: Mapping[AgentId, SignedEnvelope],
    checked: Mapping[AgentId, CheckedContribution],
    public: PublicKey,
) -> Forwarded:
    """Key mode threshold: what every member needs to recompute the sum. Args: contributions: as they were signed."""
    seeds = {agent: checked[agent].nonces[0] for agent in job.roster}
    count = len(checked[job.roster[0]].ciphertexts)
    sums = self_mask_sums(job.context(), seeds, count, public.n)
    return Forwarded(
        tuple(contributions[agent] for agent in job.roster),
        tuple(encode_base64url(to_bytes(value, public.modulus_bytes)) for value in sums),
    )


def _paper_sums(job: Job, checked: Mapping[AgentId, CheckedContribution], public: PublicKey) -> list[bytes]:
    sums: list[bytes] = []
    start = 0
    for number, (_, _, cells) in enumerate(_paper_layout(job.manifest.schema_, job.prompts)):
        matrices = [checked[agent].ciphertexts[start : start + cells] for agent in job.roster]
        nonces = [checked[agent].nonces[number] for agent in job.roster]
        sums.extend(paper.sum_matrices(public, matrices, nonces))
        start += cells
    return sums
