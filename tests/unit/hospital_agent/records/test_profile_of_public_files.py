"""What `privet data inspect` says of every public file: the advice that its README gives, and no wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hospital_agent.records.files import read_table
from hospital_agent.records.profile.finding import Weight
from hospital_agent.records.profile.profile import profile_of
from hospital_agent.records.source import DataSettings
from tests.support.reference_data import DATA, SKIP_REASON

pytestmark = [pytest.mark.long, pytest.mark.skipif(not DATA.is_dir(), reason=SKIP_REASON)]

Advice = dict[str, set[int]]
"""Code of a finding to the positions of its columns."""

ADVICE: dict[str, tuple[int, Advice]] = {
    # file: position of the class, and all findings of weight stop, act or look about single columns
    "acute-inflammations/diagnosis.data": (8, {}),
    "adult/adult.data": (
        15,
        {"missing-code": {2, 7, 14}, "maybe-identifier": {3}, "same-as": {5}, "missing-number": {11}},
    ),
    "balance-scale/balance-scale.data": (1, {}),
    "breast-cancer-ljubljana/breast-cancer.arff": (10, {}),
    "breast-cancer-ljubljana/breast-cancer.data": (1, {"missing-code": {6, 9}}),
    "breast-cancer-wisconsin-diagnostic/wdbc.data": (2, {"identifier": {1}}),
    "breast-cancer-wisconsin-original/breast-cancer-wisconsin.data": (
        11,
        {"identifier": {1}, "missing-code": {7}},
    ),
    "car-evaluation/car.data": (7, {}),
    "contact-lenses/contact-lenses.arff": (5, {}),
    "early-stage-diabetes/diabetes_data_upload.csv": (17, {"duplicate-rows": set()}),
    "heart-disease/processed.cleveland.data": (14, {"missing-code": {12, 13}}),
    "heart-disease/processed.hungarian.data": (
        14,
        {"missing-code": {4, 5, 6, 7, 8, 9, 11, 12, 13}},
    ),
    "hepatitis/hepatitis.data": (
        1,
        {"missing-code": {4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, "impossible-zero": {19}},
    ),
    "indian-liver-patient/Indian Liver Patient Dataset (ILPD).csv": (11, {}),
    "kr-vs-kp/kr-vs-kp.data": (37, {}),
    "lymphography/lymphography.data": (1, {}),
    "mammographic-mass/mammographic_masses.data": (
        6,
        {"missing-code": {1, 2, 3, 4, 5}, "far-value": {1}, "duplicate-rows": set()},
    ),
    "mushroom/agaricus-lepiota.data": (1, {"missing-code": {12}, "constant": {17}}),
    "pima-diabetes/diabetes.arff": (9, {"impossible-zero": {2, 3, 4, 5, 6}}),
    "pima-diabetes/pima-indians-diabetes.data": (9, {"impossible-zero": {2, 3, 4, 5, 6}}),
    "play-tennis/weather.nominal.arff": (5, {}),
    "play-tennis/weather.numeric.arff": (5, {}),
    "primary-tumor/primary-tumor.arff": (18, {}),
    "spect-heart/SPECT.test": (1, {}),
    "spect-heart/SPECT.train": (1, {}),
    "thyroid-ann/ann-test.data": (22, {"constant": {15}}),
    "thyroid-ann/ann-train.data": (22, {}),
    "thyroid-recurrence/Thyroid_Diff.csv": (17, {}),
    "tic-tac-toe/tic-tac-toe.data": (10, {}),
    "vote/house-votes-84.data": (1, {"missing-code": set(range(2, 18))}),
    "vote/vote.arff": (17, {}),
    "zoo/zoo.data": (18, {"identifier": {1}}),
}
NOTES: dict[str, Advice] = {
    "acute-inflammations/diagnosis.data": {"decimal-comma": {1}},
    "indian-liver-patient/Indian Liver Patient Dataset (ILPD).csv": {"gaps": {10}},
    "lymphography/lymphography.data": {"unbalanced": {1}},
    "spect-heart/SPECT.train": {"contradictory-rows": set()},
    "primary-tumor/primary-tumor.arff": {"contradictory-rows": set()},
}


def found_in(file: str, target: int) -> list[tuple[str, Weight, set[int]]]:
    table = read_table(DataSettings(path=DATA / file))
    places = {column.name: column.position for column in table.columns}
    findings = profile_of(table, 5, target).findings
    return [
        (finding.code, finding.weight, {places[name] for name in finding.columns}) for finding in findings
    ]


@pytest.mark.parametrize("file", ADVICE)
def test_the_advice_on_every_public_file(file: str) -> None:
    target, expected = ADVICE[file]
    advice: Advice = {}
    for code, weight, places in found_in(file, target):
        if weight is not Weight.NOTE:
            advice.setdefault(code, set()).update(places)
    assert advice == expected


@pytest.mark.parametrize("file", NOTES)
def test_what_is_worth_knowing_of_some(file: str) -> None:
    found = {code: places for code, _, places in found_in(file, ADVICE[file][0])}
    assert NOTES[file].items() <= found.items() or all(
        places <= found[code] for code, places in NOTES[file].items()
    )


def test_every_public_file_is_looked_at() -> None:
    files = {path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file()}
    assert {file for file in files if Path(file).name != "README.md"} == set(ADVICE)
