"""The public data sets beside the repository, prepared as the reference trees say, and those trees.

`load(name)` gives rows as text, the schema, and the tree that other programs grew. The folder `shared`
stands next to the repository and is not part of it; `is_available` tells whether it is there.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from shared.tree.schema import Attribute, Schema

Criterion = Literal["information-gain", "gain-ratio"]
Fields = list[str]

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
TREES = SHARED / "reference_trees"
DATA = SHARED / "data"
SKIP_REASON = "the data sets and reference trees are not beside this checkout (../shared)"


@dataclass(frozen=True, slots=True)
class ReferenceCase:
    """One data set with a tree grown by another program.

    `rows`: text fields in the order of `attribute_names`, then the class label. `expected`: Weka's Id3 tree,
    or the one that taking the first of tied columns gives where a file has it (gain ratio: `tree_plain`).
    `ties`: paths as ((attribute, value), ...) of the nodes at which columns tie exactly.
    """

    name: str
    schema: Schema
    rows: tuple[tuple[str, ...], ...]
    attribute_names: tuple[str, ...]
    class_labels: tuple[str, ...]
    expected: dict[str, Any]
    ties: frozenset[tuple[tuple[str, str], ...]]
    document: dict[str, Any]

    @property
    def codes(self) -> list[tuple[int, ...]]:
        """The rows as indices, the class last."""
        return [
            (
                *(
                    attribute.code_of(text)
                    for attribute, text in zip(self.schema.attributes, row[:-1], strict=True)
                ),
                self.schema.class_code(row[-1]),
            )
            for row in self.rows
        ]

    def write_csv(self, path: Path, rows: Iterable[tuple[str, ...]] | None = None) -> Path:
        """The rows (all, or those given) as a CSV file with a header, class column last."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*self.attribute_names, self.schema.class_name])
            writer.writerows(self.rows if rows is None else rows)
        return path


def is_available() -> bool:
    """Whether the reference trees and the data are there."""
    return TREES.is_dir() and DATA.is_dir()


def names(criterion: Criterion = "information-gain") -> list[str]:
    """The data sets with a tree by this criterion and a reader here (all information-gain ones)."""
    ending = f".{criterion}.json"
    found = sorted(path.name.removesuffix(ending) for path in TREES.glob(f"*{ending}"))
    return [name for name in found if criterion == "information-gain" or _reader_name(name) in _READERS]


@cache
def load(name: str, criterion: Criterion = "information-gain") -> ReferenceCase:
    """One case. Raises: KeyError: no reader for that name; FileNotFoundError: no such tree."""
    document = json.loads((TREES / f"{name}.{criterion}.json").read_text(encoding="utf-8"))
    rows = tuple(tuple(row) for row in _READERS[_reader_name(name)]())[: document["rows"]]
    if len(rows) != document["rows"]:
        raise ValueError(f"{name}: the file has {len(rows)} rows, the reference says {document['rows']}")
    schema = Schema.create(
        (Attribute(column, tuple(values)) for column, values in document["attributes"].items()),
        document["class_column"],
        document["class_order"],
    )
    tree = document["tree_plain" if criterion == "gain-ratio" else "tree"]
    return ReferenceCase(
        name,
        schema,
        rows,
        tuple(document["attributes"]),
        tuple(document["class_order"]),
        document.get("tree_first_of_tied", tree),
        frozenset(tuple((a, v) for a, v in tie["path"]) for tie in document.get("ties", [])),
        document,
    )


def deal(rows: Iterable[Any], hospitals: int) -> list[list[Any]]:
    """Rows dealt round robin, as the demo deals them."""
    dealt: list[list[Any]] = [[] for _ in range(hospitals)]
    for index, row in enumerate(rows):
        dealt[index % hospitals].append(row)
    return dealt


def differences(
    ours: dict[str, Any], expected: dict[str, Any], path: tuple[tuple[str, str], ...] = ()
) -> list[str]:
    """Where a tree in the reference form departs from an expected one; empty when they agree.

    Weka's empty leaf has no label, only the majorities above; ours must be one of them. Gain-ratio trees give
    the errors of an impure leaf in place of its classes.
    """
    where = "/".join(f"{attribute}={value}" for attribute, value in path) or "root"
    if "leaf" in expected:
        return (
            [] if "leaf" in ours and _leaf_agrees(ours, expected) else [f"{where}: {ours} is not {expected}"]
        )
    if ours.get("attribute") != expected["attribute"]:
        return [f"{where}: {ours.get('attribute', 'a leaf')} is not {expected['attribute']}"]
    if list(ours["branches"]) != list(expected["branches"]):
        return [f"{where}: the branches of {expected['attribute']} differ"]
    return [
        difference
        for value, subtree in expected["branches"].items()
        for difference in differences(
            ours["branches"][value], subtree, (*path, (expected["attribute"], value))
        )
    ]


