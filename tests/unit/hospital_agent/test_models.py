"""Models: what is put on the shelf comes back proved, and nothing altered does."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.models import Answers, Shelf, description, summary
from hospital_agent.models.finding import check_pinned
from hospital_agent.models.model import _flat, _nested
from hospital_agent.people.naming import Naming
from shared.errors import InputError
from shared.tree.binary_tests import AtMost, Equals, UpTo
from shared.tree.model import Leaf, Split, Tree
from tests.support.clinic import NAMES, SCHEMA
from tests.support.models import model_of, parties

MEMBERS = parties()
KEY = MEMBERS.identities["h1"]
MODEL = model_of(MEMBERS)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "models", KEY.public, MEMBERS.root)


def test_a_model_comes_back_as_it_was(shelf: Shelf) -> None:
    shelf.put(MODEL, KEY)
    assert shelf.get(MODEL.id) == MODEL
    assert shelf.ids() == [MODEL.id] == [shelf.newest()] == [shelf.find(MODEL.id[:3])]
    assert stat.S_IMODE(shelf.path_of(MODEL.id).stat().st_mode) == 0o600


def test_putting_it_again_changes_nothing(shelf: Shelf) -> None:
    shelf.put(MODEL, KEY)
    first = shelf.path_of(MODEL.id).read_bytes()
    shelf.put(MODEL, KEY)
    assert shelf.path_of(MODEL.id).read_bytes() == first
    assert [path.name for path in shelf.folder.iterdir()] == [f"{MODEL.id}.json"]


SECRET_RULES: dict[str, Any] = {
    "profile": "secret-gainratio",
    "criterion": "gain-ratio",
    "max_depth": 3,
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
    "schema": {
        **SCHEMA,
        "attributes": [{**attribute, "treat_as": "ordered"} for attribute in SCHEMA["attributes"]],
    },
}
PARTIES = {"compute_parties": ["h1", "h2", "h3"]}


@pytest.mark.parametrize(
    ("secret", "told", "refusal"),
    [
        ({"result": "shared"}, "stays shared", "asks the tree where it is, at h1, h2, h3: .* --ask"),
        ({"result_parties": ["h2"]}, "opened to other hospitals", "Ask at h2"),
        ({"purpose": "predict", "model": "cd" * 16}, "hospitals that asked", "--ask cdcd"),
    ],
)
def test_a_model_whose_tree_is_not_here_says_so(
    shelf: Shelf, secret: dict[str, Any], told: str, refusal: str
) -> None:
    whole = model_of(MEMBERS, job="ef" * 16)
    shelf.put(whole, KEY)
    model = replace(
        model_of(MEMBERS, **{**SECRET_RULES, "secret": {**PARTIES, **secret}}),
        tree=None,
        record_sha256="ab" * 32,
    )
    shelf.put(model, KEY)
    found = shelf.get(model.id)
    assert found == model
    assert (found.tree_sha256, summary(found)["nodes"]) == (None, None)
    assert told in found.told
    assert told in description(found)["drawing"]
    with pytest.raises(InputError, match=refusal):
        Answers.of(found).document([{}])
    assert shelf.newest() == whole.id


def test_a_tree_that_stays_shared_is_pinned_by_what_all_members_attested(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "models", KEY.public, MEMBERS.root)
    rules = {**SECRET_RULES, "secret": {**PARTIES, "result": "shared"}}
    shelf.put(replace(model_of(MEMBERS, **rules), tree=None, record_sha256="ab" * 32), KEY)
    pinned = Naming(tmp_path, shelf, "ada").pin("ward", MODEL.id).now
    assert pinned.tree_sha256 == "ab" * 32
    check_pinned("ward", pinned, MODEL.id, shelf.get(MODEL.id).attested_sha256)
    with pytest.raises(InputError, match="another hash"):
        check_pinned("ward", pinned, MODEL.id, None)
    opened = {**SECRET_RULES, "secret": {**PARTIES, "result_parties": ["h2"]}}
    elsewhere = model_of(MEMBERS, job="cd" * 16, **opened)
    shelf.put(replace(elsewhere, tree=None, record_sha256="cd" * 32), KEY)
    with pytest.raises(InputError, match="opened to other hospitals"):
        Naming(tmp_path, shelf, "ada").pin("ward", elsewhere.id)


def test_a_name_goes_on_predicting_the_same(tmp_path: Path) -> None:
    """A program that asks by a name would not notice that a model of another question answers."""
    shelf = Shelf(tmp_path / "models", KEY.public, MEMBERS.root)
    renamed = {**SCHEMA, "class": {**SCHEMA["class"], "name": "outcome"}}
    first, other = model_of(MEMBERS), model_of(MEMBERS, job="cd" * 16, study="other", schema=renamed)
    for model in (first, other):
        shelf.put(model, KEY)
    at = Naming(tmp_path, shelf, "ada")
    for name in (f"study:{first.manifest.study}", "ward"):
        at.pin(name, first.id)
        with pytest.raises(InputError, match=r"predicts something else .* Pin it under a name of its own"):
            at.pin(name, other.id)
        assert at.find(name).now.model == first.id
    at.unpin(f"study:{first.manifest.study}")
    with pytest.raises(InputError, match="predicts something else"):
        at.pin(f"study:{first.manifest.study}", other.id)
    shelf.remove(first.id)
    assert at.pin("ward", other.id).now.model == other.id


def test_importance_is_told_where_counts_are() -> None:
    """It follows from the counts, so a study that shows classes only does not show it."""
    told = description(MODEL)["importance"]
    assert sum(entry["gini"] for entry in told) == pytest.approx(1, abs=0.001)
    assert {entry["attribute"] for entry in told} <= {a["name"] for a in SCHEMA["attributes"]}
    assert description(model_of(MEMBERS, disclosure="class"))["importance"] is None


def test_class_weights_are_said_beside_every_answer() -> None:
    labels = SCHEMA["class"]["labels"]
    weighed = model_of(MEMBERS, class_weights=[1] * (len(labels) - 1) + [5])
    assert f"{labels[-1]} 5" in Answers.of(weighed).document([{}])["notice"]
    assert "weighed" not in Answers.of(MODEL).document([{}])["notice"]


def test_tests_with_two_answers_come_back_too() -> None:
    kids = (Leaf(0), Split(1, (Leaf(1), Split(2, (Leaf(0), Leaf(1)), test=Equals(0))), test=UpTo(1)))
    tree = Tree(Split(0, kids, test=AtMost(Decimal("17.5"))))
    flat = json.loads(json.dumps(_flat(tree)))
    assert [entry.get("threshold") for entry in flat] == ["17.5", None, None, None, None, None, None]
    assert _nested(flat) == tree


def edited(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        document = json.loads(path.read_bytes())
        change(document)
        path.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        edited(lambda d: d["model"]["tree"][0].update(majority=3)),
        edited(lambda d: d["model"]["tree"][-1].update(leaf=0)),
        edited(lambda d: d["model"].update(saved=2)),
        edited(lambda d: d["model"].pop("mh")),
        edited(lambda d: d.update(signature="00" * 64)),
        edited(lambda d: d.update(signature="no hex")),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b"[" * 100_000),
    ],
)
def test_an_altered_model_is_refused(shelf: Shelf, damage: Callable[[Path], None]) -> None:
    shelf.put(MODEL, KEY)
    damage(shelf.path_of(MODEL.id))
    with pytest.raises(InputError, match="the model does not verify"):
        shelf.get(MODEL.id)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(MODEL, state="00" * 32),
        replace(MODEL, mh="00" * 32),
        replace(MODEL, statements=()),
        replace(MODEL, statements=MODEL.statements[:2]),
        replace(MODEL, certificates=MODEL.certificates[::-1]),
        replace(MODEL, certificates=model_of(parties()).certificates),
    ],
)
def test_statements_that_do_not_hold_are_refused_even_when_the_agent_signed_them(
    shelf: Shelf, wrong: Any
) -> None:
    shelf.put(wrong, KEY)
    with pytest.raises(InputError, match="the model does not verify"):
        shelf.get(MODEL.id)


def test_another_agents_model_is_refused(shelf: Shelf) -> None:
    shelf.put(MODEL, MEMBERS.identities["h2"])
    with pytest.raises(InputError, match="another agent wrote it"):
        shelf.get(MODEL.id)


def test_an_empty_shelf_says_when_a_model_appears(shelf: Shelf) -> None:
    with pytest.raises(InputError, match="no model with a tree yet"):
        shelf.newest()
    with pytest.raises(InputError, match="no model has that id"):
        shelf.remove("ab")


def test_a_removed_model_is_gone(shelf: Shelf) -> None:
    shelf.put(MODEL, KEY)
    shelf.remove(MODEL.id[:4])
    assert shelf.ids() == []


def test_a_deep_tree_needs_no_deep_json() -> None:
    node: Leaf | Split = Leaf(0, (1, 2))
    for depth in range(5000):
        node = Split(depth % 3, (Leaf(1, (0, 0)), node), majority=None, counts=(depth, depth))
    flat = json.loads(json.dumps(_flat(Tree(node))))
    assert _nested(flat).canonical() == Tree(node).canonical()


@pytest.mark.parametrize("flat", [[], [{"leaf": 0}, {"leaf": 1}], [{"attr": 0, "kids": [0], "majority": 0}]])
def test_a_list_that_is_no_tree_is_refused(flat: list[dict[str, Any]]) -> None:
    with pytest.raises((ValueError, KeyError)):
        _nested(flat)


ANSWERS = Answers.of(MODEL)


def test_an_answer_has_class_certainty_and_path() -> None:
    record = {
        "nausea": 0,
        "lumbar pain": "1",
        "urine pushing": "0",
        "micturition pains": 0,
        "burning of urethra": 0,
    }
    (answer,) = ANSWERS.document([record])["predictions"]
    assert answer["class"] == "none"
    assert answer["probability"] == 1.0
    assert answer["interval_95"][0] < 1.0
    assert answer["note"] is None
    assert answer["path"] == "lumbar pain = 1 and urine pushing = 0 and nausea = 0"


def test_a_missing_value_is_answered_and_said() -> None:
    (answer,) = ANSWERS.document([{}])["predictions"]
    assert answer["stop_reason"] == "missing"
    assert "has no value" in answer["note"]


def test_a_foreign_attribute_is_named_with_its_record() -> None:
    with pytest.raises(
        InputError, match=r"record 2, attribute 'temperature': the study has no such attribute"
    ):
        ANSWERS.document([{}, {"temperature": 38}])


@pytest.mark.parametrize("disclosure", ["class", "probability", "counts"])
def test_the_study_decides_what_is_shown(disclosure: str) -> None:
    (answer,) = Answers.of(model_of(MEMBERS, disclosure=disclosure)).document([{}])["predictions"]
    assert (answer["probability"] is not None) == (disclosure != "class")
    assert (answer["counts"] is not None) == (disclosure == "counts")


def test_answers_of_a_noisy_tree_say_so_and_claim_no_interval() -> None:
    """An interval from noisy counts would leave the noise out."""
    changes = {"skip_known": False, "noise": {"sigma_squared": 400}}
    noisy, plain = (Answers.of(model_of(parties(), **more)) for more in (changes, {}))
    record = dict.fromkeys(NAMES, "1")
    assert "standard deviation 20" in noisy.document([record])["notice"]
    assert "noise" not in plain.document([record])["notice"]
    assert noisy.document([record])["predictions"][0]["interval_95"] is None
    assert plain.document([record])["predictions"][0]["interval_95"] is not None
