"""What key mode threshold means and costs for a job, in sentences for where it is chosen (protocol section 6.5)."""

from __future__ import annotations

from shared.protocol.layout import contribution_ciphertexts, root_slots
from shared.texts import text
from shared.wire.manifest import Manifest


def key_mode_words(manifest: Manifest, key_bits: int, holders: int) -> tuple[str, ...]:
    """Sentences for a person; none for a key that every hospital holds whole.

    Args: key_bits: of the job's key. holders: of shares of it, in the federation.
    """
    needed, invited = manifest.threshold, len(manifest.invited)
    if needed is None:
        return ()
    ciphertexts = contribution_ciphertexts(root_slots(manifest.schema_), invited, key_bits)
    meaning = text("key_mode.meaning", needed=needed, holders=holders)
    cost = text("key_mode.cost", times=invited, ciphertexts=ciphertexts)
    return meaning, _who_must_be_there(needed, holders), cost


def _who_must_be_there(needed: int, holders: int) -> str:
    if needed == holders:
        return text("key_mode.all_online")
    return text("key_mode.some_slow", slow=holders - needed, least=2 * needed - holders)
