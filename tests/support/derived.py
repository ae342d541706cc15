"""A study that makes a class and three attributes of several columns, and records whose values are known by hand."""

from __future__ import annotations

import csv
import io
from typing import Any

from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract

AGREED: dict[str, Any] = {
    "inputs": [
        {"name": "weight", "kind": "number", "unit": "kg", "minimum": "2", "maximum": "400",
         "conversions": [{"unit": "[lb_av]", "factor": "0.45359237"}], "missing_codes": ["-9"]},
        {"name": "height", "columns": ["Groesse"], "kind": "number", "unit": "m"},
        {"name": "admitted", "kind": "date", "formats": ["YYYY-MM-DD", "DD.MM.YYYY"]},
        {"name": "discharged", "kind": "date", "formats": ["YYYY-MM-DD", "DD.MM.YYYY"]},
        {"name": "cough", "kind": "category", "spelling": "folded", "missing_codes": ["?"]},
        {"name": "fever", "kind": "category", "values": [{"value": "yes", "texts": ["1"]}, {"value": "no"}]},
        {"name": "bladder", "kind": "category"},
        {"name": "nephritis", "kind": "category"},
    ],
    "derived": [
        {"kind": "product", "name": "bmi", "columns": ["weight", "height"], "powers": [1, -2], "decimals": 1},
        {"kind": "days", "name": "stay", "columns": ["admitted", "discharged"]},
        {"kind": "any", "name": "ill", "columns": ["cough", "fever"], "texts": ["Yes", "yes"],
         "value": "yes", "otherwise": "no"},
        {"kind": "combination", "name": "diagnosis", "columns": ["bladder", "nephritis"],
         "cases": [{"when": ["yes", "yes"], "value": "both"}, {"when": ["yes", None], "value": "bladder"},
                   {"when": ["no", "yes"], "value": "nephritis"}], "otherwise": "none"},
    ],
}  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "name": "derived",
    "attributes": [
        {"name": "bmi", "kind": "number", "cuts": ["22.9", "25", "30"], "missing_policy": "category"},
        {"name": "stay", "kind": "number", "cuts": ["0", "7"], "missing_policy": "category"},
        {"name": "sex", "kind": "category", "values": [{"value": "f"}, {"value": "m", "texts": ["male"]}]},
        {"name": "ill", "kind": "category", "missing_policy": "category",
         "values": [{"value": "no"}, {"value": "yes"}]},
    ],
    "class": {"name": "diagnosis", "values": [
        {"value": "none"}, {"value": "bladder"}, {"value": "nephritis"}, {"value": "both"}]},
    **AGREED,
}  # fmt: skip
CONTRACT = contract_of(DOCUMENT, "derived")
SCHEMA = schema_of_contract(CONTRACT)
COLUMNS = ["weight", "height", "admitted", "discharged", "cough", "fever", "bladder", "nephritis", "sex"]
# Weight, height, two dates, two symptoms, two findings, sex; then what a person makes of them.
ROWS: list[tuple[list[str], list[str]]] = [
    (["70", "1.75", "2026-01-30", "2026-02-02", "YES", "no", "yes", "yes", "f"], ["22.9", "3", "yes", "both"]),
    (["70.0", "1.750", "2026-02-02", "2026-02-02", "no", "1", "yes", "", "male"], ["22.9", "0", "yes", "bladder"]),
    (["80", "1.60", "28.2.2024", "2024-03-01", "no", "no", "no", "yes", "m"], ["31.3", "2", "no", "nephritis"]),
    (["-9", "1.60", "2026-02-02", "2026-01-01", "?", "no", "no", "no", "f"], ["", "-32", "", "none"]),
    (["90", "", "", "2026-01-01", "?", "yes", "no", "no", "f"], ["", "", "yes", "none"]),
    (["61.25", "1.75", "1999-12-31", "2000-01-08", "no", "", "yes", "no", "m"], ["20", "8", "", "bladder"]),
]  # fmt: skip
MADE = [made for _, made in ROWS]


def codes() -> list[tuple[int, ...]]:
    """What the rows are in the schema, the class last, by the values of MADE alone."""
    order = [SCHEMA.attributes[0], SCHEMA.attributes[1], SCHEMA.attributes[3]]
    found: list[tuple[int, ...]] = []
    for fields, made in ROWS:
        bmi, stay, ill = (one.code_of(text) for one, text in zip(order, made, strict=False))
        sex = SCHEMA.attributes[2].code_of("m" if fields[8] == "male" else fields[8])
        found.append((bmi, stay, sex, ill, SCHEMA.class_code(made[3])))
    return found


def csv_text(*, names: list[str] | None = None) -> str:
    """The rows as a hospital's file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names or COLUMNS)
    writer.writerows(fields for fields, _ in ROWS)
    return text.getvalue()
