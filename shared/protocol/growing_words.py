"""How a job grows its tree beyond the floors, in words: least gain, class weights, pruning, thresholds, and what they
disclose.

Thresholds disclose finer tables of more nodes. The others disclose nothing: they are reckoned by every hospital from
sums that it opens anyway, in the secret modes on shares; a pruned tree shows people and the cloud fewer nodes than the
grown one would.
"""

from __future__ import annotations

from shared.texts import text
from shared.wire.growing import PruningSpec
from shared.wire.manifest import Manifest


def growing_words(manifest: Manifest) -> list[str]:
    """The sentences; none for a job without such rules."""
    told = []
    if manifest.min_gain is not None:
        told.append(text("growing.min_gain", bits=manifest.min_gain))
    if manifest.class_weights is not None:
        told.append(text("growing.weights", weights=_weights(manifest)))
    if manifest.pruning is not None:
        told.append(_pruned(manifest.pruning, is_secret=manifest.is_secret))
    note = text("growing.nothing_more_shared" if manifest.is_secret else "growing.nothing_more")
    return ([*told, note] if told else []) + _thresholds(manifest)


def _weights(manifest: Manifest) -> str:
    labels = manifest.schema_.class_.labels
    weights = zip(labels, manifest.class_weights or (), strict=True)
    return ", ".join(f"{label or text('listed.empty')} {weight}" for label, weight in weights)


def _pruned(spec: PruningSpec, *, is_secret: bool) -> str:
    if not is_secret:
        return text("growing.cut_back", how=_pruning(spec))
    if spec.method == "majority":
        return text("growing.majority_on_shares", share=spec.share)
    return text("growing.collapse_on_shares")


def _thresholds(manifest: Manifest) -> list[str]:
    if manifest.thresholds is None:
        return []
    less = text("growing.penalty") if manifest.thresholds == "gain-mdl" else ""
    names = ", ".join(manifest.schema_.ordered)
    return [text("growing.thresholds", names=names, less=less), text("growing.thresholds_open")]


def _pruning(spec: PruningSpec) -> str:
    return text(
        f"growing.pruning.{spec.method}",
        share=spec.share,
        confidence=spec.confidence or "0.25",
        bound=text(f"growing.bound.{spec.bound or 'c45'}"),
        cost=text(f"growing.cost.{spec.cost or 'errors'}"),
        alpha=spec.alpha,
    )
