"""The card of a model: what it is for, where it came from, how good it is, and what it must not be used for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from hospital_agent.models.answers import NOTICE, notice_of
from hospital_agent.models.model import Model
from hospital_agent.models.tallies import TallyResult, confusion_of, tally_document
from shared.evaluation.confusion import Confusion, accuracy, balanced_accuracy
from shared.evaluation.measures import Measure
from shared.protocol.report_facts import mode_words, noise_sentence, rule_words

NO_WORDS: Final = (
    "This hospital has not described an intended use. Until it has, use the model for research only. "
    "Next: privet agent models describe."
)
_LIMITS: Final = (
    NOTICE,
    "It answers for patients like those of the hospitals it was trained on; of others nothing is known.",
    "A value that the training did not know, or that is missing, may end the walk early; the answer says so.",
    "A share of training records is not a calibrated risk; an evaluation on held-out records says how good it is.",
)


def card_of(
    model: Model, intended_use: str | None, evaluations: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The card as plain JSON. Args: intended_use: this hospital's own words; evaluations: see `evaluation_of`."""
    manifest = model.manifest
    weights = None if model.tree is None else model.tree.root.weights
    tells_counts = manifest.disclosure == "counts" and weights is not None
    noise = noise_sentence(manifest)
    return {
        "model": model.id,
        "tree_sha256": model.tree_sha256,
        "manifest_sha256": model.mh,
        "study": manifest.study,
        "question": manifest.question,
        "intended_use": intended_use or NO_WORDS,
        "described": bool(intended_use),
        "notice": notice_of(model),
        "trained": datetime.fromtimestamp(model.saved, UTC).date().isoformat(),
        "hospitals": list(model.hospitals),
        "records": int(sum(weights or ())) if tells_counts else None,
        "mode": mode_words(manifest),
        "rules": rule_words(manifest),
        "disclosure": manifest.disclosure,
        "predicts": {"name": model.schema.class_name, "classes": list(model.schema.classes)},
        "inputs": [
            {
                "name": attribute.name,
                "kind": "number" if attribute.is_numeric else "category",
                "values": None if attribute.is_numeric else list(attribute.values),
            }
            for attribute in model.schema.attributes
        ],
        "tree": {
            "held": model.told,
            "nodes": None if model.tree is None else model.tree.node_count,
            "depth": None if model.tree is None else model.tree.depth,
        },
        "evaluations": list(evaluations),
        "limits": [*_LIMITS, *([noise] if noise else [])],
        "synthetic": manifest.synthetic,
    }


def evaluation_of(result: TallyResult, model: Model) -> dict[str, Any]:
    """What an evaluation job opened about a model, in a few figures with their 95 % intervals."""
    document = tally_document(result, model)
    classes = tuple(document["classes"])
    cells = confusion_of(document["nodes"], document["answers"], document["votes"], len(classes))
    matrix = Confusion(classes, tuple(map(tuple, cells)))
    return {
        "job": result.job,
        "on": {"test": "held-out records", "train": "the records that it was grown on", "all": "all records"}[
            document["use"]
        ],
        "hospitals": document["hospitals"],
        "records": matrix.records,
        "accuracy": _figure(accuracy(matrix)),
        "balanced_accuracy": _figure(balanced_accuracy(matrix)),
    }


def _figure(measure: Measure) -> dict[str, float | None]:
    return {
        name: None if value is None else round(float(value), 4)
        for name, value in (("value", measure.value), ("low", measure.low), ("high", measure.high))
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
