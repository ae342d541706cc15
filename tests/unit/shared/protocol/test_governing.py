"""Study documents and answers: who may say them, and which jobs keep to them."""

from __future__ import annotations

from typing import Any

import pytest

from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol.governing import outside, sign_answer, sign_study, verify_answer, verify_study
from shared.protocol.tallies import evaluation_schema
from shared.wire.noise import NoiseSpec
from shared.wire.study import SignedStudy, StudyAnswer, StudyDocument
from tests.support.clinic import SCHEMA
from tests.support.studies import CREATED, document, job_of
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])


def shown(study: StudyDocument, signer: str = CLOUD, certificate: str = CLOUD) -> SignedStudy:
    return sign_study(study, PARTIES.identities[signer], PARTIES.certificates[certificate])


def test_a_document_of_the_cloud_is_taken_by_whom_it_invites() -> None:
    study = document(PARTIES, purpose="a rule for emergency rooms")
    assert verify_study(shown(study), "h2", PARTIES.trust) == study
    again = SignedStudy.parse(shown(study).canonical(), what="document", max_bytes=2**20)
    assert verify_study(again, "h2", PARTIES.trust).sha256 == study.sha256


@pytest.mark.parametrize("change", [{"min_node": 9}, {"members": ["h1", "h2", "h3"]}, {"purpose": "another"}])
def test_an_edited_document_is_refused(change: dict[str, Any]) -> None:
    signed = shown(document(PARTIES))
    edited = signed.model_copy(update={"document": document(PARTIES, **change)})
    with pytest.raises(PeerError) as refused:
        verify_study(edited, "h1", PARTIES.trust)
    assert refused.value.code is ErrorCode.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("signed", "own", "code"),
    [
        (lambda: shown(document(PARTIES), signer="h1"), "h1", ErrorCode.BAD_SIGNATURE),
        (lambda: shown(document(PARTIES), "h1", "h1"), "h1", ErrorCode.UNKNOWN_AGENT),
        (lambda: shown(document(PARTIES, federation="00" * 32)), "h1", ErrorCode.MALFORMED),
        (lambda: shown(document(PARTIES, members=["h1", "h2", "h3"])), "h4", ErrorCode.MALFORMED),
        (lambda: shown(document(PARTIES, question="who?\x1b[2J")), "h1", ErrorCode.MALFORMED),
        (lambda: shown(document(PARTIES, legal_basis="law\u202e")), "h1", ErrorCode.MALFORMED),
    ],
)
def test_what_is_not_for_this_hospital_is_refused(signed: Any, own: str, code: ErrorCode) -> None:
    with pytest.raises(PeerError) as refused:
        verify_study(signed(), own, PARTIES.trust)
    assert refused.value.code is code


def test_a_document_of_a_stranger_to_the_root_is_refused() -> None:
    other = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3")])
    with pytest.raises(PeerError):
        verify_study(shown(document(PARTIES)), "h1", other.trust)


def test_a_job_at_the_limits_keeps_to_the_document() -> None:
    study = document(PARTIES)
    assert outside(study, job_of(PARTIES, study)) is None
    assert outside(study, job_of(PARTIES, study, study_sha256=None)) is None
    stricter = {"min_node": 11, "min_child": 6, "max_depth": 7, "max_shrinks": 0, "disclosure": "class"}
    assert outside(study, job_of(PARTIES, study, **stricter)) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"study": "another"}, "another study"),
        ({"study_sha256": "00" * 32}, "another document"),
        ({"question": "who is ill?"}, "another question"),
        ({"invited": ["h1", "h2", "h3", "h9"]}, "invites h9"),
        ({"synthetic": True}, "test data"),
        ({"created": CREATED - 1}, "older"),
        ({"created": CREATED + 1001, "expires": CREATED + 2000}, "expired"),
        ({"min_node": 9}, "(min_node) is 9"),
        ({"min_child": 4}, "(min_child) is 4"),
        ({"max_shrinks": 2}, "(max_shrinks) 2 times"),
        ({"max_depth": 9}, "(max_depth) is 9"),
        ({"max_depth": None}, "without limit"),
        ({"profile": "paper"}, "profile paper"),
        ({"criterion": "gain-ratio"}, "splits by gain ratio"),
        ({"disclosure": "counts"}, "show a class and the summed counts"),
        ({"publish_tree": True}, "publishes"),
    ],
)
def test_a_job_outside_is_told_why(change: dict[str, Any], told: str) -> None:
    study = document(PARTIES)
    reason = outside(study, job_of(PARTIES, study, **change))
    assert reason is not None
    assert told in reason


def test_another_schema_is_outside() -> None:
    study = document(PARTIES)
    schema = {**SCHEMA, "attributes": list(SCHEMA["attributes"])[1:]}
    other = PARTIES.manifest(
        schema, **job_of(PARTIES, study).model_dump(exclude={"schema_"}, exclude_none=True)
    )
    assert "other attributes" in str(outside(study, other))


