"""Several drafts' derivations to one: they must be the same; only names of columns and codes for missing are joined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from shared.contract.differing import DraftsDifferError
from shared.wire.contract import ContractInput, DataContract

_OWN: Final[dict[str, object]] = {"columns": [], "missing_codes": []}
"""What a hospital says of its own column."""
_REMEDY: Final = "Draft again at all hospitals with --derive and the same file."


def merged_derivations(drafts: Sequence[DataContract]) -> dict[str, Any]:
    """The members `inputs` and `derived` of all drafts together.

    Raises: DraftsDifferError: naming what they derive, or read for it, otherwise.
    """
    said = [{one.name: one.canonical() for one in draft.derived} for draft in drafts]
    _agree(said, "the drafts derive it otherwise")
    bare = [{one.name: one.model_copy(update=_OWN).canonical() for one in draft.inputs} for draft in drafts]
    _agree(bare, "the drafts describe this input otherwise")
    inputs = [_joined([_named(draft, name) for draft in drafts]) for name in _order(bare)]
    derived = {one.name: one for one in drafts[0].derived}
    return {"inputs": inputs, "derived": [derived[name] for name in _order(said)]}


def _order(said: Sequence[dict[str, bytes]]) -> list[str]:
    """That of all drafts where they have one, so that the result does not depend on theirs."""
    orders = {tuple(one) for one in said}
    return [*orders.pop()] if len(orders) == 1 else sorted(said[0])


def _agree(said: Sequence[dict[str, bytes]], message: str) -> None:
    for name in sorted({name for one in said for name in one}):
        found = [one.get(name) for one in said]
        if any(one != found[0] for one in found):
            ways = {raw: f"way {number}" for number, raw in enumerate(sorted({*_there(found)}), start=1)}
            raise DraftsDifferError(
                message,
                ["not at all" if raw is None else ways[raw] for raw in found],
                where=f"column {name!r}",
                remedy=_REMEDY,
            )


def _there(found: Iterable[bytes | None]) -> Iterable[bytes]:
    return (raw for raw in found if raw is not None)


def _named(draft: DataContract, name: str) -> ContractInput:
    return next(one for one in draft.inputs if one.name == name)


def _joined(said: Sequence[ContractInput]) -> ContractInput:
    return said[0].model_copy(
        update={
            "columns": sorted({column for one in said for column in one.columns}),
            "missing_codes": sorted({code for one in said for code in one.missing_codes}),
        }
    )
