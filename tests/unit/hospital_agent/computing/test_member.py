"""What one member does in a secret job, and what becomes of it when another one lies about the result."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from hospital_agent.computing.choosing import mode_of
from hospital_agent.computing.id3 import Id3Mode
from hospital_agent.computing.member import Finished
from hospital_agent.computing.modes import SecretMode
from hospital_agent.models import Shelf
from hospital_agent.records import RecordRows
from shared.errors import InternalError, JobCode, JobFailure
from shared.mpc.local import local_parties
from shared.mpc.ring import Words
from shared.tree.model import Leaf, Tree
from tests.support import measured_clinic
from tests.support.clinic import SCHEMA, dealt
from tests.support.secret_members import Members, Message, Tamper, secret_manifest

NAMES = ("h1", "h2", "h3", "h4")
PARTIES = ["h1", "h2", "h3"]
SECRET: dict[str, Any] = {"compute_parties": PARTIES}


class Frozen:
    """A snapshot from memory."""

    def __init__(self, rows: RecordRows) -> None:
        self._rows = rows

    def rows(self) -> RecordRows:
        return self._rows


def no_shelf(tmp: Any = None) -> Shelf:
    return Shelf(tmp, b"", b"")


def id3(**changes: Any) -> tuple[Members, Mapping[str, list[Words]], Any]:
    parts = dealt(*NAMES)
    manifest = secret_manifest(
        SCHEMA, NAMES, profile="secret-id3", criterion="information-gain", secret=SECRET, **changes
    )
    members = Members({name: len(rows) for name, rows in parts.items()}, manifest)
    columns = {name: np.array(rows, np.uint8).T for name, rows in parts.items()}
    frozen = {name: Frozen(RecordRows(tuple(lines[:-1]), lines[-1])) for name, lines in columns.items()}
    return members, *prepared(members, frozen)


def gain_ratio(secret: Mapping[str, Any] = SECRET) -> tuple[Members, Mapping[str, list[Words]], Any]:
    parts = measured_clinic.dealt(measured_clinic.records(80), NAMES)
    manifest = secret_manifest(
        measured_clinic.SCHEMA,
        NAMES,
        profile="secret-gainratio",
        criterion="gain-ratio",
        max_depth=2,
        secret=dict(secret),
    )
    members = Members({name: len(rows) for name, rows in parts.items()}, manifest)
    frozen = {}
    for name, rows in parts.items():
        attributes, classes = measured_clinic.codes(rows)
        frozen[name] = Frozen(
            RecordRows(tuple(a.astype(np.uint32) for a in attributes), classes.astype(np.uint8))
        )
    return members, *prepared(members, frozen)


def prepared(members: Members, frozen: Mapping[str, Frozen]) -> tuple[Mapping[str, list[Words]], Any]:
    modes: dict[str, SecretMode] = {
        name: mode_of(task, no_shelf()) for name, task in members.assignments.items()
    }
    blocks = {name: modes[name].blocks(frozen[name]) for name in NAMES}  # type: ignore[arg-type]
    return blocks, lambda task: modes[task.own]


def records_of(ended: Mapping[str, Finished | JobFailure]) -> set[str]:
    assert all(isinstance(end, Finished) for end in ended.values()), ended
    return {end.result.record for end in ended.values() if isinstance(end, Finished)}


def test_every_member_of_mode_id3_ends_with_the_tree_and_only_who_computes_opens() -> None:
    members, blocks, mode = id3()
    ended = members.run(mode, blocks)
    (record,) = records_of(ended)
    assert json.loads(record)["attr"] == 1
    opened = {name: dict(end.result.opened) for name, end in ended.items() if isinstance(end, Finished)}
    assert opened.pop("h4") == {}
    assert opened["h1"] == opened["h2"] == opened["h3"] != {}


def test_a_sealed_result_has_one_record_and_opens_to_whom_it_may() -> None:
    members, blocks, mode = gain_ratio({**SECRET, "result_parties": ["h2", "h4"]})
    ended = members.run(mode, blocks)
    (record,) = records_of(ended)
    assert len(json.loads(record)["sealed"][0]) == 3
    trees = {name: end.result.tree for name, end in ended.items() if isinstance(end, Finished)}
    assert trees["h1"] is trees["h3"] is None
    assert trees["h2"] == trees["h4"]
    expected = measured_clinic.pooled_tree(
        [row for rows in measured_clinic.dealt(measured_clinic.records(80), NAMES).values() for row in rows],
        height=2,
    )
    assert trees["h2"] == expected.canonical().decode()


def test_a_result_that_stays_shared_is_kept_in_shares_and_nowhere_else() -> None:
    members, blocks, mode = gain_ratio({**SECRET, "result": "shared"})
    ended = members.run(mode, blocks)
    records_of(ended)
    assert {name for name in NAMES if members.kept[name].shares is not None} == set(PARTIES)
    assert all(end.result.tree is None for end in ended.values() if isinstance(end, Finished))


def last_message(sender: str, receiver: str, spoil: Any) -> Tamper:
    """Spoil what a compute party says to a contributor, who hears its roster (0) and then results."""

    def tamper(one: str, other: str, number: int, arrays: Message) -> Message:
        return spoil(number, arrays) if (one, other) == (sender, receiver) else arrays

    return tamper


@pytest.mark.parametrize("party", PARTIES)
def test_compute_parties_that_say_different_trees_are_not_believed(party: str) -> None:
    members, blocks, mode = id3()

    def spoil(number: int, arrays: Message) -> Message:
        if number == 2:
            arrays[0][-2] ^= 1
        return arrays

    ended = members.run(mode, blocks, last_message(party, "h4", spoil))
    assert isinstance(end := ended["h4"], JobFailure)
    assert end.code is JobCode.SHARE_INCONSISTENT
    assert isinstance(ended["h1"], Finished)


@pytest.mark.parametrize(
    "text", [b'{"leaf":9}', b'{"attr":0,"kids":[{"leaf":0}]}', b"[" * 30, b'{"leaf": 0}', b"\xff\xfe"]
)
def test_a_text_that_is_no_tree_of_the_study_is_refused_though_all_agree(text: bytes) -> None:
    members, blocks, mode = id3()

    def tamper(one: str, other: str, number: int, arrays: Message) -> Message:
        if other != "h4" or number == 0:
            return arrays
        return (np.array([len(text)], np.uint64),) if number == 1 else (np.frombuffer(text, np.uint8),)

    end = members.run(mode, blocks, tamper)["h4"]
    assert isinstance(end, JobFailure)
    assert end.code is JobCode.SHARE_INCONSISTENT


@pytest.mark.parametrize("length", [0, 2**26 + 1, 2**64 - 1])
def test_a_text_of_no_length_or_of_endless_length_is_not_waited_for(length: int) -> None:
    members, blocks, mode = id3()

    def tamper(one: str, other: str, number: int, arrays: Message) -> Message:
        return (np.array([length], np.uint64),) if other == "h4" and number == 1 else arrays

    assert isinstance(members.run(mode, blocks, tamper)["h4"], JobFailure)


@pytest.mark.parametrize("party", PARTIES)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_spoiled_part_of_a_sealed_tree_is_noticed(party: str, place: int) -> None:
    """Place 0: the commitments; 1: the nonce; 3: an array of the part."""
    members, blocks, mode = gain_ratio()

    def spoil(number: int, arrays: Message) -> Message:
        if number == 1:
            arrays[place].reshape(-1)[0] ^= 1
        return arrays

    ended = members.run(mode, blocks, last_message(party, "h4", spoil))
    assert isinstance(end := ended["h4"], JobFailure)
    assert end.code is JobCode.SHARE_INCONSISTENT


def test_a_compute_party_whose_table_is_not_the_manifests_does_not_begin() -> None:
    with pytest.raises(InternalError, match="the one of the manifest"):
        id3(f_table_sha256="00" * 32)


def test_a_tree_for_which_more_was_opened_than_it_shows_is_not_given_out() -> None:
    members, _, _ = id3()
    mode = mode_of(members.assignments["h1"], no_shelf())
    assert isinstance(mode, Id3Mode)
    party = local_parties(random.Random(1).randbytes)[0]
    party.meter.opened |= {"choice": 1, "leaf_class": 1, "position under a shuffle": 9}
    mode._check_openings(party, Tree(Leaf(0)))
    party.meter.opened["leaf_class"] += 1
    with pytest.raises(InternalError, match="other values than its tree shows"):
        mode._check_openings(party, Tree(Leaf(0)))
