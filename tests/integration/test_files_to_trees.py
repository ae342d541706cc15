"""Every public file in its original form, by inspect's own advice and a drafted contract, to the tree others grew.

No file is edited: the class column is named, measurements that the reference left out are dropped, `--apply` does what
`privet data inspect` advises (identifiers, constants, codes for missing), and the names are the reference's.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.records import open_source
from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from privet.__main__ import run
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from tests.support.reference_data import DATA, SKIP_REASON, differences, is_available, load

pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_available(), reason=SKIP_REASON)]

FILES: dict[str, tuple[str, int, tuple[int, ...]]] = {
    # reference: file, position of the class, positions of measurements that the reference leaves out
    "balance-scale": ("balance-scale/balance-scale.data", 1, ()),
    "breast-cancer-ljubljana": ("breast-cancer-ljubljana/breast-cancer.data", 1, ()),
    "car-evaluation": ("car-evaluation/car.data", 7, ()),
    "contact-lenses": ("contact-lenses/contact-lenses.arff", 5, ()),
    "early-stage-diabetes": ("early-stage-diabetes/diabetes_data_upload.csv", 17, (1,)),
    "kr-vs-kp": ("kr-vs-kp/kr-vs-kp.data", 37, ()),
    "lymphography": ("lymphography/lymphography.data", 1, ()),
    "mushroom": ("mushroom/agaricus-lepiota.data", 1, ()),
    "play-tennis": ("play-tennis/weather.nominal.arff", 5, ()),
    "spect-train": ("spect-heart/SPECT.train", 1, ()),
    "thyroid-recurrence": ("thyroid-recurrence/Thyroid_Diff.csv", 17, (1,)),
    "tic-tac-toe": ("tic-tac-toe/tic-tac-toe.data", 10, ()),
    "vote": ("vote/house-votes-84.data", 1, ()),
    "zoo": ("zoo/zoo.data", 18, ()),
}
IDENTIFIERS = {"zoo": 1}
"""Columns that the reference leaves out and `--apply` has to find."""
RULES = GrowthRules(min_node=1, min_child=1, max_depth=None)


@pytest.mark.parametrize("name", FILES)
def test_from_the_file_to_the_tree(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target, dropped = FILES[name]
    case = load(name)
    names = list(case.attribute_names)
    for position in sorted({target, *dropped, *filter(None, [IDENTIFIERS.get(name)])}):
        names.insert(position - 1, case.schema.class_name if position == target else f"left out {position}")
    contract_file = tmp_path / "contract.json"
    words = ["data", "draft", str(DATA / file), "--class", str(target), "--names", ",".join(names)]
    words += ["--apply", "--floor", "1", "-o", str(contract_file), "--json"]
    for position in dropped:
        words += ["--drop", str(position)]
    assert run(words) == 0, capsys.readouterr().out
    contract = contract_of(json.loads(contract_file.read_text()), "contract")
    schema = schema_of_contract(contract)
    settings = DataSettings(path=DATA / file, contract=contract)
    snapshot = open_source(settings, tmp_path).freeze(schema, bytes(16))
    tree = grow(schema, RULES, snapshot.count).tree
    ours = in_order_of(reference_form(tree, schema), case.expected)
    assert differences(ours, case.expected) == []


def in_order_of(ours: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Our tree with its branches in the reference's order; a missing value is written `?` there."""
    if "branches" not in ours or ours.get("attribute") != expected.get("attribute"):
        return ours
    branches = {"?" if value == "missing" else value: kid for value, kid in ours["branches"].items()}
    order = [value for value in expected["branches"] if value in branches]
    rest = [value for value in branches if value not in order]
    sorted_branches = {
        value: in_order_of(branches[value], expected["branches"].get(value, {})) for value in [*order, *rest]
    }
    return {**ours, "branches": sorted_branches}


MEASURED: dict[str, tuple[str, int, dict[int, int]]] = {
    # file, position of the class, what empty fields of some columns count as
    "wdbc": ("breast-cancer-wisconsin-diagnostic/wdbc.data", 2, {}),
    "play-tennis-numeric": ("play-tennis/weather.numeric.arff", 5, {}),
    "thyroid-ann": ("thyroid-ann/ann-train.data", 22, {}),
    "liver": ("indian-liver-patient/Indian Liver Patient Dataset (ILPD).csv", 11, {10: 1}),
    "acute-inflammations": ("acute-inflammations/diagnosis.data", 8, {}),
    "pima": ("pima-diabetes/pima-indians-diabetes.data", 9, {2: 120, 3: 70, 4: 29, 5: 125, 6: 32}),
}


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_stay_as_they_are_for_mode_gain_ratio(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the file to frozen numbers in fixed point, exactly those of the file, by a drafted contract."""
    file, target, gaps = MEASURED[name]
    contract_file = tmp_path / "contract.json"
    words = ["data", "draft", str(DATA / file), "--class", str(target), "--measured", "--apply"]
    for position, filler in gaps.items():
        words += ["--missing-as", f"{position}={filler}"]
    assert run([*words, "--floor", "1", "-o", str(contract_file), "--json"]) == 0, capsys.readouterr().out
    contract = contract_of(json.loads(contract_file.read_text()), "contract")
    schema = schema_of_contract(contract)
    settings = DataSettings(path=DATA / file, contract=contract, class_column=target)
    rows = open_source(settings, tmp_path).freeze(schema, bytes(16)).rows()
    table = read_table(DataSettings(path=DATA / file))
    measured = 0
    for place, attribute in enumerate(schema.attributes):
        if attribute.fixed_point is None:
            continue
        measured += 1
        codes = rows.attributes[place].tolist()
        owner = next(one for one in contract.attributes if one.name == attribute.name)
        empty = {Decimal(code) for code in owner.missing_codes}
        for text, code in zip(table.find(attribute.name, "name").texts(), codes, strict=True):
            read = Decimal(text.replace(",", ".")) if text else None
            number = attribute.fixed_point.missing if read is None or read in empty else read
            assert number is not None
            assert code == attribute.fixed_point.code_of(attribute.name, number)
    assert measured > 0


def test_a_wrong_tree_is_seen(tmp_path: Path) -> None:
    """The comparison above can fail."""
    case = load("zoo")
    settings = replace(DataSettings(), path=case.write_csv(tmp_path / "zoo.csv", case.rows[:50]))
    snapshot = open_source(settings, tmp_path).freeze(case.schema, bytes(16))
    tree = grow(case.schema, RULES, snapshot.count).tree
    assert differences(in_order_of(reference_form(tree, case.schema), case.expected), case.expected)
