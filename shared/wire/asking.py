"""A hospital's signed wish to ask a tree that stays shared: the cloud then starts the job of purpose `predict`."""

from __future__ import annotations

from typing import Literal

from shared.wire.base import Count, Hex16, Hex64, Id, WireModel


class Ask(WireModel):
    """`model`: the job whose shared tree is asked. `question`: drawn anew for every question, so that asking twice
    starts one job. `time`: Unix seconds. Nothing of the records is in it, not even how many there are."""

    v: Literal[1] = 1
    hospital: Id
    study: Id
    model: Hex16
    question: Hex16
    time: Count


class SignedAsk(WireModel):
    """Body of `POST /v1/agent/studies/{study}/ask`."""

    ask: Ask
    signature: Hex64


class Asked(WireModel):
    """The answer: the job that was started."""

    job: Hex16
