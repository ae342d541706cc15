"""What a report may take from a manifest: its rules in words, who learned what, and whether records were held out."""

from __future__ import annotations

from collections.abc import Iterable

from shared.evaluation.report_subject import JudgedOn
from shared.protocol.disclosure import Entry, forecast
from shared.protocol.disclosure_words import learned_in_words, party_in_words
from shared.protocol.noise_words import noise_words
from shared.texts import text
from shared.wire.manifest import Manifest
from shared.wire.tally import SelectionSpec


def mode_words(manifest: Manifest) -> str:
    """How the tree was grown, in a few words."""
    return text(f"card.mode.{manifest.profile}")


def rule_words(manifest: Manifest) -> dict[str, str]:
    """The rules of growing by name; those that were not used are left out."""
    rules = {
        "criterion": manifest.criterion,
        "min_node": str(manifest.min_node),
        "min_child": str(manifest.min_child),
        "max_depth": text("common.none") if manifest.max_depth is None else str(manifest.max_depth),
        "split_on_zero_gain": text("common.yes" if manifest.split_on_zero_gain else "common.no"),
    }
    if manifest.min_gain is not None:
        rules["min_gain"] = text("card.bits", n=manifest.min_gain)
    if manifest.thresholds is not None:
        rules["thresholds"] = text(f"card.thresholds.{manifest.thresholds}")
    pruning = manifest.pruning
    if pruning is not None:
        given = pruning.model_dump(mode="json", exclude_none=True)
        rules["pruning"] = " ".join(
            str(value) if name == "method" else f"{name} {value}" for name, value in given.items()
        )
    return rules


def noise_sentence(manifest: Manifest) -> str:
    """What the noise of a job does to a count; empty without noise."""
    words = noise_words(manifest)
    return "" if words is None else words.sentences[0]


def privacy_lines(manifest: Manifest, fact: Iterable[Entry] | None) -> tuple[tuple[str, str, str], ...]:
    """(who, what, how much) of a ledger. Args: fact: its entries, None where only the forecast is known."""
    entries = forecast(manifest).entries if fact is None else fact
    return tuple(
        (party_in_words(entry.party), learned_in_words(entry.learned), _how_much(entry, is_most=fact is None))
        for entry in entries
    )


def _how_much(entry: Entry, *, is_most: bool) -> str:
    amount = entry.amount_text
    return text("ledger.up_to", amount=amount) if is_most and amount else amount


def judged_on(
    grown: SelectionSpec | None,
    judged: SelectionSpec | None,
    grown_at: frozenset[str],
    judged_at: frozenset[str],
) -> JudgedOn:
    """Whether judged records were held out of growing. Args: the selections of both jobs, and their hospitals.

    They were if the parts of one division do not meet, or if no hospital took part in both. Two divisions by other
    seeds, numbers of parts or hashes mix.
    """
    if not grown_at & judged_at:
        return "held-out"
    if grown is None and judged is None:
        return "training" if grown_at == judged_at else "mixed"
    divisions = {(s.seed, s.hash, s.parts) for s in (grown, judged) if s is not None}
    if len(divisions) > 1:
        return "mixed"
    ((_, _, parts),) = divisions
    used, seen = parts_of(grown, parts), parts_of(judged, parts)
    if not used & seen:
        return "held-out"
    return "training" if used == seen and grown_at == judged_at else "mixed"


def parts_of(selection: SelectionSpec | None, parts: int) -> frozenset[int]:
    """The parts of a division that a job takes."""
    everything = frozenset(range(parts))
    if selection is None:
        return everything
    test = frozenset(range(selection.first, selection.last))
    return test if selection.use == "test" else everything - test
