"""A data contract in words: every recoding, unit and fate of empty fields that a steward approves."""

from __future__ import annotations

import json
from typing import Any

from shared.contract.files import contract_of
from shared.ids import AgentId
from shared.protocol.contract_words import contract_words
from shared.protocol.plain_words import words_of
from tests.support.studies import document
from tests.support.world import Parties

CONTRACT: dict[str, Any] = {
    "name": "heart",
    "attributes": [
        {
            "name": "icd",
            "kind": "category",
            "values": [{"value": "heart", "prefixes": ["I2", "I5"]}, {"value": "other", "other": True}],
            "missing_policy": "fractional",
        },
        {
            "name": "chol",
            "unit": "mg/dL",
            "kind": "number",
            "cuts": ["200"],
            "minimum": "20",
            "missing_codes": ["?", "0"],
            "conversions": [
                {"unit": "mmol/L", "factor": "38.67"},
                {"unit": "mg/L", "factor": "0.1", "offset": "-1"},
            ],
        },
        {
            "name": "lactate",
            "kind": "number",
            "minimum": "0",
            "maximum": "9",
            "decimals": 1,
            "missing_as": "2",
        },
    ],
    "class": {
        "name": "num",
        "values": [{"value": "no", "texts": ["0"]}, {"value": "yes", "texts": ["1", "2"]}],
    },
}


def test_all_that_is_done_to_texts_is_told() -> None:
    (text,) = contract_words(contract_of(json.loads(json.dumps(CONTRACT)), "contract"))
    for told in (
        "data contract heart",
        "icd: all that begins with I2, I5 counts as heart; everything else counts as other.",
        "num: 0 counts as no; 1, 2 counts as yes.",
        "Units: chol in mg/dL.",
        "in another unit are changed: chol from mmol/L times 38.67, chol from mg/L times 0.1 plus -1.",
        "A number outside its range keeps the hospital out of a job: chol from 20, lactate 0 to 9.",
        "Empty fields of icd are sent down every branch in parts",
        "Empty fields of chol are refused",
        "Empty fields count as a number for lactate (2).",
        "Read as empty in some columns: 0, ?.",
    ):
        assert told in text


def test_a_list_that_is_cut_short_says_where_it_is_whole() -> None:
    values = [{"value": "heart", "prefixes": [f"I{n}" for n in range(15)]}, {"value": "other", "other": True}]
    changed = {**CONTRACT, "attributes": [{**CONTRACT["attributes"][0], "values": values}]}
    (text,) = contract_words(contract_of(changed, "contract"))
    assert "I11 and 3 more counts as heart" in text
    assert "told whole by the command privet agent studies show FOLDER STUDY --json" in text
    assert "cut short" not in contract_words(contract_of(CONTRACT, "contract"))[0]


def test_a_study_without_a_contract_reads_as_before() -> None:
    assert contract_words(None) == []
    assert not any(
        "data contract" in text
        for text in words_of(document(Parties([AgentId(name) for name in ("h1", "h2", "h3")])))
    )
