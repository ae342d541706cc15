"""The Wisconsin diagnostic breast cancer records, on which the demo of mode gain-ratio trains when it is given no file.

Source: W. H. Wolberg, W. N. Street, O. L. Mangasarian, N. Street (1993), UCI Machine Learning Repository, licence CC BY
4.0. 569 masses, thirty measurements of cell nuclei each. The table is the one that scikit-learn ships; it is read as
text, so that every decimal is the authors'. scikit-learn itself is not imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from shared.errors import InputError

TITLE: Final = "Breast Cancer Wisconsin Diagnostic (Wolberg, Street, Mangasarian 1993, UCI, CC BY 4.0)"
NOTE: Final = "mean, standard error and worst of ten measurements of the cell nuclei"
CLASS_COLUMN: Final = "diagnosis"
CLASSES: Final = ("malignant", "benign")
"""In the order of the table's class numbers."""

_MEASURED: Final = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
)
MEASUREMENTS: Final = (
    *(f"mean {name}" for name in _MEASURED),
    *(f"{name} error" for name in _MEASURED),
    *(f"worst {name}" for name in _MEASURED),
)


def csv_text() -> str:
    """The records as CSV with a header, the diagnosis last. Raises: InputError: scikit-learn is not installed."""
    _counts, *lines = _table_file().read_text(encoding="ascii").splitlines()
    header = ",".join((*MEASUREMENTS, CLASS_COLUMN))
    records = (line.rpartition(",") for line in lines)
    named = [f"{measured},{CLASSES[int(label)]}" for measured, _, label in records]
    return "\n".join([header, *named]) + "\n"


def _table_file() -> Path:
    package = find_spec("sklearn")
    for folder in () if package is None else package.submodule_search_locations or ():
        path = Path(folder, "datasets", "data", "breast_cancer.csv")
        if path.is_file():
            return path
    raise InputError(
        "the breast cancer records come with scikit-learn, which is not installed",
        where="privet demo --mode gain-ratio",
        remedy="Install it with: pip install 'privet[sklearn]'; or give records of your own with --data FILE.",
    )
