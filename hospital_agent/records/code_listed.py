"""A column whose values are a published list of codes: how it is spelled, and what of the records is not on it."""

from __future__ import annotations

from collections.abc import Iterable

from shared.contract.code_lists import CodeList
from shared.contract.spelling import as_spelled
from shared.wire.contract import Spelling


def spelling_by_list(listed: CodeList, *, is_number: bool) -> Spelling:
    """As numbers only where that keeps all codes apart: 01 and 1 may be two. Args: is_number: whether the column is."""
    forms = {as_spelled(code.code, "number") for code in listed.codes}
    return "number" if is_number and len(forms) == len(listed.codes) else "exact"


def remark_on_strangers(
    name: str, values: Iterable[str], listed: Iterable[str], prefixes: tuple[str, ...], spelling: Spelling
) -> list[str]:
    """What the steward should know of values that are not on the list; nothing where all are."""
    forms = {as_spelled(value, spelling) for value in listed}
    strange = sum(
        as_spelled(value, spelling) not in forms and not value.startswith(prefixes) for value in values
    )
    if not strange:
        return []
    what = "1 text of the records is" if strange == 1 else f"{strange} texts of the records are"
    remark = (
        f"{name}: {what} not on its code list. Such records will not fit, unless --recode, --prefix or --other takes "
        "them; privet data inspect lists what is there."
    )
    return [remark]
