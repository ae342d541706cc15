"""A study document in the words that a data steward reads before approving it.

Each paragraph begins with its subject. What is said to be learned is the most that the document allows, as
`docs/threat-model.md` has it under "Who learns what"; a hospital's policy may allow less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.protocol.contract_words import contract_words
from shared.protocol.expiry import day_of
from shared.protocol.fhir_words import fhir_words
from shared.protocol.growing_words import NOTHING_MORE, NOTHING_MORE_SHARED
from shared.protocol.noise_words import noise_words
from shared.protocol.tallies import TALLY_WORDS
from shared.wire.study import StudyDocument

"""Of a list, so many names are told."""
_LEAVES: Final[Mapping[str, str]] = {
    "hardened": (
        "encrypted counts: how many records have each value of each attribute in each class, in each open node of the "
        "tree. The cloud adds up all hospitals' counts and cannot read them. No record leaves."
    ),
    "paper": (
        "counts as the publication encrypts them, which the cloud together with one hospital can read. This is for "
        "test data only."
    ),
    "secret-id3": (
        "every record, as random-looking shares to three compute parties. One of them alone learns nothing from its "
        "shares; any two that work together could put every record together, and nobody would notice."
    ),
    "secret-gainratio": (
        "every record with its exact numbers, as random-looking shares to three compute parties. One of them alone "
        "learns nothing from its shares; any two that work together could put every record together, and nobody would "
        "notice."
    ),
}
_LEARNED: Final[Mapping[str, str]] = {
    "hardened": (
        "every hospital learns the counts, summed over all hospitals, of every node that is asked about, small counts "
        "included, and the tree. All hospitals but one, together, learn the last one's counts. The cloud learns who "
        "takes part, the sizes of messages, how many nodes are open, and times."
    ),
    "paper": (
        "every hospital learns the summed counts and the tree; the cloud learns the tree; one hospital with the cloud "
        "learns every hospital's counts."
    ),
    "secret-id3": (
        "every hospital learns the tree, which shows the most frequent class of each path and no sizes, and how many "
        "records each hospital has. The compute parties see the tree grow. The cloud learns how many records each "
        "hospital has, sizes and times, and from them the tree's shape. Any two compute parties together can learn "
        "every record."
    ),
    "secret-gainratio": (
        "{told}, and all hospitals how many records each has. A threshold in the tree is a value of some "
        "record. The cloud learns how many records each hospital has, sizes and times. Any two compute parties "
        "together can learn every record."
    ),
}
_NAMES: Final[Mapping[str, str]] = {
    "hardened": "profile hardened",
    "paper": "profile paper",
    "secret-id3": "mode id3",
    "secret-gainratio": "mode gain-ratio",
}
_SHOWN: Final[Mapping[str, str]] = {
    "class": "only a class",
    "probability": "a class and its probability",
    "counts": "a class and the summed counts behind it",
}

_CRITERIA: Final[Mapping[str, str]] = {
    "information-gain": "information gain",
    "gain-ratio": "gain ratio",
    "c45": "gain ratio among attributes of at least average gain (C4.5)",
}


def words_of(document: StudyDocument, own: str = "") -> list[str]:
    """The paragraphs, in the order of reading. Args: own: the hospital that reads, or nobody in particular."""
    paragraphs = [
        _question(document),
        _members(document),
        _records(document),
        *contract_words(document.contract),
        *fhir_words(document.fhir),
        *(f"What leaves, with {_NAMES[p]}: {_LEAVES[p]}" for p in document.profiles),
        _compute_parties(document, own),
        *(f"Learned at most, with {_NAMES[p]}: {_learned(document, p)}" for p in document.profiles),
        _tree(document),
        _tallies(document),
        _key_mode(document),
        *_noise(document),
        _floors(document),
        _differences(document),
        _time(document),
        (
            "Cannot be undone: what was learned stays learned. Withdrawing ends the jobs that run with this hospital "
            "and stops later ones; trees that were grown stay with the hospitals that have them."
        ),
        (
            "Above this document stands this hospital's policy file: a job that breaks one of its rules is declined, "
            "whatever was approved."
        ),
    ]
    return [text for text in paragraphs if text]


def _question(document: StudyDocument) -> str:
    text = f"The question: {document.question}"
    for name, line in (("Purpose", document.purpose), ("Legal basis", document.legal_basis)):
        text += f" {name}: {line or 'not stated'}{'' if line.endswith('.') else '.'}"
    if document.synthetic:
        text += " The study calls its records test data of no patient: decline it if yours are real."
    return text


def _members(document: StudyDocument) -> str:
    least = document.min_hospitals
    start = (
        "No job begins before every hospital that it invites has approved."
        if document.start == "approved"
        else "A job may invite hospitals that have not answered yet; each agent waits for its own hospital's word."
    )
    return f"Who takes part: {_listed(document.members)}. A job needs at least {least} of them. {start}"


def _records(document: StudyDocument) -> str:
    names = [attribute.name for attribute in document.schema_.attributes]
    classes = document.schema_.class_
    text = (
        f"What is used of each record: {_listed(names)}; and the class {classes.name} "
        f"({_listed(list(classes.labels))})."
    )
    return text + _fractional(document)


def _fractional(document: StudyDocument) -> str:
    names = document.schema_.fractional
    if not names:
        return ""
    return (
        f" Missing values of {_listed(names)}: a record without one goes to every branch of a question about it in "
        "parts. For that, records are counted apart by which of these they lack, summed over all hospitals, however "
        "few they are: allow_fractional in the policy says whether this hospital takes part."
    )


def _compute_parties(document: StudyDocument, own: str) -> str:
    if not document.is_secret:
        return ""
    if document.compute_parties is None:
        return (
            "The compute parties are not fixed: each job names three of the members, and compute_parties in the policy "
            "says whom this hospital trusts."
        )
    text = f"The compute parties are {_listed(document.compute_parties)}."
    if own in document.compute_parties:
        text += " This hospital is one of them: its agent computes, and must be reachable while a job runs."
    return text


def _learned(document: StudyDocument, profile: str) -> str:
    if profile != "secret-gainratio":
        return _LEARNED[profile]
    told = (
        "every hospital learns the tree"
        if document.result_parties is None
        else f"{_listed(document.result_parties)} learn the tree"
    )
    if document.shared_result:
        told += (
            ", or nobody where a job keeps it shared and hospitals ask it for classes (who asks about enough "
            "records of their own choice, in one job even, can rebuild it)"
        )
    return _LEARNED[profile].format(told=told)


def _tree(document: StudyDocument) -> str:
    published = (
        "The cloud learns the tree and shows it to people with access; they may pass it on."
        if document.publish_tree
        else "The cloud does not learn the tree; people there see its fingerprint."
    )
    return f"The tree: predictions at hospitals show {_SHOWN[document.disclosure]}. {published}"


def _tallies(document: StudyDocument) -> str:
    if not document.tallies:
        return ""
    what = "; and ".join(TALLY_WORDS[kind] for kind in document.tallies)
    return (
        f"Jobs that only count: besides trees, jobs may tell every hospital {what}. These counts are summed over all "
        "hospitals, small ones included, and the cloud does not see them."
    )


def _key_mode(document: StudyDocument) -> str:
    if not {"hardened", "paper"} & set(document.profiles):
        return ""
    if document.key_mode == "threshold":
        return (
            "The key (threshold): no hospital can open a sum alone; all holders of its shares must help with each one, "
            "or as many as the trusted authority has set, and each sees which sum it opens. So a cloud that works with "
            "one hospital cannot read sums in private; ask the authority if it has set fewer than all, since few more "
            "than half promise little of this. The price: those holders are online in every round, each opens its part "
            "of every sum, and messages grow with the number of hospitals."
        )
    text = (
        "The key (shared, at least): every hospital holds the whole decryption key. It reads sums with it; whoever "
        "has a hospital's key and what the cloud received can try to read more, and masks prevent that for the counts "
        "of single hospitals."
    )
    if document.max_shrinks:
        text += (
            f" A job may begin anew without a silent hospital (max_shrinks {document.max_shrinks}): a cloud that works "
            "with a hospital could call another one silent to learn its counts. max_shrinks = 0 in the policy "
            "prevents it."
        )
    return text


def _noise(document: StudyDocument) -> list[str]:
    words = noise_words(document)
    if words is None:
        return ["Noise: none; sums are exact." if "hardened" in document.profiles else ""]
    return [f"Noise: at least as told here. {' '.join(words.sentences)}"]


def _floors(document: StudyDocument) -> str:
    criteria = [_CRITERIA[criterion] for criterion in document.criteria]
    depth = "any depth" if document.max_depth is None else f"a depth of {document.max_depth}"
    return (
        f"How fine: a node is split from {document.min_node} records on, a branch has at least {document.min_child}; "
        f"trees reach at most {depth}. Splits are chosen by {_listed(criteria)}.{_growing(document)}"
    )


def _growing(document: StudyDocument) -> str:
    rules = " A job may want a least gain of a split, weigh classes, or cut its grown tree back."
    if {"hardened", "paper"} & set(document.profiles):
        return f"{rules} {NOTHING_MORE}"
    return f"{rules} {NOTHING_MORE_SHARED}"


def _differences(document: StudyDocument) -> str:
    jobs = f"{document.max_jobs} job" if document.max_jobs == 1 else f"{document.max_jobs} jobs"
    return (
        f"How often: at most {jobs}. Two results over the same records whose hospitals differ by one would tell of "
        "that one; agents refuse such a job unless that hospital has signed its consent."
    )


def _time(document: StudyDocument) -> str:
    return (
        f"For how long: from {day_of(document.created)} to {day_of(document.expires)}, or until the study is closed. "
        "A job that has begun by then goes on to its end."
    )


def _listed(names: list[str]) -> str:
    """All of them, however many: who approves a document has read each name."""
    return (
        names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nobody yet"
    )
