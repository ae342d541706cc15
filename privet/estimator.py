"""A finished tree as a scikit-learn classifier: `PrivetTreeClassifier.load("tree.json").predict(records)`.

The file is what `privet agent export --format sklearn` writes. Records are data frames or arrays with the study's
attributes as columns, their values as they stand in the records: texts, numbers, booleans; missing ones as NaN, None or
blank text. Where the file holds the study's data contract, columns and values are read through it, as by
`privet agent predict`, numbers in the contract's units. Needs the extra `sklearn`.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("scikit-learn 1.6 or later is needed: pip install 'privet[sklearn]'") from error

from privet.study_reading import in_study_names
from privet.tree_walk import Places, TreeWalk
from shared.errors import InputError
from shared.export import FormatName
from shared.export.document import read_document
from shared.export.formats import render
from shared.export.subject import Subject


def _shows_shares(estimator: PrivetTreeClassifier) -> bool:
    """Whether there is a share for every class; an estimator that is not fitted may come to have them."""
    walk = getattr(estimator, "walk_", None)
    if walk is not None and walk.shares is None:
        raise AttributeError("the study of this tree does not show the shares of all classes")
    return True


class PrivetTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A tree that hospitals have grown, as an estimator that predicts.

    `fit` learns nothing: it reads `model` and checks that the records have its columns, so that the estimator can stand
    in a pipeline, be cloned and be judged by cross-validation like others.

    Parameters:
        model: the document of an exported tree (a dict, as `json.load` gives it).

    Attributes: `classes_`, `n_features_in_`, `feature_names_in_` as in scikit-learn; `walk_`: the tree as arrays.
    """

    def __init__(self, model: dict[str, Any] | None = None) -> None:
        self.model = model

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The estimator of an exported file, ready to predict. Raises: ValueError: not such a file."""
        try:
            document = json.loads(Path(path).read_bytes())
        except (ValueError, RecursionError):
            raise ValueError(
                f"{path}: not JSON; write it with `privet agent export --format sklearn`"
            ) from None
        return cls(document).fit()

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Read `model`; where records are given, check that they have its columns.

        Raises: ValueError: `model` is no exported tree, or the records have other columns.
        """
        if self.model is None:
            raise ValueError("model: expected the document of an exported tree, as json.load gives it")
        try:
            subject = read_document(self.model)
            names = [attribute.name for attribute in subject.schema.attributes]
            self.take_tree(subject, subject.schema.classes, feature_names=names)
        except InputError as error:
            raise ValueError(str(error)) from None
        if X is not None:
            self._columns(X)
        return self

    def take_tree(
        self, subject: Subject, classes: ArrayLike, *, feature_names: list[str] | None = None
    ) -> None:
        """Become the estimator of a tree; for `fit` here and in classes that are built on this one.

        Args: classes: what `predict` answers, in the order of the schema's classes. feature_names: None where records
            are known by the places of their columns only.
        Raises: InputError: the data contract stands for another schema.
        """
        self.walk_ = TreeWalk(subject)
        self.classes_ = np.asarray(classes)
        self.n_features_in_ = len(subject.schema.attributes)
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class of each record.

        Raises: ValueError: a record without a usable value in a tree that keeps no class for that.
        """
        places, votes = self._ends(X)
        labels = self.walk_.labels[places]
        for row, shares in votes.items():
            labels[row] = shares.index(max(shares))
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            asked = self.walk_.asked_at(int(places[row]))
            raise ValueError(
                f"record {row + 1}: no usable value of attribute {asked!r}, and the tree keeps no class for that. "
                "Give a value that its schema lists, or leave the record out."
            )
        return np.asarray(self.classes_[labels])

    @available_if(_shows_shares)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The shares of the classes (columns, as `classes_`) among the training records at each record's place.

        At a place without training records they are those of the place above. Absent where the study does not show
        them: it shows classes only, or of more than two classes only the share of the one answered (`predict_share`).
        """
        places, votes = self._ends(X)
        found = np.asarray(self.walk_.shares[places])  # type: ignore[index]  # `available_if` has looked
        for row, shares in votes.items():
            found[row] = [float(share) for share in shares]
        return found

    def predict_share(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The share of the class answered among the training records at each record's place; NaN where not shown."""
        places, votes = self._ends(X)
        by_place = [np.nan if place.share is None else place.share for place in self.walk_.subject.places]
        found = np.asarray(by_place, np.float64)[places]
        for row, shares in votes.items():
            found[row] = float(max(shares))
        return found

    def apply(self, X: Any) -> Places:  # noqa: N803
        """The number of the place where each record ends, as all exports of the tree number them."""
        return self._ends(X)[0]

    def decision_path(self, X: Any) -> csr_matrix:  # noqa: N803
        """Which places (columns) each record (row) passes, as a sparse matrix of ones."""
        places = self.apply(X)
        ends, passed = self.walk_.paths(places)
        shape = (len(places), len(self.walk_.labels))
        return csr_matrix((np.ones(len(passed), np.int64), passed, ends), shape=shape)

    def get_depth(self) -> int:
        """Questions on the longest path."""
        check_is_fitted(self)
        return int(self.walk_.levels.max())

    def get_n_leaves(self) -> int:
        """Leaves, those without training records included."""
        check_is_fitted(self)
        return sum(place.is_leaf for place in self.walk_.subject.places)

    def export(self, form: FormatName) -> bytes:
        """The tree in another form, such as `svg` for its picture (`shared.export.formats`)."""
        check_is_fitted(self)
        try:
            return render(self.walk_.subject, form)
        except InputError as error:
            raise ValueError(str(error)) from None

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """Without the model, which may be long."""
        walk = getattr(self, "walk_", None)
        if walk is None:
            return f"{type(self).__name__}(model={'None' if self.model is None else '...'})"
        return f"<{type(self).__name__} of tree {walk.subject.tree_sha256[:16]}, {len(walk.labels)} places>"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _ends(self, X: Any) -> tuple[Places, dict[int, tuple[Fraction, ...]]]:  # noqa: N803
        """Where each record ends, and the shares by row of those that all branches of their place answer."""
        columns = self._columns(X)
        codes = self.walk_.codes(columns)
        places = self.walk_.places(codes, len(columns[0]))
        return places, self.walk_.votes(codes, places)

    def _columns(self, X: Any) -> list[Any]:  # noqa: N803
        """The columns of the records, names and number checked."""
        check_is_fitted(self)
        if hasattr(X, "columns") and hasattr(X, "shape"):
            X = in_study_names(X, self.walk_.subject.contract)  # noqa: N806
            validate_data(self, X, reset=False, skip_check_array=True)
            if not len(X):
                raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
            return [X[name] for name in X.columns]
        array = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        return list(array.T)
