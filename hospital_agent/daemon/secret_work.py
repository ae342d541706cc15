"""A secret job on its way into the computing room and back: what a thread is given, and what is told of it."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hospital_agent.cloud import Patience, RelayDoor
from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.choosing import mode_of
from hospital_agent.computing.member import Finished
from hospital_agent.computing.room import Work
from hospital_agent.computing.standing import Place, told_anew
from hospital_agent.daemon.office import Office
from hospital_agent.journal import Tally
from hospital_agent.models import put_shares
from hospital_agent.policy import check_memory
from hospital_agent.protection import Protection
from hospital_agent.records import Snapshot
from machine.files import make_private_folder
from shared.errors import InputError
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.protocol.participation import Participation, schema_of
from shared.wire.secret import Progress


def work_of(office: Office, participation: Participation, snapshot: Snapshot, patience: Patience) -> Work:
    """What the thread of a job needs, the own records included.

    Raises: InputError: the records or the kept shares are not what the job needs, or it needs more memory than the
        policy allows.
    """
    assignment = Assignment.of(participation)
    settings, job = office.settings, participation.manifest.job
    if settings.cloud is None:
        raise InputError("no cloud is set", where="agent.toml")
    mode = mode_of(assignment, office.shelf)
    if assignment.index is not None:
        check_memory(office.policy, mode.memory_bytes, assignment.total_records)
    door = RelayDoor(
        str(settings.cloud),
        settings.id,
        job,
        office.keyring.identity,
        ca_bundle=settings.ca_bundle,
        client_files=settings.client_files,
        patience=patience,
    )
    own = assignment.addresses.get(assignment.own)
    address = settings.compute.address
    return Work(
        assignment=assignment,
        mode=mode,
        blocks=own_blocks(mode.blocks(snapshot), assignment.records[assignment.own]),
        keeper=Kept(
            office.shelf.folder, office.predictions_of(job), job, schema_of(participation.manifest).classes
        ),
        door=door,
        way=settings.compute.channel,
        patience=patience,
        listen=None if own is None or address is None else (address[0], own.port),
        tell=partial(office.progress.tell, job=job),
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives a secret job beside its model: shares of a tree, classes of the own records."""

    models: Path
    predictions: Path
    job: str
    classes: tuple[str, ...]

    def put_shares(self, shares: tuple[BinaryShare, ...]) -> None:
        """See `Keeper`."""
        put_shares(self.models, self.job, shares)

    def put_classes(self, text: str) -> None:
        """See `Keeper`. One line a record, in the order of the records' source, under a header."""
        make_private_folder(self.predictions.parent)
        out = io.StringIO()
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["record", "class"])
        lines.writerows(
            (n, self.classes[index]) for n, index in enumerate(json.loads(text)["classes"], start=1)
        )
        Protection.of(self.predictions.parent.parent).write(self.predictions, out.getvalue().encode())


def own_blocks(blocks: list[Words], records: int) -> list[Words]:
    """As many of the own records as this member has announced: all, or none where it asks nothing of a shared tree."""
    return [block[..., :records] for block in blocks]


def tally_of(finished: Finished) -> Tally:
    """The costs of a finished computation, for the job's books."""
    opened = {f"opened {kind}": count for kind, count in finished.result.opened.items()}
    return Tally(
        seconds=dict(finished.seconds),
        sent={"shares": finished.sent_bytes},
        received={"frames": finished.received_bytes},
        work={"rounds": finished.rounds, **opened},
    )


class Teller:
    """Which reports were told last, by job, so that nothing is told twice."""

    def __init__(self) -> None:
        self._told: dict[str, Progress] = {}

    def news(self, places: Mapping[str, Place]) -> list[Progress]:
        """What the cloud should be told now."""
        found = []
        for job, place in places.items():
            report = place.report(int(time.time()))
            if told_anew(self._told.get(job), report):
                self._told[job] = report
                found.append(report)
        self._told = {job: report for job, report in self._told.items() if job in places}
        return found
