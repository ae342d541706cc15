"""Study documents: signed by the cloud, approved by hospitals, and the bound of every job that names one.

The cloud signs `"ppsdt/1/study\\n" || SHA-256(canonical document)`, a hospital
`"ppsdt/1/study-answer\\n" || SHA-256(canonical answer)`. A document binds nobody who has not approved it, and a
hospital's own policy stands above it.
"""

from __future__ import annotations

import hashlib
from typing import Final

from shared.contract.fhir_checking import check_mapping
from shared.contract.schema import schema_of_contract
from shared.crypto import identity
from shared.crypto.certificates import Role
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import is_valid_id
from shared.protocol.envelopes import Signer
from shared.protocol.tallies import schema_asked
from shared.protocol.trust import Trust
from shared.texts import text
from shared.tree.schema import Schema
from shared.tree.schema_checks import is_plain_line
from shared.wire.base import WireModel, decode_base64url, encode_base64url
from shared.wire.manifest import Disclosure, Manifest
from shared.wire.study import SignedAnswer, SignedStudy, StudyAnswer, StudyDocument

_STUDY_CONTEXT: Final = b"ppsdt/1/study\n"
_ANSWER_CONTEXT: Final = b"ppsdt/1/study-answer\n"
DISCLOSURE_ORDER: Final[tuple[Disclosure, ...]] = ("class", "probability", "counts")
"""What predictions show, from least to most."""


def sign_study(document: StudyDocument, signer: Signer, certificate: bytes) -> SignedStudy:
    """As the cloud hands it out. Args: certificate: the cloud's present one, DER."""
    signature = signer.sign(_message(_STUDY_CONTEXT, document)).hex()
    return SignedStudy(document=document, signature=signature, certificate=encode_base64url(certificate))


def verify_study(signed: SignedStudy, own: str, trust: Trust) -> StudyDocument:
    """A document that this federation's cloud shows to the hospital `own`.

    Raises: PeerError: `bad_signature`; `unknown_agent`: not this federation's cloud; `malformed`: of another
            federation, not for this hospital, or not fit to be shown.
    """
    der = decode_base64url(signed.certificate, what="certificate")
    cloud = trust.certificate(der, role=Role.CLOUD)
    document = signed.document
    message = _message(_STUDY_CONTEXT, document)
    identity.verify(cloud.public_key, bytes.fromhex(signed.signature), message, what="study document")
    expected = [
        (document.federation == hashlib.sha256(trust.root).hexdigest(), "federation: another one"),
        (own in document.members, "members: this hospital is not among them"),
    ]
    wrong = next((text for fits, text in expected if not fits), None)
    if wrong is not None:
        raise PeerError(ErrorCode.MALFORMED, f"study document: {wrong}")
    try:
        check_texts(document)
    except InputError as error:
        raise PeerError(ErrorCode.MALFORMED, f"study document: {error}") from None
    return document


def check_texts(document: StudyDocument) -> None:
    """Whether the id, the lines and the schema are fit to be shown. Raises: InputError: one of them is not."""
    if not is_valid_id(document.id):
        raise InputError("a study's id has 1 to 64 of a-z, 0-9 and -, and is not reserved", where="id")
    for name in ("question", "purpose", "legal_basis"):
        if not is_plain_line(getattr(document, name)):
            raise InputError(f"a {name} is one line without control characters", where=name)
    schema = Schema.from_json(document.schema_.model_dump(mode="json", by_alias=True))
    if document.contract is not None and schema_of_contract(document.contract) != schema:
        raise InputError(
            "the schema is not the one that the data contract stands for",
            where="contract",
            remedy="Leave the schema out, and have it derived from the contract (--contract).",
        )
    if document.fhir is not None:
        check_mapping(document.fhir, schema, document.contract)


def sign_answer(answer: StudyAnswer, signer: Signer) -> SignedAnswer:
    """A hospital's word, good for this document's bytes only."""
    return SignedAnswer(answer=answer, signature=signer.sign(_message(_ANSWER_CONTEXT, answer)).hex())


def verify_answer(signed: SignedAnswer, public_key: bytes) -> StudyAnswer:
    """The answer under the hospital's own key.

    Raises: PeerError: `bad_signature`; `malformed`: its reason is not one plain line.
    """
    message = _message(_ANSWER_CONTEXT, signed.answer)
    identity.verify(public_key, bytes.fromhex(signed.signature), message, what="answer")
    if not is_plain_line(signed.answer.reason):
        raise PeerError(ErrorCode.MALFORMED, "answer: a reason is one line without control characters")
    return signed.answer


