"""The public files in their original form: where the class is, which options `privet data draft` needs, and how each is
dealt to three hospitals, the first of which has the beginning of the file sorted by class.

Nothing here edits a record: parts of a file are lines of it, in its own encoding, below its own header.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped,unused-ignore]

from tests.support.reference_data import DATA

HOSPITALS = ("h1", "h2", "h3")
_UTF16 = "utf-16"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one file, or those of two hospitals, becomes a contract.

    `target`: position of the class in the file, of one of its two columns where it is made of them. `options`: of
    `privet data draft`, all that are needed beside the class, the names and the floor. `reference`: the tree that other
    programs grew, by name; its attributes name the columns of a file without header. `measured`: the tree is one of
    mode gain-ratio. `query`: the records are what this SQL makes of `{file}`. `derive`: the file of `--derive`, which
    makes the class; `names` are then those of the file's columns. `recoded`: position of a column to old and new texts,
    for the second reading. `labels`: our class labels to the reference's. `twin`: the same records in another form,
    which give the same tree.
    """

    files: tuple[str, ...]
    target: int
    options: tuple[str, ...] = ()
    reference: str | None = None
    measured: bool = False
    query: str | None = None
    derive: Path | None = None
    names: tuple[str, ...] = ()
    recoded: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    twin: str | None = None

    @property
    def class_words(self) -> str:
        """The class on the command line: its position, or its name where it is made of other columns."""
        return "Class" if self.query or self.derive else str(self.target)

    @property
    def paths(self) -> list[Path]:
        """The files where they lie."""
        return [DATA / file for file in self.files]


