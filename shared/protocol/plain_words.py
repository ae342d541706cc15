"""A study document in the words that a data steward reads before approving it.

Each paragraph begins with its subject. What is said to be learned is the most that the document allows, as
`docs/threat-model.md` has it under "Who learns what"; a hospital's policy may allow less.
"""

from __future__ import annotations

from shared.protocol.contract_words import contract_words
from shared.protocol.expiry import day_of
from shared.protocol.fhir_words import fhir_words
from shared.protocol.noise_words import noise_words
from shared.texts import text
from shared.wire.study import StudyDocument


def words_of(document: StudyDocument, own: str = "") -> list[str]:
    """The paragraphs, in the order of reading. Args: own: the hospital that reads, or nobody in particular."""
    paragraphs = [
        _question(document),
        _members(document),
        _records(document),
        *contract_words(document.contract),
        *fhir_words(document.fhir),
        *(_leaves(profile) for profile in document.profiles),
        _compute_parties(document, own),
        *(_learned(document, profile) for profile in document.profiles),
        _tree(document),
        _asking(document),
        _tallies(document),
        _quality(document),
        _key_mode(document),
        *_noise(document),
        _floors(document),
        _differences(document),
        text("study.time", first=day_of(document.created), last=day_of(document.expires)),
        text("study.cannot_be_undone"),
        text("study.policy_stands_above"),
    ]
    return [paragraph for paragraph in paragraphs if paragraph]


def _question(document: StudyDocument) -> str:
    told = [
        text("study.question", question=document.question),
        _ended(text("study.purpose", line=document.purpose or text("study.not_stated"))),
        _ended(text("study.legal_basis", line=document.legal_basis or text("study.not_stated"))),
    ]
    if document.synthetic:
        told.append(text("study.synthetic"))
    return " ".join(told)


def _members(document: StudyDocument) -> str:
    start = text(f"study.start.{document.start}")
    return text("study.members", names=_listed(document.members), least=document.min_hospitals, start=start)


def _records(document: StudyDocument) -> str:
    names = [attribute.name for attribute in document.schema_.attributes]
    classes = document.schema_.class_
    labels = _listed(list(classes.labels))
    told = text("study.records", names=_listed(names), class_name=classes.name, labels=labels)
    fractional = document.schema_.fractional
    return f"{told} {text('study.fractional', names=_listed(fractional))}" if fractional else told


def _leaves(profile: str) -> str:
    return text(
        "study.leaves", profile=text(f"study.profile.{profile}"), what=text(f"study.leaving.{profile}")
    )


def _compute_parties(document: StudyDocument, own: str) -> str:
    if not document.is_secret:
        return ""
    if document.compute_parties is None:
        return text("study.parties_open")
    told = text("study.parties", names=_listed(document.compute_parties))
    return f"{told} {text('study.parties_own')}" if own in document.compute_parties else told


def _learned(document: StudyDocument, profile: str) -> str:
    what = text(f"study.learning.{profile}", told=_who_learns_the_tree(document))
    return text("study.learned", profile=text(f"study.profile.{profile}"), what=what)


def _who_learns_the_tree(document: StudyDocument) -> str:
    told = (
        text("study.learning.every_hospital")
        if document.result_parties is None
        else text("study.learning.some_hospitals", names=_listed(document.result_parties))
    )
    return told + text("study.learning.or_nobody") if document.shared_result else told


def _tree(document: StudyDocument) -> str:
    published = text("study.published") if document.publish_tree else text("study.kept")
    return text("study.tree", shown=text(f"study.shown.{document.disclosure}"), published=published)


def _asking(document: StudyDocument) -> str:
    if not document.shared_result:
        return ""
    rules = document.asking
    if rules is None:
        return text("study.asking.never")
    return text(
        "study.asking.often",
        questions_per_day=f"{rules.questions_per_day:,}",
        questions=f"{rules.questions:,}",
        records_per_day=f"{rules.records_per_day:,}",
        records=f"{rules.records:,}",
    )


def _tallies(document: StudyDocument) -> str:
    if not document.tallies:
        return ""
    what = text("study.tallies_joint").join(text(f"tally.kind.{kind}") for kind in document.tallies)
    return text("study.tallies", what=what)


def _quality(document: StudyDocument) -> str:
    """Which figures leave for the cloud, and how they are rounded."""
    rules = document.quality
    if rules is None:
        return ""
    told = [text(f"study.figures.{kind}") for kind in rules.figures]
    if "evaluation" in rules.figures and document.disclosure != "class":
        told.append(text("study.figures.bins"))
    return text("study.quality", what=text("study.tallies_joint").join(told), floor=rules.floor)


def _key_mode(document: StudyDocument) -> str:
    if not _opens_sums(document):
        return ""
    if document.key_mode == "threshold":
        return text("study.key_threshold")
    told = text("study.key_shared")
    shrinks = document.max_shrinks
    return f"{told} {text('study.shrinks', n=shrinks)}" if shrinks else told


def _noise(document: StudyDocument) -> list[str]:
    words = noise_words(document)
    if words is None:
        return [text("study.no_noise")] if "hardened" in document.profiles else []
    return [text("study.noise", sentences=" ".join(words.sentences))]


def _floors(document: StudyDocument) -> str:
    deepest = document.max_depth
    return text(
        "study.floors",
        min_node=document.min_node,
        min_child=document.min_child,
        depth=text("study.any_depth") if deepest is None else text("study.depth", n=deepest),
        criteria=_listed([text(f"study.criterion.{criterion}") for criterion in document.criteria]),
        growing=_growing(document),
    )


def _growing(document: StudyDocument) -> str:
    note = "growing.nothing_more" if _opens_sums(document) else "growing.nothing_more_shared"
    return f"{text('study.growing')} {text(note)}"


def _differences(document: StudyDocument) -> str:
    name = "study.one_job" if document.max_jobs == 1 else "study.jobs"
    told = text(name, n=document.max_jobs, differences=text("study.differences"))
    return told if document.asking is None else f"{told} {text('study.asking.apart')}"


def _opens_sums(document: StudyDocument) -> bool:
    return bool({"hardened", "paper"} & set(document.profiles))


def _ended(told: str) -> str:
    return told if told.endswith(".") else f"{told}."


def _listed(names: list[str]) -> str:
    """All of them, however many: who approves a document has read each name."""
    if not names:
        return text("listed.nobody")
    if len(names) == 1:
        return names[0]
    return text("listed.and", names=", ".join(names[:-1]), last=names[-1])
