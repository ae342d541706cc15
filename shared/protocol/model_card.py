"""The card of a model: what it is for, where it came from, how good it is, and what it must not be used for.

One form at the hospital and at the cloud. What a person must know of every answer (`notice`) is said here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from shared.protocol.participation import schema_of
from shared.protocol.report_facts import mode_words, noise_sentence, rule_words
from shared.tree.model import Tree
from shared.wire.manifest import Manifest

NOTICE: Final = "Decision support for research; not certified for clinical use. A person decides."
NO_WORDS: Final = (
    "No intended use was described. Until the hospital has (privet agent models describe), for research only."
)
_LIMITS: Final = (
    NOTICE,
    "It answers for patients like those of the hospitals it was trained on; of others nothing is known.",
    "A value that the training did not know, or that is missing, may end the walk early; the answer says so.",
    "A share of training records is not a calibrated risk; an evaluation on held-out records says how good it is.",
)


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What a card tells of a model. `done`: Unix seconds. `held`: where the tree is, in words; `tree`: None elsewhere.

    `intended_use`: a hospital's own words, None before it has any.
    """

    manifest: Manifest
    manifest_sha256: str
    hospitals: Sequence[str]
    done: int
    tree: Tree | None
    tree_sha256: str | None
    held: str
    intended_use: str | None = None
    evaluations: Sequence[Mapping[str, Any]] = ()


def notice(manifest: Manifest) -> str:
    """What stands beside every answer of a model."""
    noise, told = manifest.noise, NOTICE + _weights(manifest)
    if noise is None:
        return told
    sigma = f"{Decimal(noise.sigma_squared).sqrt():.4g}"
    return f"{told} The counts behind this tree carry noise of standard deviation {sigma} for differential privacy."


def _weights(manifest: Manifest) -> str:
    weights = manifest.class_weights
    if weights is None:
        return ""
    classes = schema_of(manifest).classes
    told = ", ".join(f"{label} {weight}" for label, weight in zip(classes, weights, strict=True))
    return (
        f" Classes were weighed while the tree grew ({told}): the answer is the class of most weight, which need not "
        "be the most frequent one."
    )


def card(facts: CardFacts) -> dict[str, Any]:
    """The card as plain JSON."""
    manifest, tree = facts.manifest, facts.tree
    schema = schema_of(manifest)
    weights = None if tree is None else tree.root.weights
    tells_counts = manifest.disclosure == "counts" and weights is not None
    noise = noise_sentence(manifest)
    return {
        "model": manifest.job,
        "tree_sha256": facts.tree_sha256,
        "manifest_sha256": facts.manifest_sha256,
        "study": manifest.study,
        "question": manifest.question,
        "intended_use": facts.intended_use or NO_WORDS,
        "described": bool(facts.intended_use),
        "notice": notice(manifest),
        "trained": datetime.fromtimestamp(facts.done, UTC).date().isoformat(),
        "hospitals": list(facts.hospitals),
        "records": int(sum(weights or ())) if tells_counts else None,
        "mode": mode_words(manifest),
        "rules": rule_words(manifest),
        "disclosure": manifest.disclosure,
        "predicts": {"name": schema.class_name, "classes": list(schema.classes)},
        "inputs": [
            {
                "name": attribute.name,
                "kind": "number" if attribute.is_numeric else "category",
                "values": None if attribute.is_numeric else list(attribute.values),
            }
            for attribute in schema.attributes
        ],
        "tree": {
            "held": facts.held,
            "nodes": None if tree is None else tree.node_count,
            "depth": None if tree is None else tree.depth,
        },
        "evaluations": list(facts.evaluations),
        "limits": [*_LIMITS, *([noise] if noise else [])],
        "synthetic": manifest.synthetic,
    }


def card_markdown(card: Mapping[str, Any]) -> str:
    """The card as a page of Markdown, for people."""
    lines = [
        f"# Model card: {_plain(card['question'])}",
        "",
        f"**Intended use.** {_plain(card['intended_use'])}",
        "",
        f"**Notice.** {_plain(card['notice'])}",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_plain(told)} |" for name, told in _facts(card)),
        "",
        "## Inputs",
        "",
        *(f"- {_plain(i['name'])}: {_input(i)}" for i in card["inputs"]),
        "",
        "## How good it is",
        "",
        *(
            [_evaluation(e) for e in card["evaluations"]]
            or ["No evaluation job has judged this tree here yet."]
        ),
        "",
        "## Limits",
        "",
        *(f"- {_plain(limit)}" for limit in card["limits"]),
    ]
    return "\n".join(lines) + "\n"


def _facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    predicts = card["predicts"]
    facts = [
        ("Predicts", f"{predicts['name']}: {', '.join(predicts['classes'])}"),
        ("Model", card["model"]),
        ("SHA-256 of the tree", card["tree_sha256"] or card["tree"]["held"]),
        ("Study", card["study"]),
        ("Trained", card["trained"]),
        ("By the hospitals", ", ".join(card["hospitals"])),
        ("Records", "not told" if card["records"] is None else str(card["records"])),
        ("How", card["mode"]),
        ("Rules", ", ".join(f"{name} {told}" for name, told in card["rules"].items())),
        ("Predictions show at most", card["disclosure"]),
    ]
    return [*facts, ("Test data", "yes, of no patient")] if card["synthetic"] else facts


def _input(entry: Mapping[str, Any]) -> str:
    return "a number" if entry["values"] is None else ", ".join(_plain(value) for value in entry["values"])


def _evaluation(entry: Mapping[str, Any]) -> str:
    found = entry["accuracy"]
    if found["value"] is None:
        return f"- On {entry['on']}: no records."
    between = "" if found["low"] is None else f" (95 % interval {found['low']:.3f} to {found['high']:.3f})"
    return f"- On {entry['on']}, {entry['records']} of them: accuracy {found['value']:.3f}{between}."


def _plain(text: str) -> str:
    """Text that cannot change the page around it."""
    return (
        " ".join(text.split())
        .replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
    )
