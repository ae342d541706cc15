"""What the authority's person reads after a command."""

from __future__ import annotations

from trusted_authority.describing import headline


def test_the_list_of_files_follows_what_was_done_and_what_it_means() -> None:
    assert headline(["h1", "h2"], "Certified") == "Certified h1, h2. Hand out, by any way that arrives whole:"
    removed = headline(["h4"], "Removed", "Epoch 2: a new key for those who stay.\n")
    assert removed.startswith("Removed h4. Epoch 2: a new key for those who stay.\n")
    assert removed.endswith("\nHand out, by any way that arrives whole:")