def test_jobs_may_only_count_what_the_document_names() -> None:
    spec = evaluation_schema(document(PARTIES).schema_.class_, 9)
    plain = spec.model_dump(mode="json", by_alias=True)
    evaluation = {"kind": "evaluation", "model": "ab" * 16, "tree_sha256": "cd" * 32, "places": 9}
    cases = [
        (["evaluation"], evaluation, plain, None),
        (["evaluation", "histogram"], {"kind": "histogram"}, SCHEMA, None),
        (["evaluation"], {"kind": "histogram"}, SCHEMA, "only count (histogram)"),
        (None, evaluation, plain, "only count (evaluation)"),
        (["evaluation"], evaluation, SCHEMA, "other attributes"),
        (["evaluation"], {**evaluation, "places": 8}, plain, "other attributes"),
        (["histogram"], {"kind": "histogram"}, plain, "other attributes"),
    ]
    for allowed, tally, schema, told in cases:
        study = document(PARTIES, tallies=allowed)
        rules = job_of(PARTIES, study, max_depth=1).model_dump(exclude={"schema_"}, exclude_none=True)
        reason = outside(study, PARTIES.manifest(schema, **{**rules, "tally": tally}))
        assert reason is None if told is None else told in str(reason), (allowed, tally, reason)


def test_noise_may_be_more_and_not_less() -> None:
    wanted = NoiseSpec(sigma_squared=400)
    study = document(PARTIES, noise=wanted)
    assert "less noise" in str(outside(study, job_of(PARTIES, study)))
    for variance, fits in ((399, False), (400, True), (900, True)):
        job = job_of(PARTIES, study, noise=NoiseSpec(sigma_squared=variance), skip_known=False)
        assert (outside(study, job) is None) is fits


SECRET: dict[str, Any] = {
    "profile": "secret-gainratio",
    "criterion": "gain-ratio",
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
}


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"compute_parties": ["h1", "h2", "h3"], "result_parties": ["h4"]}, None),
        ({"compute_parties": ["h2", "h1", "h3"], "result_parties": ["h4"]}, "other parties"),
        ({"compute_parties": ["h1", "h2", "h3"]}, "tells its result to more"),
        ({"compute_parties": ["h1", "h2", "h3"], "result": "shared"}, "keeps its tree shared"),
        (
            {"compute_parties": ["h1", "h2", "h3"], "result_parties": ["h4"], "max_records": 11},
            "more records",
        ),
    ],
)
def test_parties_of_a_secret_job_are_those_of_the_document(block: dict[str, Any], told: str | None) -> None:
    attributes = [{**one, "treat_as": "equality"} for one in SCHEMA["attributes"]]
    schema = {**SCHEMA, "attributes": attributes}
    study = document(
        PARTIES,
        schema=schema,
        profiles=["secret-gainratio"],
        criteria=["gain-ratio"],
        compute_parties=["h1", "h2", "h3"],
        result_parties=["h4"],
        max_records=10,
        disclosure="class",
    )
    rules = {**SECRET, "secret": {"max_records": 10, **block}, "max_depth": 3, "min_node": 10, "min_child": 5}
    rules |= {"synthetic": False, "created": CREATED, "expires": CREATED + 5, "study_sha256": study.sha256}
    reason = outside(study, PARTIES.manifest(schema, **rules))
    assert reason is None if told is None else told in str(reason)


@pytest.mark.parametrize(
    "change",
    [
        {"members": ["h2", "h1", "h3"]},
        {"profiles": ["secret-id3", "hardened"]},
        {"profiles": ["paper"]},
        {"profiles": []},
        {"expires": CREATED},
        {"expires": 2**50},
        {"compute_parties": ["h1", "h2", "h9"]},
        {"compute_parties": ["h1", "h1", "h2"]},
        {"result_parties": ["h3", "h1"]},
        {"noise": NoiseSpec(sigma_squared=400), "profiles": ["hardened", "secret-id3"]},
        {"min_hospitals": 2},
        {"surplus": 1},
    ],
)
def test_a_document_that_contradicts_itself_is_none(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        document(PARTIES, **change)


def test_fields_that_came_later_leave_a_hash_as_it_was() -> None:
    raw = document(PARTIES).canonical()
    assert not any(name in raw for name in (b"noise", b"compute_parties", b"result_parties", b"max_records"))
    manifest = PARTIES.manifest(SCHEMA).canonical()
    assert b"study_sha256" not in manifest
    assert b"consents" not in manifest
    assert b"tallies" not in raw
    assert not any(name in manifest for name in (b"tally", b"selection"))


def answer(**changes: Any) -> StudyAnswer:
    fields = {"hospital": "h1", "study": "simulation", "study_sha256": "ab" * 32, "time": 7, **changes}
    return StudyAnswer.model_validate(fields)


def test_an_answer_is_the_hospitals_own() -> None:
    said = answer(answer="decline", code="ethics", reason="the board meets in May")
    signed = sign_answer(said, PARTIES.identities["h1"])
    key = PARTIES.identities["h1"].public
    assert verify_answer(signed, key) == said
    for wrong in (
        signed.model_copy(update={"answer": answer(answer="approve")}),
        sign_answer(said, IdentityKey.generate()),
    ):
        with pytest.raises(PeerError):
            verify_answer(wrong, key)
    obeyed = sign_answer(
        answer(answer="decline", code="other", reason="\x1b]0;x\x07"), PARTIES.identities["h1"]
    )
    with pytest.raises(PeerError, match="control characters"):
        verify_answer(obeyed, key)


@pytest.mark.parametrize("change", [{"answer": "approve", "code": "other"}, {"answer": "withdraw"}])
def test_a_reason_belongs_to_a_no(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="code"):
        answer(**change)
