"""Exact bytes of what hospitals sign about studies: a change here would make answers of today worthless tomorrow."""

from __future__ import annotations

import hashlib

from shared.crypto.identity import IdentityKey
from shared.protocol.consenting import sign_consent
from shared.protocol.governing import sign_answer, sign_study
from shared.wire.consent import Consent
from shared.wire.study import StudyAnswer, StudyDocument

KEY = IdentityKey.from_raw(bytes(range(32)))
DOCUMENT = (
    b'{"created":100,"criteria":["information-gain"],"disclosure":"class","expires":200,"federation":"'
    + b"ab" * 32
    + b'",'
    b'"id":"fever","key_mode":"shared","legal_basis":"","max_depth":null,"max_jobs":20,"max_shrinks":1,'
    b'"members":["h1","h2","h3"],"min_child":5,"min_hospitals":3,"min_node":10,'
    b'"open_empty":false,"profiles":["hardened"],"publish_tree":false,"purpose":"",'
    b'"question":"who is ill?","schema":{"attributes":[{"cuts":null,"name":"fever","values":["no","yes"]}],'
    b'"class":{"labels":["no","yes"],"name":"ill"}},"shared_result":false,"start":"asked","synthetic":false,"v":1}'
)


def test_a_document() -> None:
    study = StudyDocument.parse(DOCUMENT, what="document", max_bytes=2**20)
    assert study.canonical() == DOCUMENT
    assert study.sha256 == hashlib.sha256(DOCUMENT).hexdigest()
    message = b"ppsdt/1/study\n" + hashlib.sha256(DOCUMENT).digest()
    assert sign_study(study, KEY, b"\x30").signature == KEY.sign(message).hex()


def test_an_answer() -> None:
    answer = StudyAnswer(
        hospital="h1",
        study="fever",
        study_sha256="cd" * 32,
        answer="decline",
        code="legal",
        reason="no",
        time=7,
    )
    canonical = (
        b'{"answer":"decline","code":"legal","hospital":"h1","reason":"no","study":"fever","study_sha256":"'
        + b"cd" * 32
        + b'","time":7,"v":1}'
    )
    assert answer.canonical() == canonical
    message = b"ppsdt/1/study-answer\n" + hashlib.sha256(canonical).digest()
    assert sign_answer(answer, KEY).signature == KEY.sign(message).hex()


def test_a_consent() -> None:
    consent = Consent(hospital="h1", with_sha256="ab" * 32, without_sha256="cd" * 32, time=7)
    canonical = (
        b'{"hospital":"h1","time":7,"v":1,"with_sha256":"'
        + b"ab" * 32
        + b'","without_sha256":"'
        + b"cd" * 32
        + b'"}'
    )
    assert consent.canonical() == canonical
    message = b"ppsdt/1/consent\n" + hashlib.sha256(canonical).digest()
    assert sign_consent(consent, KEY, b"\x30").signature == KEY.sign(message).hex()