def outside(document: StudyDocument, manifest: Manifest) -> str | None:
    """The first way in which a job does more than the document allows, as a sentence; None where it keeps to it.

    A job need not name the document: it may invite agents of a version that does not know of documents.
    """
    return (
        _another_study(document, manifest)
        or _smaller(document, manifest)
        or _more_open(document, manifest)
        or _other_parties(document, manifest)
    )


def _another_study(document: StudyDocument, manifest: Manifest) -> str | None:
    strangers = sorted(set(manifest.invited) - set(document.members))
    wrong = [
        (manifest.study != document.id, text("outside.another_study")),
        (
            manifest.study_sha256 not in (None, document.sha256),
            text("outside.another_document"),
        ),
        (manifest.question != document.question, text("outside.another_question")),
        (
            manifest.schema_ != schema_asked(document.schema_, manifest.tally),
            text("outside.other_attributes"),
        ),
        (
            bool(strangers),
            text("outside.stranger", hospital=strangers[0] if strangers else ""),
        ),
        (
            manifest.synthetic and not document.synthetic,
            text("outside.synthetic"),
        ),
        (manifest.created < document.created, text("outside.older")),
        (manifest.created > document.expires, text("outside.expired")),
    ]
    return next((told for broken, told in wrong if broken), None)


def _smaller(document: StudyDocument, manifest: Manifest) -> str | None:
    for name in ("min_hospitals", "min_node", "min_child"):
        asked, floor = getattr(manifest, name), getattr(document, name)
        if asked < floor:
            return text(f"outside.{name}", asked=asked, floor=floor)
    if manifest.max_shrinks > document.max_shrinks:
        return text("outside.max_shrinks", asked=manifest.max_shrinks, limit=document.max_shrinks)
    if document.max_depth is not None and (
        manifest.max_depth is None or manifest.max_depth > document.max_depth
    ):
        asked = text("listed.no_limit") if manifest.max_depth is None else str(manifest.max_depth)
        return text("outside.max_depth", asked=asked, limit=document.max_depth)
    return None


def _more_open(document: StudyDocument, manifest: Manifest) -> str | None:
    shown = DISCLOSURE_ORDER.index(manifest.disclosure) > DISCLOSURE_ORDER.index(document.disclosure)
    wrong = [
        (manifest.profile not in document.profiles, text("outside.profile", profile=manifest.profile)),
        (
            manifest.criterion not in document.criteria,
            text("outside.criterion", criterion=text(f"study.criterion.{manifest.criterion}")),
        ),
        (
            not manifest.is_secret and document.key_mode == "threshold" and manifest.key_mode != "threshold",
            text("outside.key_mode"),
        ),
        (
            shown,
            text(
                "outside.disclosure",
                asked=text(f"study.shown.{manifest.disclosure}"),
                limit=text(f"study.shown.{document.disclosure}"),
            ),
        ),
        (
            manifest.publish_tree and not document.publish_tree,
            text("outside.published"),
        ),
        (_less_noise(document, manifest), text("outside.less_noise")),
        (
            manifest.tally is not None and manifest.tally.kind not in (document.tallies or ()),
            text("outside.tally", kind=manifest.tally.kind if manifest.tally else ""),
        ),
    ]
    return next((told for broken, told in wrong if broken), None)


def _less_noise(document: StudyDocument, manifest: Manifest) -> bool:
    wanted, given = document.noise, manifest.noise
    if wanted is None:
        return False
    return given is None or given.sigma_squared < wanted.sigma_squared or given.untrusted < wanted.untrusted


def _other_parties(document: StudyDocument, manifest: Manifest) -> str | None:
    secret = manifest.secret
    if secret is None:
        return None
    told = None if document.result_parties is None else set(document.result_parties)
    receivers = {agent for agent in manifest.invited if secret.receives(agent)}
    wrong = [
        (
            document.compute_parties is not None and secret.compute_parties != document.compute_parties,
            text("outside.compute_parties"),
        ),
        (
            told is not None and bool(receivers - told),
            text("outside.result_parties"),
        ),
        (secret.result == "shared" and not document.shared_result, text("outside.keeps_shared")),
        (secret.open_empty and not document.open_empty, text("outside.opens_empty")),
        (
            document.max_records is not None and secret.max_records > document.max_records,
            text("outside.max_records"),
        ),
        (
            secret.asked is not None and document.asking is None,
            text("outside.asking"),
        ),
        (
            document.asking is not None
            and secret.purpose == "predict"
            and secret.max_records > document.asking.records,
            text("outside.asked_records"),
        ),
    ]
    return next((told for broken, told in wrong if broken), None)


def _message(context: bytes, model: WireModel) -> bytes:
    return context + hashlib.sha256(model.canonical()).digest()
