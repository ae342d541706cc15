"""What key mode threshold means and costs for a job, in sentences for where it is chosen (protocol section 6.5)."""

from __future__ import annotations

from shared.protocol.layout import contribution_ciphertexts, root_slots
from shared.wire.manifest import Manifest


def key_mode_words(manifest: Manifest, key_bits: int, holders: int) -> tuple[str, ...]:
    """Sentences for a person; none for a key that every hospital holds whole.

    Args: key_bits: of the job's key. holders: of shares of it, in the federation.
    """
    needed, invited = manifest.threshold, len(manifest.invited)
    if needed is None:
        return ()
    ciphertexts = contribution_ciphertexts(root_slots(manifest.schema_), invited, key_bits)
    meaning = (
        f"Key mode threshold: no hospital can open a sum alone. {needed} of the {holders} that hold a share of the key "
        "do it together, each once a round and only after it has recomputed the sum from what all have sent."
    )
    cost = (
        f"Cost: contributions go to every hospital, about {invited} times the bytes; hiding and opening are whole "
        f"powers without the primes, {ciphertexts} of each at every hospital in the first round: about ten times the "
        "arithmetic of the shared key."
    )
    return meaning, _who_must_be_there(needed, holders), cost


def _who_must_be_there(needed: int, holders: int) -> str:
    if needed == holders:
        return (
            "All of them must be online in every round. As long as one of them is honest, no second sum of a round "
            "opens."
        )
    return (
        f"A round opens without up to {holders - needed} slow ones. No second sum of a round opens as long as fewer "
        f"than {2 * needed - holders} hospitals work against the others."
    )
