"""The demo's numeric records: the table that scikit-learn ships, exactly, and the tree of the pooled rows."""

from __future__ import annotations

from collections import Counter
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from hospital_agent.records.draft import draft_schema
from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from privet.demo import breast_cancer
from privet.demo.dealing import DemoRecords, prepare
from privet.demo.options import DemoOptions
from privet.demo.pooled import grow_pooled_numbers
from shared.errors import InputError
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.prediction import predict
from tests.support import reference_data

MODE = DemoOptions(mode="gain-ratio")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> DemoRecords:
    return prepare(MODE, tmp_path_factory.mktemp("records"))


def test_the_numbers_are_those_of_scikit_learn(records: DemoRecords) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    shipped = datasets.load_breast_cancer()
    assert [attribute.name for attribute in records.schema.attributes] == list(shipped.feature_names)
    assert list(shipped.target_names) == list(breast_cancer.CLASSES)
    scales = [attribute.fixed_point for attribute in records.schema.attributes]
    values = [
        [float(scale.number_of(code)) for scale, code in zip(scales, row[:-1], strict=True) if scale]
        for row in records.rows
    ]
    labels = [breast_cancer.CLASSES.index(records.schema.classes[row[-1]]) for row in records.rows]
    expected = [(*row, int(label)) for row, label in zip(shipped.data.tolist(), shipped.target, strict=True)]
    found = [(*row, label) for row, label in zip(values, labels, strict=True)]
    assert Counter(found) == Counter(expected)


@pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)
def test_the_numbers_are_those_of_the_archive() -> None:
    lines = (reference_data.DATA / "breast-cancer-wisconsin-diagnostic/wdbc.data").read_text().split()
    archive = [fields[2:] for fields in (line.split(",") for line in lines)]
    shipped = [line.split(",")[:-1] for line in breast_cancer.csv_text().splitlines()[1:]]
    assert np.array_equal(np.array(shipped, dtype=float), np.array(archive, dtype=float))


def test_three_hospitals_hold_all_records(records: DemoRecords) -> None:
    assert len(records.rows) == 569
    sizes = [read_table(hospital.settings).row_count for hospital in records.hospitals]
    assert sizes == [190, 190, 189]


def test_schema_is_exact_and_narrow(records: DemoRecords) -> None:
    scales = {attribute.name: attribute.fixed_point for attribute in records.schema.attributes}
    radius = scales["mean radius"]
    assert radius is not None
    assert (str(radius.minimum), str(radius.maximum), radius.decimals) == ("6.981", "28.11", 3)
    assert max(scale.width_bits for scale in scales.values() if scale) == 23
    assert records.schema.classes == ("benign", "malignant")


def test_the_pooled_tree(records: DemoRecords) -> None:
    tree = grow_pooled_numbers(records, GainRatioRules(20))
    names = [attribute.name for attribute in records.schema.attributes]
    scales = [attribute.fixed_point for attribute in records.schema.attributes]
    wrong = 0
    for row in records.rows:
        numbers = {
            name: str(scale.number_of(code))
            for name, scale, code in zip(names, scales, row[:-1], strict=True)
            if scale
        }
        wrong += predict(tree, records.schema, numbers).label != records.schema.classes[row[-1]]
    assert (wrong, tree.node_count, tree.depth) == (0, 61, 17)


def test_without_scikit_learn_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_package(_name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(breast_cancer, "find_spec", no_package)
    with pytest.raises(InputError, match=r"pip install 'privet\[sklearn\]'"):
        prepare(MODE, tmp_path)


def test_own_files_mix_numbers_and_categories(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    rows = "".join(f"{n % 7}.{n % 3}0,{'fm'[n % 2]},{n % 4},{'yes' if n % 2 else 'no'}\n" for n in range(24))
    path.write_text("weight,sex,visits,ill\n" + rows)
    mine = prepare(DemoOptions(mode="gain-ratio", files=(path,)), tmp_path)
    weight, sex, visits = mine.schema.attributes
    assert weight.fixed_point is not None
    assert (weight.fixed_point.decimals, weight.fixed_point.greatest_code) == (1, 62)
    assert (sex.values, sex.treat_as) == (("f", "m"), "equality")
    assert visits.fixed_point is not None
    assert visits.fixed_point.greatest_code == 3
    tree = grow_pooled_numbers(mine, GainRatioRules(2))
    assert tree.canonical() == b'{"attr":1,"equals":1,"kids":[{"leaf":0},{"leaf":1}]}'


def test_an_identifier_is_no_measurement(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_text("id,sex,ill\n" + "".join(f"{100 + n},f,{'yes' if n % 2 else 'no'}\n" for n in range(24)))
    with pytest.raises(InputError, match="identifier"):
        draft_schema([read_table(DataSettings(path=path))], "ill", numbers=True)
