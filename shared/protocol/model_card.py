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
from shared.texts import text
from shared.tree.model import Tree
from shared.wire.manifest import Manifest

_LIMITS: Final = ("common.notice", "card.alike", "card.may_end_early", "card.not_calibrated")


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
    told = [text("common.notice")]
    if manifest.class_weights is not None:
        classes = schema_of(manifest).classes
        weights = zip(classes, manifest.class_weights, strict=True)
        told.append(text("card.weighed", weights=", ".join(f"{label} {weight}" for label, weight in weights)))
    if manifest.noise is not None:
        told.append(text("card.noise", deviation=f"{Decimal(manifest.noise.sigma_squared).sqrt():.4g}"))
    return " ".join(told)


def undescribed() -> str:
    """What stands for the intended use that nobody has described yet."""
    return text("card.undescribed")


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
        "intended_use": facts.intended_use or undescribed(),
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
        "limits": [*map(text, _LIMITS), *([noise] if noise else [])],
        "synthetic": manifest.synthetic,
    }


def card_markdown(card: Mapping[str, Any]) -> str:
    """The card as a page of Markdown, for people."""
    lines = [
        f"# {text('card.title', question=_plain(card['question']))}",
        "",
        f"**{text('card.intended_use')}** {_plain(card['intended_use'])}",
        "",
        f"**{text('card.notice')}** {_plain(card['notice'])}",
        "",
        "| | |",
        "|---|---|",
        *(f"| {text(f'card.{name}')} | {_plain(told)} |" for name, told in _facts(card)),
        "",
        f"## {text('card.inputs')}",
        "",
        *(f"- {_plain(i['name'])}: {_input(i)}" for i in card["inputs"]),
        "",
        f"## {text('card.how_good')}",
        "",
        *([f"- {_evaluation(e)}" for e in card["evaluations"]] or [text("card.not_judged")]),
        "",
        f"## {text('card.limits')}",
        "",
        *(f"- {_plain(limit)}" for limit in card["limits"]),
    ]
    return "\n".join(lines) + "\n"


def _facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    predicts = card["predicts"]
    facts = [
        ("predicts", f"{predicts['name']}: {', '.join(predicts['classes'])}"),
        ("model", card["model"]),
        ("tree", card["tree_sha256"] or card["tree"]["held"]),
        ("study", card["study"]),
        ("trained", card["trained"]),
        ("hospitals", ", ".join(card["hospitals"])),
        ("records", text("card.not_told") if card["records"] is None else str(card["records"])),
        ("how", card["mode"]),
        ("rules", ", ".join(f"{name} {told}" for name, told in card["rules"].items())),
        ("shown", card["disclosure"]),
    ]
    return [*facts, ("test_data", text("card.of_no_patient"))] if card["synthetic"] else facts


def _input(entry: Mapping[str, Any]) -> str:
    if entry["values"] is None:
        return text("card.a_number")
    return ", ".join(_plain(value) for value in entry["values"])


def _evaluation(entry: Mapping[str, Any]) -> str:
    found = entry["accuracy"]
    if found["value"] is None:
        return text("card.no_records", on=entry["on"])
    told = {"on": entry["on"], "n": entry["records"], "accuracy": f"{found['value']:.3f}"}
    if found["low"] is None:
        return text("card.judged", **told)
    return text("card.judged_between", **told, low=f"{found['low']:.3f}", high=f"{found['high']:.3f}")


def _plain(words: str) -> str:
    """Words that cannot change the page around them."""
    return (
        " ".join(words.split())
        .replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
    )
