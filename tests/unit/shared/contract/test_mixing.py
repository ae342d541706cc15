"""Drafts through a mix: the merged contract is that of the plain merge, and nothing tells whose a statement was."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contract.blocks import from_blocks, to_blocks
from shared.contract.differing import DraftsDifferError
from shared.contract.merging import merge
from shared.contract.mixing import mix, new_merger_secret, open_batch, public_key, seal_draft
from shared.contract.schema import check_contract
from shared.contract.statements import drafts_of, statements_of
from shared.errors import InputError, PeerError
from shared.wire.contract import DataContract
from shared.wire.contract_sealed import BLOCK_BYTES, SealedBatch, SealedDraft, Statement
from tests.unit.shared.contract.test_contract import (
    CHOLESTEROL,
    GRADE,
    ICD,
    ILL,
    LACTATE,
    PULSE,
    SEX,
    contract,
)

SECRET = new_merger_secret()
KEY = public_key(SECRET)
RARE: dict[str, Any] = {**ICD, "values": [*ICD["values"][:3], {"value": "anthrax", "meaning": "of sheep"}]}
SHEEPISH: dict[str, Any] = {**ICD, "values": [{"value": "anthrax", "meaning": "of goats"}]}
ORDERED: dict[str, Any] = {
    "name": "risk",
    "kind": "category",
    "values": [{"value": value} for value in ("low", "medium", "high")],
}
OTHER_CLASS: dict[str, Any] = {**ILL, "values": [*ILL["values"], {"value": "perhaps"}], "columns": ["krank"]}
LISTED: dict[str, Any] = {**SEX, "code_list": {"url": "urn:sex", "version": "1", "file_sha256": "ab" * 32}}

ALIKE = {
    "one draft three times": [contract(ICD, GRADE, SEX, PULSE, LACTATE)] * 3,
    "a rare value": [contract(RARE), contract(ICD), contract(ICD)],
    "spellings and names": [
        contract(SEX),
        contract({**SEX, "columns": ["sexe"], "values": [{"value": "f"}, {"value": "male", "texts": ["m"]}]}),
        contract({**SEX, "spelling": "exact", "values": [{"value": "w"}, {"value": "other", "other": True}]}),
    ],
    "orders": [contract(ORDERED, SEX)] * 3,
    "other orders": [
        contract(ORDERED),
        contract({**ORDERED, "values": ORDERED["values"][::-1]}),
        contract({**ORDERED, "values": ORDERED["values"][:2]}),
    ],
    "attributes in other orders": [contract(SEX, GRADE), contract(GRADE, SEX), contract(SEX, GRADE)],
    "ranges": [
        contract({**PULSE, "minimum": "10.5"}, CHOLESTEROL),
        contract({**PULSE, "maximum": None, "missing_codes": ["-1"]}, {**CHOLESTEROL, "conversions": []}),
        contract({**PULSE, "missing_policy": "refuse"}, {**CHOLESTEROL, "decimals": 2, "maximum": "700"}),
    ],
    "classes": [contract(SEX, target=OTHER_CLASS), contract(SEX), contract(SEX), contract(SEX)],
    "code lists": [contract(LISTED)] * 3,
}


def many(letter: str, count: int = 200) -> DataContract:
    return contract({**SEX, "values": [{"value": f"{letter}{n:03}"} for n in range(count)]})


def labels(letter: str) -> DataContract:
    return contract(SEX, target={**ILL, "values": [{"value": f"{letter}{n:02}"} for n in range(40)]})


DIFFERENT = {
    "units": [contract(PULSE), contract(PULSE), contract({**PULSE, "unit": "Hz"})],
    "cuts": [contract(PULSE), contract({**PULSE, "cuts": ["60", "101"]}), contract(PULSE)],
    "kinds": [contract(GRADE), contract({"name": "grade", "kind": "number", "cuts": ["1"]}), contract(GRADE)],
    "a column": [contract(SEX, GRADE), contract(SEX), contract(SEX)],
    "lists": [contract(LISTED), contract(SEX), contract(SEX)],
    "too many values": [many("a"), many("b"), many("c")],
    "too many labels": [labels("a"), labels("b"), labels("c")],
    "cuts beside a number for missing": [
        contract({**CHOLESTEROL, "name": "pulse", "unit": "/min", "conversions": []}),
        contract(PULSE),
        contract(PULSE),
    ],
    "meanings": [contract(RARE), contract(ICD), contract(SHEEPISH)],
    "conversions": [
        contract(CHOLESTEROL),
        contract({**CHOLESTEROL, "conversions": [{"unit": "odd", "factor": "3"}]}),
        contract(CHOLESTEROL),
    ],
    "texts": [
        contract(SEX),
        contract({**SEX, "values": [{"value": "female"}, {"value": "male", "texts": ["w"]}]}),
        contract(SEX),
    ],
}


def remixed(drafts: Sequence[DataContract], seed: int = 0) -> list[DataContract]:
    """The drafts' statements in one heap, and drafts of them; without the cryptography."""
    heap = [statement for draft in drafts for statement in statements_of(draft)]
    random.Random(seed).shuffle(heap)
    return drafts_of(heap, len(drafts))


