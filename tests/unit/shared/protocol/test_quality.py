"""Published figures: exactly what a study names, in rounded numbers; everything else is refused at both ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from shared.errors import PeerError
from shared.evaluation.judging import judge
from shared.evaluation.report_content import judged_json
from shared.evaluation.report_subject import Judged
from shared.evaluation.table import leaf_table
from shared.ids import AgentId
from shared.protocol.figures import evaluation_figures, importance_figures, importance_rows, plain_entry
from shared.protocol.plain_words import words_of
from shared.protocol.quality import published_kind, read_figures
from shared.tree.importance import Importance
from shared.tree.model import Leaf, Split, Tree
from shared.wire.manifest import Manifest
from shared.wire.quality import Figures, QualityKind, QualitySpec
from shared.wire.study import StudyDocument
from shared.wire.tally import TallySpec
from tests.support.clinic import CLASSES
from tests.support.studies import document, job_of
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
ROSTER = ["h1", "h2", "h4"]
BOTH = QualitySpec(figures=["evaluation", "importance"])
TREE = Tree(Split(0, (Leaf(0, (40, 5, 0, 1)), Leaf(1, (2, 30, 9, 0))), counts=(42, 35, 9, 1), majority=0))
FIGURE = {"value": "1.00", "low": None, "high": None, "method": None, "reason": None}
COUNTS = {1: (61, 3, 0, 2), 2: (4, 47, 12, 0)}


def publishing(**changes: Any) -> StudyDocument:
    return document(PARTIES, **{"tallies": ["evaluation"], "quality": BOTH, **changes})


def evaluating(study: StudyDocument) -> Manifest:
    tally = TallySpec(kind="evaluation", model="ab" * 16, tree_sha256=TREE.sha256, places=9)
    return job_of(PARTIES, study).model_copy(update={"tally": tally})


def judged(study: StudyDocument, floor: int = 5) -> Figures:
    manifest = evaluating(study)
    judgement = judge(leaf_table(TREE, CLASSES, COUNTS), training_majority=0)
    entry = judged_json(Judged("held-out", tuple(ROSTER), judgement, "a part"), study.disclosure, floor)
    return evaluation_figures(manifest, ROSTER, entry)


def told(study: StudyDocument) -> Figures:
    found = [
        Importance(1, 2, Decimal("0.6251"), Decimal("0.5")),
        Importance(0, 1, Decimal("0.3749"), Decimal("0.5")),
    ]
    return importance_figures(job_of(PARTIES, study), TREE.sha256, ROSTER, found)


def read(figures: Figures | str, study: StudyDocument, manifest: Manifest | None = None) -> Figures:
    text = figures if isinstance(figures, str) else figures.canonical().decode()
    kind: QualityKind = "importance" if '"kind":"importance"' in text else "evaluation"
    asked = manifest or (job_of(PARTIES, study) if kind == "importance" else evaluating(study))
    return read_figures(text, kind, study.quality or BOTH, asked, ROSTER)


def test_a_study_without_figures_keeps_its_bytes() -> None:
    assert b"quality" not in document(PARTIES).canonical()
    with pytest.raises(ValidationError, match="figures of evaluations need jobs that evaluate"):
        document(PARTIES, quality=BOTH)
    document(PARTIES, quality=QualitySpec(figures=["importance"]))
    with pytest.raises(ValidationError, match="each once, sorted"):
        QualitySpec(figures=["importance", "evaluation"])


def test_a_job_sends_only_what_its_document_names() -> None:
    study = publishing()
    grown, evaluation = job_of(PARTIES, study), evaluating(study)
    histogram = evaluation.model_copy(update={"tally": TallySpec(kind="histogram")})
    assert [published_kind(study, job) for job in (grown, evaluation, histogram)] == [
        "importance",
        "evaluation",
        None,
    ]
    one = publishing(quality=QualitySpec(figures=["importance"]))
    assert published_kind(one, evaluating(one)) is None
    assert published_kind(document(PARTIES), grown) is None
    assert published_kind(None, grown) is None
    assert published_kind(publishing(min_node=11), grown) is None  # the job names another document
    assert published_kind(publishing(id="another"), grown) is None
    on_shares = grown.model_copy(update={"profile": "secret-id3", "secret": object()})
    assert published_kind(study, on_shares) is None


def test_what_is_sent_reads_back_as_reports_have_it() -> None:
    study = publishing()
    figures = read(judged(study), study)
    plain = plain_entry(figures, CLASSES)  # type: ignore[arg-type]  # an evaluation's
    assert plain["evaluation"]["confusion"]["cells"][0] == [60, "< 5", "< 5", "< 5"]
    assert plain["evaluation"]["records"] == 130
    accuracy = plain["evaluation"]["overall"]["accuracy"]
    assert accuracy["value"] == 0.84
    assert accuracy["interval"] == [0.76, 0.9]
    assert list(plain["evaluation"]["overall"])[:2] == ["accuracy", "balanced_accuracy"]
    assert plain["evaluation"]["classes"][0]["calibration"]
    shares = importance_rows(read(told(study), study), ["a", "b"])  # type: ignore[arg-type]  # an importance's
    assert shares == (("b", 0.63, 0.5), ("a", 0.37, 0.5))


def test_why_a_measure_is_missing_tells_of_no_single_record() -> None:
    figures = json.loads(judged(publishing()).canonical())
    missing = {
        m["reason"] for one in figures["classes"] for m in one["measures"].values() if m["value"] is None
    }
    assert missing == {"not defined, or too few records to tell it under a floor of 5"}


def changed(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed("cells", 0, 1, to=3), "multiples of 5"),
        (changed("records", to=131), "multiples of 5"),
        (changed("truth", 0, to=62), "multiples of 5"),
        (changed("classes", 0, "bins", 0, "records", to=1), "multiples of 5"),
        (changed("overall", "accuracy", "value", to="0.8372"), "2 decimals"),
        (changed("classes", 0, "bins", 0, "expected", to="0.8333"), "2 decimals"),
        (changed("p_value", to="0.0001"), "2 decimals"),
        (changed("floor", to=2), "floor of 5"),
        (changed("job", to="cd" * 16), "another job"),
        (changed("model", to="cd" * 16), "another tree"),
        (changed("tree_sha256", to="cd" * 32), "another tree"),
        (changed("hospitals", to=["h1", "h2", "h3"]), "other hospitals"),
        (changed("cells", to=[[5]]), "for each class"),
        (changed("classes", to=[]), "for each class"),
        (changed("overall", "patients", to=FIGURE), "measures of reports"),
        (changed("names", to=["Jane"]), "Extra inputs"),
        (changed("overall", "accuracy", "value", to=0.84), "overall.accuracy.value"),
        (changed("kind", to="importance"), "kind"),
    ],
)
def test_an_evaluation_that_tells_more_is_refused(
    change: Callable[[dict[str, Any]], None], words: str
) -> None:
    study = publishing()
    data = json.loads(judged(study).canonical())
    change(data)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    with pytest.raises(PeerError, match=words):
        read_figures(text, "evaluation", BOTH, evaluating(study), ROSTER)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed("shares", 0, "attribute", to=5), "attributes of the study"),
        (changed("shares", 0, "attribute", to=0), "once each"),
        (changed("shares", 0, "gini", to=101), "shares.0.gini"),
        (changed("job", to="cd" * 16), "another job"),
    ],
)
def test_an_importance_of_something_else_is_refused(
    change: Callable[[dict[str, Any]], None], words: str
) -> None:
    study = publishing()
    data = json.loads(told(study).canonical())
    change(data)
    with pytest.raises(PeerError, match=words):
        read(json.dumps(data, sort_keys=True, separators=(",", ":")), study)


def test_figures_must_be_canonical_named_and_short() -> None:
    study = publishing()
    text = told(study).canonical().decode()
    with pytest.raises(PeerError, match="canonical"):
        read_figures(text + " ", "importance", BOTH, job_of(PARTIES, study), ROSTER)
    only = QualitySpec(figures=["evaluation"])
    with pytest.raises(PeerError, match="does not publish"):
        read_figures(text, "importance", only, job_of(PARTIES, study), ROSTER)
    with pytest.raises(PeerError, match="at most"):
        read_figures(" " * 2**20, "importance", BOTH, job_of(PARTIES, study), ROSTER)


def test_a_study_that_shows_classes_only_sends_no_bins() -> None:
    study = publishing(disclosure="class")
    assert read(judged(study), study)
    with_bins = judged(publishing()).canonical().decode()
    with pytest.raises(PeerError, match="no bins"):
        read_figures(with_bins, "evaluation", BOTH, evaluating(study), ROSTER)


def test_stewards_read_which_figures_leave() -> None:
    words = "\n".join(words_of(publishing(quality=QualitySpec(figures=["evaluation"], floor=20))))
    assert "Figures at the cloud" in words
    assert "No number of records below 20 is told" in words
    assert "whose predicted share" in words
    assert "whole percent" not in words
    assert "whose predicted share" not in "\n".join(words_of(publishing(disclosure="class")))
    assert "Figures at the cloud" not in "\n".join(words_of(document(PARTIES)))
