"""What a coordinator may say of records that are held out, and of jobs that only count."""

from __future__ import annotations

import pytest

from cloud_service.service.planning import JobPlan
from cloud_service.service.tallying import SelectionPlan, TallyPlan
from cloud_service.tally_options import RecordsName, selections, tally
from shared.errors import InputError
from shared.wire.tally import MAX_PARTS

SEED = "ab" * 16


@pytest.mark.parametrize(
    ("share", "parts"),
    [
        ("30%", (10, 0, 3)),
        ("0.25", (4, 0, 1)),
        ("1/3", (3, 0, 1)),
        (" 5 %", (20, 0, 1)),
        ("95%", (20, 0, 19)),
    ],
)
def test_shares_become_equal_parts(share: str, parts: tuple[int, int, int]) -> None:
    (plan,) = selections(share.replace(" ", ""), None, SEED)
    assert plan == SelectionPlan(*parts, SEED)
    spec = plan.spec()
    assert (spec.parts, spec.first, spec.last, spec.seed, spec.use) == (*parts, SEED, "train")
    assert SelectionPlan(*parts).spec().seed != SelectionPlan(*parts).spec().seed


@pytest.mark.parametrize("share", ["1%", "0", "100%", "0.33", "1/21", "-10%", "a third", "1/0", ""])
def test_shares_that_would_tell_of_few_records_or_hold_out_nothing_are_refused(share: str) -> None:
    with pytest.raises(InputError, match="expected a share"):
        selections(share, None, None)


def test_folds_count_from_one_and_every_fold_is_another_part() -> None:
    folds = [one for fold in range(1, 6) for one in selections(None, f"{fold}/5", SEED)]
    assert folds == [SelectionPlan(5, fold, fold + 1, SEED) for fold in range(5)]
    assert selections(None, "all/5", SEED) == folds
    fresh = selections(None, "all/3", None)
    assert len(fresh) == 3
    assert len({plan.seed for plan in fresh if plan}) == 1
    for wrong in ("0/5", "6/5", "1/1", f"1/{MAX_PARTS + 1}", "5", "a/b", "/5", "all/1", "all/x", "all/21"):
        with pytest.raises(InputError):
            selections(None, wrong, None)


def test_options_that_belong_together_are_asked_for_together() -> None:
    assert selections(None, None, None) == [None]
    for wrong in (("30%", "1/5", None), (None, None, SEED), ("30%", None, "xyz")):
        with pytest.raises(InputError):
            selections(*wrong)
    whole = "cd" * 16
    assert tally(None, None, None, str, histogram=False) is None
    assert tally(None, None, None, str, histogram=True) == TallyPlan("histogram")
    wanted = tally("cd", RecordsName.ALL, 9, lambda prefix: prefix * 16, histogram=False)
    assert wanted == TallyPlan("evaluation", whole, "all", 9)
    with pytest.raises(InputError, match="--records"):
        tally(None, RecordsName.TEST, None, str, histogram=False)
    with pytest.raises(InputError, match="--places"):
        tally(None, None, 3, str, histogram=True)
    with pytest.raises(InputError, match="not both"):
        tally("cd", None, None, str, histogram=True)


def test_only_profile_hardened_only_counts() -> None:
    JobPlan(tally=TallyPlan("histogram")).check()
    for plan in (
        JobPlan(tally=TallyPlan("histogram"), profile="paper"),
        JobPlan(tally=TallyPlan("histogram"), mode="gain-ratio"),
    ):
        with pytest.raises(InputError, match="cannot only count"):
            plan.check()