def through_a_mix(drafts: Sequence[DataContract]) -> list[DataContract]:
    return open_batch(mix([seal_draft(draft, KEY) for draft in drafts]), SECRET)


@pytest.mark.parametrize("case", ALIKE)
def test_mixed_drafts_merge_to_the_contract_of_the_plain_merge(case: str) -> None:
    assert merge(remixed(ALIKE[case])).canonical() == merge(ALIKE[case]).canonical()


@pytest.mark.parametrize("case", DIFFERENT)
def test_mixed_drafts_are_refused_where_plain_ones_are(case: str) -> None:
    with pytest.raises(InputError) as plain:
        merge(DIFFERENT[case])
    with pytest.raises(InputError) as mixed:
        merge(remixed(DIFFERENT[case]))
    assert mixed.value.where == plain.value.where
    assert mixed.value.remedy == plain.value.remedy
    if isinstance(mixed.value, DraftsDifferError):
        told = str(mixed.value.counted())
        assert "draft" not in told.split(": ", 2)[2].split(". ")[0]
        assert "in 1 of " in told


def test_a_value_that_two_of_three_drafts_have_with_two_meanings_is_told_without_files() -> None:
    with pytest.raises(DraftsDifferError) as caught:
        merge(DIFFERENT["meanings"])
    told = str(caught.value.named(["h1.json", "h2.json", "h3.json"]))
    assert "of goats in 1 of 2; of sheep in 1 of 2" in told


_values = st.lists(st.sampled_from("abcdef"), max_size=5, unique=True)
_columns = st.tuples(_values, st.sets(st.sampled_from(["A", "B"])), st.booleans(), st.sampled_from("xy"))


