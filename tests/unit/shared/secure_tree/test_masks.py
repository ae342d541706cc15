from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.agreement import public_of
from shared.errors import InternalError
from shared.ids import AgentId
from shared.secure_tree.context import RoundContext
from shared.secure_tree.masks import mask_vector, self_mask_sums
from shared.secure_tree.tag import coefficients, tag
from tests.support.toy_keys import fixed_key

N = fixed_key(512).public.n
names = st.lists(st.from_regex(r"[a-z0-9-]{1,8}", fullmatch=True), min_size=3, max_size=7, unique=True)


def context_of(agents: list[str], **changes: object) -> RoundContext:
    roster = tuple((AgentId(agent), agent.encode().ljust(32, b"c")) for agent in sorted(agents))
    return replace(RoundContext(b"m" * 32, 3, 1, roster, b"s" * 32), **changes)  # type: ignore[arg-type]


def keys_of(agents: tuple[AgentId, ...]) -> tuple[dict[AgentId, bytes], dict[AgentId, bytes]]:
    private = {agent: bytes([number + 1]) * 32 for number, agent in enumerate(agents)}
    return private, {agent: public_of(key) for agent, key in private.items()}


def masks_of(context: RoundContext, count: int) -> dict[AgentId, list[int]]:
    private, public = keys_of(context.agents)
    return {
        own: mask_vector(
            context,
            own,
            own.encode().ljust(32, b"z"),
            private[own],
            {peer: key for peer, key in public.items() if peer != own},
            count,
            N,
        )
        for own in context.agents
    }


@given(names, st.integers(min_value=1, max_value=6))
@settings(max_examples=25, deadline=None)
def test_pair_masks_cancel_and_self_masks_remain(agents: list[str], count: int) -> None:
    context = context_of(agents)
    seeds = {agent: agent.encode().ljust(32, b"z") for agent in context.agents}
    sums = [sum(column) % N for column in zip(*masks_of(context, count).values(), strict=True)]
    assert sums == self_mask_sums(context, seeds, count, N)


def test_without_one_member_the_masks_do_not_cancel() -> None:
    context = context_of(["a", "b", "c", "d"])
    masks = masks_of(context, 3)
    del masks[AgentId("c")]
    seeds = {agent: agent.encode().ljust(32, b"z") for agent in masks}
    sums = [sum(column) % N for column in zip(*masks.values(), strict=True)]
    assert all(s != m for s, m in zip(sums, self_mask_sums(context, seeds, 3, N), strict=True))


CHANGES = [
    {"mh": b"n" * 32},
    {"round": 4},
    {"attempt": 2},
    {"state": b"t" * 32},
    {"roster": context_of(["a", "b", "d"]).roster},
    {"roster": tuple((agent, b"x" * 32) for agent, _ in context_of(["a", "b", "c"]).roster)},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_part_of_the_context_changes_masks_and_coefficients(change: dict[str, object]) -> None:
    one = context_of(["a", "b", "c"])
    other = replace(one, **change)  # type: ignore[arg-type]
    assert masks_of(one, 2)[AgentId("a")] != masks_of(other, 2)[AgentId("a")]
    assert coefficients(one, b"G" * 32, 2, N) != coefficients(other, b"G" * 32, 2, N)


def test_tags_are_linear() -> None:
    context, secret = context_of(["a", "b", "c"]), b"G" * 32
    left, right = [3, -4, 5], [N - 1, 7, 2**60]
    both = [x + y for x, y in zip(left, right, strict=True)]
    parts = tag(context, secret, left, N) + tag(context, secret, right, N)
    assert tag(context, secret, both, N) == parts % N


@pytest.mark.parametrize("agents", [["b", "a", "c"], ["a", "a", "b"]])
def test_a_roster_is_sorted_and_names_nobody_twice(agents: list[str]) -> None:
    with pytest.raises(InternalError, match="roster"):
        RoundContext(b"m" * 32, 0, 0, tuple((AgentId(a), b"c" * 32) for a in agents), b"s" * 32)


def test_the_seed_label_is_the_context_and_the_name() -> None:
    context = context_of(["a", "b", "c"])
    assert context.seed_label(AgentId("a")) == context.ctx + b"\x00\x01a"
    assert "s" * 8 not in repr(context)
