"""A hospital's own questions to a shared tree: the wish in the manifest, and how many the study allows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.asking import DAY_SECONDS, Earlier, attest_ask, sign_ask, too_often, verify_asked
from shared.protocol.governing import outside
from shared.protocol.plain_words import words_of
from shared.wire.asking import AskingRules
from shared.wire.manifest import Manifest
from tests.support.asking import RULES, STUDY, asked_job, wish
from tests.support.studies import CREATED, document
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
ALLOWED = document(PARTIES, **STUDY)


def refused(job: Manifest) -> PeerError:
    with pytest.raises(PeerError) as found:
        verify_asked(job, PARTIES.trust)
    return found.value


def test_the_wish_in_a_manifest_names_who_asks() -> None:
    job = asked_job(PARTIES, ALLOWED, "h2", records=3)
    found = verify_asked(job, PARTIES.trust)
    assert found is not None
    assert (found.hospital, found.records) == ("h2", 3)
    assert outside(ALLOWED, job) is None
    again = Manifest.model_validate_json(job.canonical())
    assert verify_asked(again, PARTIES.trust) == found


def test_nobody_asks_for_another_or_at_another_time() -> None:
    ask = wish("h2")
    forged = attest_ask(sign_ask(ask, PARTIES.identities["h3"]), PARTIES.certificates["h2"])
    borrowed = attest_ask(sign_ask(ask, PARTIES.identities["h3"]), PARTIES.certificates["h3"])
    old = ask.model_copy(update={"time": CREATED - 3600})
    late = attest_ask(sign_ask(old, PARTIES.identities["h2"]), PARTIES.certificates["h2"])
    for asked in (forged, borrowed, late):
        job = asked_job(PARTIES, ALLOWED, "h2", asked=asked)
        assert refused(job).code is ErrorCode.BAD_SIGNATURE


@pytest.mark.parametrize(
    "change",
    [
        {"max_records": 2},
        {"result_parties": ["h3"]},
        {"result_parties": ["h2", "h3"]},
        {"model": "ef" * 16},
        {"purpose": "train", "model": None, "result_parties": ["h2"]},
    ],
)
def test_a_job_is_the_one_that_was_wished(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="asked: expected the tree, the hospital and the number"):
        asked_job(PARTIES, ALLOWED, "h2", **change)


def test_a_wish_is_for_its_own_study() -> None:
    ask = wish("h2", study="other")
    signed = attest_ask(sign_ask(ask, PARTIES.identities["h2"]), PARTIES.certificates["h2"])
    with pytest.raises(ValidationError, match="about another study"):
        asked_job(PARTIES, ALLOWED, "h2", asked=signed)


def test_a_study_that_does_not_say_so_lets_nobody_ask() -> None:
    silent = document(PARTIES, **{**STUDY, "asking": None})
    job = asked_job(PARTIES, silent, "h2")
    assert (
        outside(silent, job)
        == "The job lets a hospital ask the tree by itself, which the study does not allow."
    )
    assert "lets no hospital" in str(too_often(None, wish("h2"), CREATED, []))
    assert "no hospital may do so by itself" in "\n".join(words_of(silent))


def test_a_job_that_a_person_begins_asks_about_no_more_than_a_hospital_may() -> None:
    most = RULES["records"]
    assert outside(ALLOWED, asked_job(PARTIES, ALLOWED, "h2", asked=None, records=most)) is None
    told = outside(ALLOWED, asked_job(PARTIES, ALLOWED, "h2", asked=None, records=most + 1))
    assert "more records than the study lets a hospital" in str(told)
    silent = document(PARTIES, **{**STUDY, "asking": None})
    assert outside(silent, asked_job(PARTIES, silent, "h2", asked=None, records=most + 1)) is None


def test_a_document_without_the_rule_keeps_its_bytes() -> None:
    silent = document(PARTIES, **{**STUDY, "asking": None})
    assert b"asking" not in silent.canonical()
    assert b"asked" not in asked_job(PARTIES, silent, "h2", asked=None).canonical()


def test_questions_and_records_are_bounded_by_day_and_altogether() -> None:
    rules = AskingRules(questions_per_day=2, questions=4, records_per_day=10, records=20)
    ask = wish("h2", records=5)

    def reason(*earlier: tuple[int, int]) -> str:
        """Args: earlier: records, and seconds ago."""
        known = [Earlier(f"{n:032x}", records, CREATED - ago) for n, (records, ago) in enumerate(earlier)]
        return str(too_often(rules, ask, CREATED, known))

    assert reason() == reason((5, 0)) == "None"
    assert "3 questions within 24 hours; the study allows 2" in reason((1, 0), (1, DAY_SECONDS - 1))
    assert reason((1, 0), (1, DAY_SECONDS)) == "None"
    assert "5 questions; the study allows 4" in reason(*[(1, DAY_SECONDS)] * 4)
    assert "11 records within 24 hours; the study allows 10" in reason((6, 5))
    assert "21 records; the study allows 20" in reason((16, DAY_SECONDS))
    assert reason((15, DAY_SECONDS)) == "None"
    assert "begun a job before" in str(
        too_often(rules, ask, CREATED, [Earlier(ask.question, 1, CREATED - 9)])
    )


@pytest.mark.parametrize("change", [{"questions_per_day": 501}, {"records_per_day": 2001}, {"records": 0}])
def test_no_more_is_allowed_in_a_day_than_altogether(change: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        AskingRules.model_validate({**RULES, **change})


@pytest.mark.parametrize("change", [{"shared_result": False}, {"profiles": ["hardened"]}])
def test_only_trees_that_stay_shared_are_asked(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="asking: trees that stay shared"):
        document(PARTIES, **{**STUDY, **change})


def test_stewards_read_how_often() -> None:
    told = "\n".join(words_of(ALLOWED))
    for number in ("20 within 24 hours and 500 altogether", "100 within 24 hours and 2,000 altogether"):
        assert number in told
    assert "Questions of hospitals to shared trees are counted apart" in told
    assert "Asking a tree" not in "\n".join(words_of(document(PARTIES)))


def test_the_number_of_records_is_a_part_of_the_wish() -> None:
    signed = sign_ask(wish("h2", records=1), PARTIES.identities["h2"])
    more = signed.model_copy(update={"ask": signed.ask.model_copy(update={"records": 9})})
    job = asked_job(PARTIES, ALLOWED, "h2", records=9, asked=attest_ask(more, PARTIES.certificates["h2"]))
    assert refused(job).code is ErrorCode.BAD_SIGNATURE