@given(st.lists(_columns, min_size=2, max_size=5), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_any_drafts_merge_alike_through_a_mix(columns: list[Any], seed: int) -> None:
    drafts = [
        contract(
            {
                "name": "kind",
                "kind": "category",
                "values": [
                    {"value": value, "texts": sorted(names), "meaning": meaning if value == "a" else ""}
                    if place == 0
                    else {"value": value, "other": last and place == len(values) - 1}
                    for place, value in enumerate(values)
                ],
                "columns": sorted(names),
                "spelling": "folded" if last else "exact",
            }
        )
        for values, names, last, meaning in columns
        if not (last and any(name.casefold() in values for name in names))
    ] or [contract(SEX)]
    assert outcome(merge, drafts) == outcome(lambda given: merge(remixed(given, seed)), drafts)


def outcome(merged: Callable[[Sequence[DataContract]], DataContract], drafts: Sequence[DataContract]) -> Any:
    try:
        return merged(drafts).canonical()
    except InputError as error:
        return error.where, error.remedy


def test_a_long_statement_is_parted_and_all_blocks_are_of_one_length() -> None:
    draft = contract(
        {**SEX, "description": "d" * 500, "values": [{"value": "é" * 200, "meaning": "m" * 500}]}
    )
    blocks = to_blocks(statements_of(draft))
    assert len(statements_of(draft)) < 16
    assert {len(block) for block in blocks} == {BLOCK_BYTES}
    assert len(blocks) == 64
    random.Random(1).shuffle(blocks)
    assert sorted(map(repr, from_blocks(blocks))) == sorted(map(repr, statements_of(draft)))
    with pytest.raises(PeerError, match="twice"):
        from_blocks([*blocks, blocks[0]])
    parted = [block for block in blocks if block[16:20] == b"\0\0\0\2"]
    with pytest.raises(PeerError, match="missing"):
        from_blocks([block for block in blocks if block not in parted])
    with pytest.raises(PeerError, match="64 blocks were sealed, and 63 came"):
        from_blocks([block for block in blocks if block is not blocks[-1]])
    with pytest.raises(PeerError, match="filled"):
        from_blocks([*blocks[1:], blocks[0][:-1] + b"1"])


def test_a_batch_tells_no_sender_and_opens_for_the_merger_alone() -> None:
    drafts = ALIKE["a rare value"]
    sealed = [seal_draft(draft, KEY) for draft in drafts]
    batches = {mix(order, random.Random(5).randrange).canonical() for order in itertools.permutations(sealed)}
    assert len(batches) == 1  # The order is the generator's alone: whose file came first changes nothing.
    raw = batches.pop()
    assert b"anthrax" not in raw
    assert b"diagnosis" not in raw
    batch = SealedBatch.parse(raw, what="batch", max_bytes=2**27)
    assert merge(open_batch(batch, SECRET)).canonical() == merge(drafts).canonical()
    with pytest.raises(InputError, match="another key"):
        open_batch(batch, new_merger_secret())


def test_two_mixes_of_the_same_drafts_have_other_orders() -> None:
    sealed = [seal_draft(draft, KEY) for draft in ALIKE["a rare value"]]
    one, other = (mix(sealed).blocks for _ in range(2))
    assert one != other
    assert sorted(one) == sorted(other)
    firsts = [mix(sealed).blocks.index(sealed[0].blocks[0]) for _ in range(60)]
    assert (
        min(firsts) < 64 < max(firsts)
    )  # Not where its file was; 2 * (1/3)^60 and (2/3)^60 that this fails.


SEALED = [seal_draft(contract(SEX), KEY) for _ in range(3)]


def changed(draft: SealedDraft, **members: Any) -> SealedDraft:
    return SealedDraft.model_validate(draft.model_dump() | members)


@pytest.mark.parametrize(
    ("drafts", "says"),
    [
        (SEALED[:2], "third"),
        ([*SEALED[:2], SEALED[0]], "twice"),
        ([*SEALED[:2], changed(SEALED[2], name="icu")], "icu, ward"),
        ([*SEALED[:2], seal_draft(contract(SEX), public_key(new_merger_secret()))], "different keys"),
        ([*SEALED[:2], changed(SEALED[2], blocks=[*SEALED[2].blocks, "A" * 747])], "power of two"),
    ],
)
def test_what_the_mixer_refuses(drafts: list[SealedDraft], says: str) -> None:
    with pytest.raises(InputError, match=says):
        mix(drafts)


def batch_of(**members: Any) -> SealedBatch:
    return SealedBatch.model_validate(mix(SEALED).model_dump() | members)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"name": "icu"}, "does not open"),
        ({"blocks": mix(SEALED).blocks[1:]}, "blocks"),
        ({"hospitals": 4}, "4 hospitals' drafts were to be there, and 3 are"),
        ({"blocks": [*SEALED[0].blocks, *SEALED[1].blocks, *SEALED[1].blocks]}, "twice"),
        ({"blocks": [*mix(SEALED).blocks[1:], "A" * 747]}, "not open"),
    ],
)
def test_what_the_merger_refuses(members: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_batch(batch_of(**members), SECRET)


@pytest.mark.parametrize("left_out", range(12))
def test_a_batch_that_lacks_what_a_draft_must_say_is_refused_or_merges(left_out: int) -> None:
    """A mixer can leave statements out unseen only where a hospital could have left them out."""
    heap = [one for draft in ALIKE["spellings and names"] for one in statements_of(draft)]
    lacking = heap[:left_out] + heap[left_out + 1 :]
    try:
        merge(drafts_of(lacking, 3))
    except (InputError, PeerError):
        return
    assert heap[left_out].kind not in ("frame", "form")


HEAP = [
    one for case in (ALIKE | DIFFERENT).values() for draft in case[:2] for one in statements_of(draft)[:20]
]
FRAMES = [one for one in HEAP if one.kind == "frame"]
OWN = statements_of(contract(SEX, PULSE))


@given(
    st.lists(st.sampled_from(HEAP), max_size=30),
    st.lists(st.sampled_from(FRAMES), max_size=3),
    st.lists(st.sampled_from(OWN), max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_statements_that_no_hospitals_make_are_refused_in_words(
    others: list[Statement], frames: list[Statement], doubled: list[Statement]
) -> None:
    """Whatever somebody seals, the merger gets a contract or a refusal, and never a bug."""
    for heap in (others, [*frames, *others], [*OWN * 3, *doubled], [*OWN * 2, *doubled, *others]):
        for hospitals in (3, sum(one.kind == "frame" for one in heap)):
            try:
                check_contract(merge(drafts_of(heap, hospitals)))
            except (InputError, PeerError):
                continue


@given(
    st.binary(min_size=BLOCK_BYTES, max_size=BLOCK_BYTES), st.integers(0, 63), st.integers(0, BLOCK_BYTES - 1)
)
@settings(max_examples=80, deadline=None)
def test_blocks_of_any_bytes_are_refused_in_words(noise: bytes, at: int, place: int) -> None:
    blocks = to_blocks(OWN)
    damaged = blocks[at][:place] + noise[:1] + blocks[at][place + 1 :]
    for changed_block in (noise, damaged, noise[:20] + b"\0\0\0\1\0\1" + noise[26:]):
        heap = [*blocks[:at], changed_block, *blocks[at + 1 :]]
        try:
            merge(drafts_of(from_blocks(heap), 1))
        except (InputError, PeerError):
            continue
        assert changed_block is damaged
