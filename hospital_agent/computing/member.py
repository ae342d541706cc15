"""All that one member does in a secret job, from its frozen records to the result: one routine over its links.

The routine is run again from its start over the log after every restart, so it draws nothing at random: shares come
from seeds that are derived from the job's key, and what a program draws from streams that pairs of parties share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hospital_agent.computing.agreeing import agree_on_roster, check_inputs
from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.driver import Watch, drive
from hospital_agent.computing.giving import give_sealed, give_text
from hospital_agent.computing.modes import Outcome, SecretMode
from hospital_agent.computing.standing import Place
from hospital_agent.links.mesh import Mesh
from shared.errors import InputError, InternalError, JobCode, JobFailure
from shared.ids import AgentId
from shared.mpc.program import Meter, Party
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.protocol.participation import SecretResult, schema_of
from shared.secure_tree.contributing import deal, join, message_specs, shares_of
from shared.secure_tree.sealed_result import sealed_record
from shared.tree.checking import check_tree
from shared.tree.model import Tree
from shared.tree.schema import Schema


class Keeper(Protocol):
    """Where results go that outlive the job beside its tree."""

    def put_shares(self, shares: tuple[BinaryShare, ...]) -> None:
        """This party's share of a tree that stays shared."""

    def put_classes(self, text: str) -> None:
        """The classes of the own records, which a shared tree was asked for: canonical JSON of class indices."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What the routine came to, and what it cost: seconds by part, rounds, bytes of words and of frames."""

    result: SecretResult
    seconds: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Routine:
    """One member's part. `blocks`: its own records; `place`: where it says how far it is."""

    assignment: Assignment
    mode: SecretMode
    blocks: Sequence[Words] = field(repr=False)
    place: Place
    keeper: Keeper

    def run(self, mesh: Mesh) -> Finished:
        """Share, compute, receive. Raises: as `Mesh.exchange` and the mode's program."""
        meter, watch = Meter(), Watch(self.place.tell)
        self.place.enter("sharing records")
        agree_on_roster(mesh, self.assignment)
        inputs = self._share(mesh)
        outcome = None
        if self.assignment.index is not None and inputs is not None:
            neighbours = self.assignment.neighbours
            party = Party(self.assignment.index, self.assignment.membership.prss(*neighbours), meter)
            outcome = drive(self.mode.program(party, inputs), party, neighbours, mesh, watch)
            del inputs
        self.place.enter("giving out the result")
        result = self._receive(mesh, outcome, meter)
        return Finished(
            result,
            {
                "compute": sum(spent.computed for spent in watch.seconds.values()),
                "wait": sum(spent.waited for spent in watch.seconds.values()),
            },
            meter.total.rounds,
            meter.total.sent_bytes,
            mesh.wire_bytes,
        )

    def _share(self, mesh: Mesh) -> tuple[BinaryShare, ...] | None:
        """The own records go out; at a compute party all records come in, joined in roster order."""
        task, layout = self.assignment, self.mode.layout
        messages = deal(layout, self.blocks, task.input_seeds)
        parties = task.compute_parties
        outgoing = [(agent, messages[number]) for number, agent in enumerate(parties) if agent != task.own]
        index = task.index
        if index is None:
            mesh.exchange(outgoing, [])
            return None
        incoming = [(agent, message_specs(layout, task.records[agent], index)) for agent in task.others]
        came: dict[AgentId, tuple[Words, ...]] = dict(
            zip(task.others, mesh.exchange(outgoing, incoming), strict=True)
        )
        came[task.own] = messages[index]
        check_inputs(mesh, task, index, came)
        shares = [shares_of(layout, count, index, came[agent]) for agent, count in task.records.items()]
        return join(shares)

    def _receive(self, mesh: Mesh, outcome: Outcome | None, meter: Meter) -> SecretResult:
        task, gifts = self.assignment, self.mode.gifts
        opened = dict(meter.opened)
        if not gifts:
            text = give_text(mesh, task, None if outcome is None else outcome.text)
            _check_text(text, schema_of(task.manifest))
            return SecretResult(text, text, opened)
        sealed = None if outcome is None else outcome.sealed
        if sealed is not None and len(sealed) != len(gifts):
            raise InternalError("the program sealed another number of results than its mode announces")
        if sealed is not None and task.secret.result == "shared":
            self.keeper.put_shares(sealed[0].shares)
        received = give_sealed(mesh, task, gifts, sealed)
        own = [each.values for each in received if each.values is not None]
        text_of_own = self.mode.text_of(own[0]) if own else None
        if task.secret.purpose == "predict":
            if text_of_own is not None:
                self.keeper.put_classes(text_of_own)
            return SecretResult(sealed_record([each.commitments for each in received]), None, opened)
        everyone = len(gifts) == 1 and gifts[0].receivers >= set(task.records)
        if everyone and text_of_own is not None:
            return SecretResult(text_of_own, text_of_own, opened)
        return SecretResult(sealed_record([each.commitments for each in received]), text_of_own, opened)


def _check_text(text: str, schema: Schema) -> None:
    """Whether the compute parties have sent a tree of this study, in its one spelling."""
    try:
        tree = Tree.from_json(json.loads(text))
        check_tree(tree, schema)
        honest = tree.canonical().decode() == text
    except (ValueError, RecursionError, InputError):
        honest = False
    if not honest:
        raise JobFailure(JobCode.SHARE_INCONSISTENT, "the compute parties sent no tree of this study")