def _leaf_agrees(ours: dict[str, Any], expected: dict[str, Any]) -> bool:
    if ours["count"] != expected["count"]:
        return False
    if expected["leaf"] is None:
        return ours["leaf"] in expected["majority_above"]
    if "errors" in expected:
        classes = ours.get("classes", {ours["leaf"]: ours["count"]})
        return (
            ours["leaf"] == expected["leaf"] and ours["count"] - classes[ours["leaf"]] == expected["errors"]
        )
    return ours["leaf"] == expected["leaf"] and ours.get("classes") == expected.get("classes")


def _reader_name(name: str) -> str:
    return "acute-inflammations" if name.startswith("acute-inflammations-") else name


def _delimited(file: str, **options: Any) -> Iterator[Fields]:
    text = (DATA / file).read_text(encoding="utf-8-sig")
    return (row for row in csv.reader(io.StringIO(text), **options) if row)


def _class_last(file: str) -> Callable[[], Iterator[Fields]]:
    return lambda: _delimited(file)


def _class_first(file: str) -> Callable[[], Iterator[Fields]]:
    return lambda: ([*row[1:], row[0]] for row in _delimited(file))


def _without_first_column(file: str, header: bool) -> Callable[[], Iterator[Fields]]:
    return lambda: (row[1:] for index, row in enumerate(_delimited(file)) if index or not header)


def _arff(file: str) -> Callable[[], Iterator[Fields]]:
    def read() -> Iterator[Fields]:
        lines = (DATA / file).read_text(encoding="utf-8").splitlines()
        start = next(index for index, line in enumerate(lines) if line.strip().lower() == "@data") + 1
        return (row for row in csv.reader(lines[start:]) if row and not row[0].startswith("%"))

    return read


def _acute_inflammations() -> Iterator[Fields]:
    text = (DATA / "acute-inflammations/diagnosis.data").read_text(encoding="utf-16")
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 8:
            symptoms = ["1" if field.strip() == "yes" else "0" for field in fields[1:]]
            yield [*symptoms[:5], str(2 * int(symptoms[5]) + int(symptoms[6]))]


def _heart() -> Iterator[Fields]:
    categorical = (1, 2, 5, 6, 8, 10, 11, 12)
    for hospital in ("cleveland", "hungarian"):
        for row in _delimited(f"heart-disease/processed.{hospital}.data"):
            fields = [row[column].removesuffix(".0") for column in categorical]
            yield [*fields, "1" if int(row[13]) > 0 else "0"]


_READERS: dict[str, Callable[[], Iterator[Fields]]] = {
    "acute-inflammations": _acute_inflammations,
    "balance-scale": _class_first("balance-scale/balance-scale.data"),
    "breast-cancer-ljubljana": _class_first("breast-cancer-ljubljana/breast-cancer.data"),
    "car-evaluation": _class_last("car-evaluation/car.data"),
    "contact-lenses": _arff("contact-lenses/contact-lenses.arff"),
    "early-stage-diabetes": _without_first_column(
        "early-stage-diabetes/diabetes_data_upload.csv", header=True
    ),
    "heart-2-hospitals-categorical": _heart,
    "kr-vs-kp": _class_last("kr-vs-kp/kr-vs-kp.data"),
    "lymphography": _class_first("lymphography/lymphography.data"),
    "mushroom": _class_first("mushroom/agaricus-lepiota.data"),
    "play-tennis": _arff("play-tennis/weather.nominal.arff"),
    "spect-train": _class_first("spect-heart/SPECT.train"),
    "thyroid-recurrence": _without_first_column("thyroid-recurrence/Thyroid_Diff.csv", header=True),
    "tic-tac-toe": _class_last("tic-tac-toe/tic-tac-toe.data"),
    "vote": _class_first("vote/house-votes-84.data"),
    "zoo": _without_first_column("zoo/zoo.data", header=False),
}
