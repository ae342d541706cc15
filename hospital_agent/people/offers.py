"""What a job asks for, for who is to answer its offer."""

from __future__ import annotations

from typing import Any

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import JobEntry
from shared.protocol.growing_words import growing_words
from shared.protocol.noise_words import noise_words
from shared.protocol.tallies import tally_sentences
from shared.texts import text
from shared.wire.quality import QualityKind


def offer_document(entry: JobEntry, figures: QualityKind | None = None) -> dict[str, Any]:
    """What it asks for, as plain JSON, in words where a word is due.

    Args: figures: those that its study publishes of it (`ledgers.figures_of`).
    """
    manifest = manifest_of(entry)
    noise = noise_words(manifest)
    return {
        "job": entry.job,
        "study": entry.study,
        "question": entry.question,
        "profile": manifest.profile,
        "criterion": manifest.criterion,
        "hospitals": list(manifest.invited),
        "min_hospitals": manifest.min_hospitals,
        "min_node": manifest.min_node,
        "min_child": manifest.min_child,
        "max_depth": manifest.max_depth,
        "growing": growing_words(manifest),
        "disclosure": manifest.disclosure,
        "publish_tree": manifest.publish_tree,
        "attributes": [attribute.name for attribute in manifest.schema_.attributes],
        "class": manifest.schema_.class_.name,
        "expires": manifest.expires,
        "study_sha256": manifest.study_sha256,
        "counts": [*tally_sentences(manifest), *_figures(figures)],
        "figures": figures,
        "consents": sorted({signed.consent.hospital for signed in manifest.consents or ()}),
        "noise": None
        if noise is None
        else {"epsilon_at_most": str(noise.epsilon), "meaning": list(noise.sentences)},
        "secret": None
        if manifest.secret is None
        else {
            "compute_parties": list(manifest.secret.compute_parties),
            "purpose": manifest.secret.purpose,
            "model": manifest.secret.model,
            "result": manifest.secret.result,
            "result_parties": manifest.secret.result_parties,
            "max_records": manifest.secret.max_records,
            "asked_by": None if manifest.secret.asked is None else manifest.secret.asked.ask.hospital,
        },
    }


def _figures(kind: QualityKind | None) -> list[str]:
    return [] if kind is None else [text("study.figures_of_job", what=text(f"study.figures.{kind}"))]
