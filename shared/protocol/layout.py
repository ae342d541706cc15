"""How large a round is: cells and prompts as the cloud can know them, ciphertexts, and the bytes of a message.

The cloud computes sizes from public things only: the schema, what the agents announced, the key's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.secure_tree.packing import plaintext_count
from shared.wire.envelope import ENVELOPE_OVERHEAD_BYTES
from shared.wire.manifest import SchemaSpec
from shared.wire.rounds import PaperNodeDecision, Prompt

WRAPPED_BYTES: Final = 384
"""An RSA-3072 ciphertext."""
MAX_FORWARDED_BYTES: Final = 2**26
"""Key mode threshold: greatest length of all contributions of a round, which go to every member in one message."""


_MAX_DELTA_BYTES: Final = 256
"""At least the length of 256!, which stretches a proof of key mode threshold."""


def root_prompts(schema: SchemaSpec) -> tuple[Prompt, ...]:
    """Profile paper: the first prompt asks for every attribute at the root."""
    return (Prompt(node="", attributes=list(range(len(schema.attributes)))),)


def root_slots(schema: SchemaSpec, prompts: Sequence[Prompt] | None = None) -> int:
    """Cells of the prompted tables; without prompts, of the root in full."""
    asked = root_prompts(schema) if prompts is None else prompts
    labels = len(schema.class_.labels)
    return sum(len(schema.attributes[a].values) * labels for prompt in asked for a in prompt.attributes)


def next_prompts(prompts: Sequence[Prompt], decisions: Sequence[PaperNodeDecision]) -> tuple[Prompt, ...]:
    """Profile paper: the children that the decisions left open, in bytewise path order."""
    attributes = {prompt.node: prompt.attributes for prompt in prompts}
    found = []
    for decision in decisions:
        if decision.kids is None or decision.attr not in attributes.get(decision.node, []):
            continue
        left = [a for a in attributes[decision.node] if a != decision.attr]
        for value, kid in enumerate(decision.kids):
            if kid == "open":
                found.append(Prompt(node=f"{decision.node}/{decision.attr}={value}", attributes=left))
    return tuple(sorted(found, key=lambda prompt: prompt.node.encode()))


def base64_length(raw_bytes: int) -> int:
    """Characters of unpadded base64url for so many bytes."""
    return (raw_bytes * 4 + 2) // 3


def contribution_ciphertexts(slots: int, roster_size: int, key_bits: int) -> int:
    """J + 1: roster, data and tag ciphertexts of one hardened contribution (protocol 6.1)."""
    return plaintext_count(slots, roster_size, key_bits) + 1


def partial_bytes(slots: int, roster_size: int, key_bits: int) -> int:
    """The greatest length of a partial decryption's message."""
    powers = contribution_ciphertexts(slots, roster_size, key_bits) * 2 * ((key_bits + 7) // 8)
    proof = 2 * key_bits // 8 + _MAX_DELTA_BYTES + 128
    keys = (roster_size * len(f'"{"a" * 64}":"{"a" * 80}",')) + ENVELOPE_OVERHEAD_BYTES
    return base64_length(powers + proof) + keys


def contribution_bytes(slots: int, prompts: Sequence[Prompt], roster_size: int, key_bits: int) -> int:
    """The greatest length of a contribution message; anything longer is `too_large` (section 13).

    Args: prompts: those of profile paper, empty for hardened.
    """
    ciphertext = base64_length(2 * ((key_bits + 7) // 8)) + len('"",')
    wrapped = base64_length(WRAPPED_BYTES) + len('"",')
    if not prompts:
        cells = contribution_ciphertexts(slots, roster_size, key_bits)
        return cells * ciphertext + wrapped + ENVELOPE_OVERHEAD_BYTES
    names = len('{"attribute":1023,"ciphertexts":[],"node":"","nonce":}')
    matrices = sum((len(prompt.node) + names + wrapped) * len(prompt.attributes) for prompt in prompts)
    return slots * ciphertext + matrices + ENVELOPE_OVERHEAD_BYTES
