"""What is typed at a terminal is set apart on a page, and nothing of what it stands in becomes a tag."""

from __future__ import annotations

import pytest

from shared.web.rendering import marked


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("See `privet agent models list DIR`.", "See <code>privet agent models list DIR</code>."),
        ("<b> `<i>` & more", "&lt;b&gt; <code>&lt;i&gt;</code> &amp; more"),
        ("one ` alone", "one ` alone"),
        ("nothing", "nothing"),
    ],
)
def test_commands_are_set_apart_and_all_else_is_escaped(words: str, shown: str) -> None:
    assert marked(words) == shown