def dealt_lines(path: Path, target: int) -> list[bytes]:
    """One file's records for each of three hospitals, as files of the same form.

    The first takes a quarter of the records, sorted by class, so that it may know one class only; the others deal
    the rest in the file's order, one record to the second for two to the third.
    """
    encoding = _UTF16 if path.read_bytes().startswith(b"\xff\xfe") else "utf-8"
    with path.open(encoding=encoding, newline="") as file:
        head, records = _lines_of(file.read(), path.suffix)
    by_class = sorted(range(len(records)), key=lambda place: (_class_of(records[place], target), place))
    first = set(by_class[: len(records) // 4])
    rest = [place for place in range(len(records)) if place not in first]
    hands = [by_class[: len(first)], rest[::3], [place for index, place in enumerate(rest) if index % 3]]
    return ["".join([*head, *(records[place] for place in hand)]).encode(encoding) for hand in hands]


def _lines_of(text: str, suffix: str) -> tuple[list[str], list[str]]:
    """What stands above the records, and the records, each with a line end."""
    lines = text.splitlines(keepends=True)
    starts = {".arff": next((n for n, line in enumerate(lines, 1) if line.lower().startswith("@data")), 0)}
    start = starts.get(suffix, 1 if lines[0].split(",")[0] == "Age" else 0)
    records = [line for line in lines[start:] if line.strip() and not line.startswith("%")]
    end = "\r\n" if records[0].endswith("\r\n") else "\n"
    return lines[:start], [line.rstrip("\r\n") + end for line in records]


def _class_of(line: str, target: int) -> str:
    mark = "\t" if "\t" in line else "," if "," in line else " "
    return line.strip().split(mark)[target - 1].strip()


def fields_of(path: Path) -> list[list[str]]:
    """The records by pandas, as texts without blanks around them, a gap as the file writes it."""
    with path.open("rb") as raw:
        encoding = _UTF16 if raw.read(2) == b"\xff\xfe" else "utf-8"
    text = path.read_text(encoding=encoding)
    _, records = _lines_of(text, path.suffix)
    mark = "\t" if "\t" in records[0] else "," if "," in records[0] else r"\s+"
    table = pd.read_csv(
        io.StringIO("".join(records)),
        sep=mark,
        header=None,
        dtype=str,
        keep_default_na=False,
        quotechar="'",
        skipinitialspace=True,
    )
    return [[field.strip() for field in row] for row in table.to_numpy().tolist()]


def words(*texts: str) -> tuple[str, ...]:
    """Options as they are typed, blanks between them."""
    return tuple(word for text in texts for word in text.split())


def _same(option: str, columns: Sequence[int], ending: str = "") -> tuple[str, ...]:
    return words(*(f"{option} {column}{ending}" for column in columns))


_ACUTE = """\
SELECT CAST(column1 AS INTEGER) AS "Nausea", CAST(column2 AS INTEGER) AS "Lumbar pain",
 CAST(column3 AS INTEGER) AS "Urine pushing", CAST(column4 AS INTEGER) AS "Micturition pains",
 CAST(column5 AS INTEGER) AS "Burning of urethra",
 2 * CAST(column6 AS INTEGER) + CAST(column7 AS INTEGER) AS "Class"
FROM read_csv('{file}', encoding = 'utf-16', delim = '\t', header = false)"""
_SYMPTOMS = ("Nausea", "Lumbar pain", "Urine pushing", "Micturition pains", "Burning of urethra")
_YES_AS_ONE = words(*(f"--recode {column}:no=0 --recode {column}:yes=1" for column in range(2, 7)))
_GRADES = {14: dict.fromkeys("234", "1")}
_HEART = words("--missing ?", *(f"--recode 14:{grade}=1" for grade in "234"))
_MEASURED_HEART = (*_HEART, "--measured", *_same("--number", range(1, 14)))
_LEAST_OF_HEART = {4: "92", 5: "85", 6: "0", 7: "0", 8: "71", 9: "0", 11: "1", 12: "0", 13: "3"}
_GAPS_OF_HEART = words(*(f"--missing-as {column}={least}" for column, least in _LEAST_OF_HEART.items()))
_CLEVELAND, _HUNGARIAN = (
    f"heart-disease/processed.{hospital}.data" for hospital in ("cleveland", "hungarian")
)
_ZEROS = {2: 120, 3: 70, 4: 29, 5: 125, 6: 32}
_APPLY = ("--apply",)

RECIPES: dict[str, Recipe] = {
    "acute-inflammations": Recipe(
        ("acute-inflammations/diagnosis.data",),
        8,
        ("--drop", "1", *_YES_AS_ONE),
        "acute-inflammations-120",
        derive=Path(__file__).with_name("acute_inflammations.json"),
        names=("temperature", *_SYMPTOMS, "bladder", "nephritis"),
    ),
    "acute-inflammations, by a query": Recipe(
        ("acute-inflammations/diagnosis.data",), 8, (), "acute-inflammations-120", query=_ACUTE
    ),
    "acute-inflammations, temperature": Recipe(
        ("acute-inflammations/diagnosis.data",), 8, words("--drop 7 --measured"), measured=True
    ),
    "adult": Recipe(("adult/adult.data",), 15, words("--apply --drop 3 --drop 5 --measured"), measured=True),
    "balance-scale": Recipe(("balance-scale/balance-scale.data",), 1, (), "balance-scale"),
    "breast-cancer.data": Recipe(
        ("breast-cancer-ljubljana/breast-cancer.data",), 1, _APPLY, "breast-cancer-ljubljana"
    ),
    "breast-cancer.arff": Recipe(
        ("breast-cancer-ljubljana/breast-cancer.arff",), 10, (), "breast-cancer-ljubljana"
    ),
    "breast-cancer-wisconsin": Recipe(
        ("breast-cancer-wisconsin-original/breast-cancer-wisconsin.data",),
        11,
        ("--apply", "--measured", *_same("--number", range(2, 11)), "--missing-as", "7=1"),
        "breast-cancer-wisconsin",
        measured=True,
    ),
    "wdbc": Recipe(
        ("breast-cancer-wisconsin-diagnostic/wdbc.data",),
        2,
        words("--apply --measured"),
        "wdbc",
        measured=True,
    ),
    "car-evaluation": Recipe(("car-evaluation/car.data",), 7, (), "car-evaluation"),
    "contact-lenses": Recipe(("contact-lenses/contact-lenses.arff",), 5, (), "contact-lenses"),
    "early-stage-diabetes": Recipe(
        ("early-stage-diabetes/diabetes_data_upload.csv",), 17, words("--drop Age"), "early-stage-diabetes"
    ),
    "early-stage-diabetes, age": Recipe(
        ("early-stage-diabetes/diabetes_data_upload.csv",),
        17,
        ("--measured",),
        "early-stage-diabetes-numeric",
        measured=True,
    ),
    "heart, two hospitals": Recipe(
        (_CLEVELAND, _HUNGARIAN),
        14,
        (*_HEART, *_same("--drop", (1, 4, 5, 8, 10))),
        "heart-2-hospitals-categorical",
        recoded=_GRADES,
    ),
    "heart, two hospitals, numbers": Recipe(
        (_CLEVELAND, _HUNGARIAN),
        14,
        (*_MEASURED_HEART, *_GAPS_OF_HEART),
        "heart-2-hospitals",
        measured=True,
        recoded=_GRADES,
    ),
    "heart, Cleveland": Recipe(
        (_CLEVELAND,),
        14,
        (*_MEASURED_HEART, *words("--missing-as 12=0 --missing-as 13=3")),
        "heart-cleveland",
        measured=True,
        recoded=_GRADES,
    ),
    "heart, Hungary": Recipe(
        (_HUNGARIAN,), 14, (*_MEASURED_HEART, *_GAPS_OF_HEART), "heart-hungarian", measured=True
    ),
    "hepatitis": Recipe(
        ("hepatitis/hepatitis.data",),
        1,
        words(
            "--apply --missing-policy category --cuts 2=30,40,50 --cuts 15=1,2 --cuts 16=80,120 --cuts 17=40,100",
            "--cuts 18=3,4 --cuts 19=40,60",
        ),
    ),
    "indian-liver-patient": Recipe(
        ("indian-liver-patient/Indian Liver Patient Dataset (ILPD).csv",),
        11,
        words("--measured --missing-as 10=1"),
        measured=True,
    ),
    "kr-vs-kp": Recipe(("kr-vs-kp/kr-vs-kp.data",), 37, (), "kr-vs-kp"),
    "lymphography": Recipe(("lymphography/lymphography.data",), 1, (), "lymphography"),
    "mammographic-mass": Recipe(
        ("mammographic-mass/mammographic_masses.data",),
        6,
        words("--apply --recode 1:55=5 --cuts 2=40,50,60,70"),
        recoded={1: {"55": "5"}},
    ),
    "mushroom": Recipe(("mushroom/agaricus-lepiota.data",), 1, _APPLY, "mushroom"),
    "pima-indians-diabetes.data": Recipe(
        ("pima-diabetes/pima-indians-diabetes.data",), 9, ("--measured",), "pima-diabetes", measured=True
    ),
    "pima-indians-diabetes.data, zeros as gaps": Recipe(
        ("pima-diabetes/pima-indians-diabetes.data",),
        9,
        words(
            "--apply --measured", *(f"--missing-as {column}={number}" for column, number in _ZEROS.items())
        ),
        measured=True,
    ),
    "diabetes.arff": Recipe(
        ("pima-diabetes/diabetes.arff",),
        9,
        ("--measured",),
        "pima-diabetes",
        measured=True,
        labels={"tested_negative": "0", "tested_positive": "1"},
        twin="pima-indians-diabetes.data",
    ),
    "play-tennis": Recipe(("play-tennis/weather.nominal.arff",), 5, (), "play-tennis"),
    "play-tennis, numbers": Recipe(
        ("play-tennis/weather.numeric.arff",),
        5,
        words("--measured --number humidity"),
        "play-tennis-numeric",
        measured=True,
    ),
    "primary-tumor": Recipe(("primary-tumor/primary-tumor.arff",), 18),
    "SPECT.train": Recipe(("spect-heart/SPECT.train",), 1, (), "spect-train"),
    "SPECT.test": Recipe(("spect-heart/SPECT.test",), 1),
    "thyroid-ann, train": Recipe(("thyroid-ann/ann-train.data",), 22, ("--measured",), measured=True),
    "thyroid-ann, test": Recipe(("thyroid-ann/ann-test.data",), 22, ("--measured",), measured=True),
    "thyroid-recurrence": Recipe(
        ("thyroid-recurrence/Thyroid_Diff.csv",), 17, words("--drop Age"), "thyroid-recurrence"
    ),
    "thyroid-recurrence, age": Recipe(
        ("thyroid-recurrence/Thyroid_Diff.csv",),
        17,
        ("--measured",),
        "thyroid-recurrence-numeric",
        measured=True,
    ),
    "tic-tac-toe": Recipe(("tic-tac-toe/tic-tac-toe.data",), 10, (), "tic-tac-toe"),
    "house-votes-84.data": Recipe(("vote/house-votes-84.data",), 1, _APPLY, "vote"),
    "vote.arff": Recipe(("vote/vote.arff",), 17, (), "vote"),
    "zoo": Recipe(("zoo/zoo.data",), 18, _APPLY, "zoo"),
}
