"""The cloud's logs as files that anybody can check without keys (`shared.protocol.audit_file`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

from cloud_service.service.federation import Membership
from cloud_service.service.refusals import UnknownThingError
from cloud_service.store import acts, jobs, journal, messages, people
from cloud_service.store.database import Database
from cloud_service.store.journal import Entry
from shared.ids import CLOUD
from shared.protocol.audit_file import Header, RecordLine, export
from shared.protocol.audit_log import START
from shared.protocol.envelopes import Signer
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest

LogName = Literal["acts", "people"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a log, the newest record first. `newest`: number of the log's last record; -1: there is none."""

    entries: tuple[Entry, ...]
    newest: int


@dataclass(frozen=True, slots=True)
class Audits:
    """Export. Each file is one transaction's sight of the log, signed by the cloud's identity."""

    database: Database
    membership: Membership
    signer: Signer = field(repr=False)
    clock: Callable[[], int]

    def of_job(self, job_id: str) -> Iterator[bytes]:
        """The log of a job, with the members' signed messages that are still kept and show no tree.

        Raises: UnknownThingError.
        """
        with self.database.read() as connection:
            stored = jobs.load(connection, job_id)
            if stored is None:
                raise UnknownThingError("there is no such job")
            entries = journal.audit(connection, job_id)
            kept = messages.kept(connection, job_id, without=_with_trees(stored.job.manifest))
        members = {
            str(agent): encode_base64url(member.certificate) for agent, member in stored.job.members.items()
        }
        header = self._header().model_copy(
            update={
                "log": "job",
                "job": stored.job.manifest.job,
                "manifest_sha256": stored.job.mh,
                "members": members,
            }
        )
        return export(header, map(_line, entries), kept, self.signer)

    def of_acts(self) -> Iterator[bytes]:
        """The log of administrative acts."""
        with self.database.read() as connection:
            entries = list(acts.all_of(connection))
        return export(self._header(), map(_line, entries), (), self.signer)

    def stretch_of_acts(self, before: int | None, limit: int) -> Stretch:
        """Administrative acts from the newest on. Args: before: the number of the last record seen; None: none yet."""
        with self.database.read() as connection:
            newest = acts.newest(connection)
            first = _first(newest, before, limit)
            found = acts.page(connection, after=first, limit=limit)
        return _stretch(found, newest, before)

    def stretch_of_people(self, before: int | None, limit: int) -> Stretch:
        """The same of sign-ins, and of changes of accounts and tokens."""
        with self.database.read() as connection:
            newest = people.newest_record(connection)
            first = _first(newest, before, limit)
            found = people.records(connection, after=first, limit=limit)
        return _stretch(found, newest, before)

    def beyond(self, log: LogName, after: int, limit: int) -> tuple[list[RecordLine], str, int]:
        """The records beyond number `after`, the hash of that one, and the number of the log's newest record.

        A record that is not there has no hash; before the first stands the head of an empty log.
        """
        read, find = (acts.page, acts.newest) if log == "acts" else (people.records, people.newest_record)
        with self.database.read() as connection:
            newest = find(connection)
            before = read(connection, after=after - 1, limit=1) if after >= 0 else []
            found = read(connection, after=after, limit=limit)
        known = START if after < 0 else before[0].hash if before and before[0].number == after else ""
        return [_line(entry) for entry in found], known, -1 if newest is None else newest[0]

    def of_people(self) -> Iterator[bytes]:
        """The log of sign-ins, and of changes of accounts and tokens."""
        with self.database.read() as connection:
            entries = list(people.all_records(connection))
        header = self._header().model_copy(update={"log": "people"})
        return export(header, map(_line, entries), (), self.signer)

    def _header(self) -> Header:
        joined = self.membership.current()
        return Header(
            log="acts",
            exporter=CLOUD,
            certificate=encode_base64url(joined.certificate),
            root=encode_base64url(joined.trust.root),
            members={},
            version=version("privet"),
            exported=self.clock(),
        )


def _first(newest: tuple[int, str] | None, before: int | None, limit: int) -> int:
    """The number after which the wanted records stand."""
    end = -1 if newest is None else newest[0]
    return max(-1, (end if before is None else min(end, before - 1)) - limit)


def _stretch(found: list[Entry], newest: tuple[int, str] | None, before: int | None) -> Stretch:
    wanted = [entry for entry in found if before is None or entry.number < before]
    return Stretch(tuple(reversed(wanted)), -1 if newest is None else newest[0])


def _with_trees(manifest: Manifest) -> tuple[MessageType, ...]:
    """Kinds of messages in which members show the tree: who reads logs need not be one who may read it."""
    published = (MessageType.ATTEST,) if manifest.publish_tree else ()
    return published + ((MessageType.NOTIFY,) if manifest.profile == "paper" else ())


def _line(entry: Entry) -> RecordLine:
    return RecordLine(n=entry.number, hash=entry.hash, record=entry.record.decode())
