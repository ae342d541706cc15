"""`privet agent report --cost`: a threshold from what errors cost, against decisions record by record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.__main__ import run
from shared.errors import InputError
from shared.evaluation.costs import Costs, decision_json
from shared.evaluation.deciding import net_benefit
from shared.evaluation.measures import CONFIDENCE_95
from tests.support.judged import rows_of, table_of
from tests.unit.hospital_agent.test_reporting import folder_with, report, section

TABLE = table_of(((8, 2), (6, 4), (1, 9), (19, 1)), ((31, 12), (20, 17), (3, 44), (90, 2)))
"""Of two classes, four leaves."""


@pytest.mark.parametrize(("miss", "false_alarm"), [(1, 1), (5, 1), (1, 3), (30, 1), (9, 1)])
def test_a_class_is_called_where_that_costs_less(miss: int, false_alarm: int) -> None:
    costs = Costs.parse(f"c1={miss}:{false_alarm}")
    found = decision_json(TABLE, costs, CONFIDENCE_95, None)["ways"]
    rows = rows_of(TABLE)
    called = rows.scores[:, 1] * miss >= (1 - rows.scores[:, 1]) * false_alarm - 1e-12
    for name, chosen in (("by_costs", called), ("as_the_tree_answers", rows.predicted == 1)):
        true = rows.truth == 1
        spent = miss * (true & ~chosen).sum() + false_alarm * (~true & chosen).sum()
        measures = found[name]["measures"]
        assert found[name]["cost_of_100_records"] == pytest.approx(100 * spent / true.size)
        assert measures["sensitivity"]["value"] == pytest.approx((true & chosen).sum() / true.sum())
        assert measures["specificity"]["value"] == pytest.approx((~true & ~chosen).sum() / (~true).sum())
    (curve,) = net_benefit(TABLE, 1, [costs.threshold])
    assert found["by_costs"]["net_benefit"] == float(curve.by_tree)
    assert found["everybody"]["net_benefit"] == float(curve.by_all)
    assert (found["nobody"]["net_benefit"], found["nobody"]["measures"]["sensitivity"]["value"]) == (0, 0)
    least = min(found.values(), key=lambda way: way["cost_of_100_records"])
    assert max(found.values(), key=lambda way: way["net_benefit"]) == least, "the two put ways in one order"


def test_in_a_shared_report_counts_are_rounded_before(tmp_path: Path) -> None:
    one_more = table_of(((8, 2), (6, 4), (1, 9), (19, 1)), ((30, 12), (21, 18), (2, 43), (90, 1)))
    costs = Costs.parse("c1=5:1")
    told = decision_json(TABLE, costs, CONFIDENCE_95, 5)
    assert decision_json(one_more, costs, CONFIDENCE_95, 5) != told, "21 and 18 are nearer other multiples"
    near = table_of(((8, 2), (6, 4), (1, 9), (19, 1)), ((30, 12), (21, 17), (3, 43), (90, 1)))
    assert decision_json(near, costs, CONFIDENCE_95, 5) == told
    assert decision_json(TABLE, costs, CONFIDENCE_95, 200)["ways"] == {}


@pytest.mark.parametrize("text", ["c1", "c1=5", "=5:", "c1=0:1", "c1=1:-1", "c1=a:b", "c1=1.5:1"])
def test_costs_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"CLASS=MISS:FALSE_ALARM|two costs of 1 or more"):
        Costs.parse(text)


def test_a_report_shows_the_threshold_beside_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path)
    words = (folder, "ab", "--evaluation", "cd", "--exact")
    document = report(capsys, *words, "--cost", "both=9:1")
    (found,) = document["judged"][0]["decisions"]
    assert (found["class"], found["threshold"]) == ("both", 0.1)
    (_, costs) = section(document, "output")["facts"]
    assert "from a share of 1/10 on" in costs
    captions = [table["caption"] for table in section(document, "performance")["tables"]]
    assert any(
        "Calling “both” from a share of 0.1 on, where a miss costs 9" in caption for caption in captions
    )
    assert report(capsys, *words)["judged"][0]["decisions"] == []
    assert "'nephritis'" in report(capsys, *words, "--cost", "mumps=9:1", code=3)["detail"]
    capsys.readouterr()
    assert run(["agent", "report", *map(str, words), "--cost", "both=9:1"]) == 0
    assert "where the tree answers it" in capsys.readouterr().out


def test_costs_need_shares_that_the_study_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(tmp_path, disclosure="class")
    problem = report(capsys, folder, "ab", "--cost", "both=9:1", code=3)
    assert "only classes" in json.dumps(problem)
