"""Members of a job: rows to `shared.protocol.job.Member` and back, read when a step asks for them.

A step looks at its sender, and at who has not spoken yet. With the rows of all members under the lock of the job every
message took as long as the job is large; so `KeptMembers` reads a row at a time, or only names, and all rows for a step
that goes through all of them.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Row, bindparam, insert, select, update
from sqlalchemy.pool import Pool

from cloud_service.store.tables import JobMember, table_of
from shared.ids import AgentId
from shared.protocol.envelopes import Chain
from shared.protocol.job import Job, Member, Members, Word
from shared.wire.envelope import SignedEnvelope
from shared.wire.secret import Progress

_MEMBERS: Final = table_of(JobMember)
_M: Final = _MEMBERS.c
_OF_JOB: Final = _M.job == bindparam("job")
_LOAD: Final = select(_MEMBERS).where(_OF_JOB).order_by(_M.agent)
_LOAD_ONE: Final = select(_MEMBERS).where(_OF_JOB, _M.agent == bindparam("agent"))
_CERTIFICATES: Final = select(_M.agent, _M.certificate).where(_OF_JOB)
_WORDS: Final[tuple[Word, ...]] = ("accept", "declined", "contributed", "partial", "decision")
_LACKING: Final = {word: select(_M.agent).where(_OF_JOB, _M[word].is_(None)) for word in _WORDS}
_ADD: Final = insert(_MEMBERS)
_READ_SINGLY: Final = 3
"""After so many single rows, all are read: the step goes through them."""
MAX_HASHED_JOBS: Final = 64
"""Jobs whose hashes of certificates are kept, some 40 KiB each with 300 hospitals."""


def whole(connection: Connection, job: str) -> dict[AgentId, Member]:
    """All members, for whoever looks at them after the connection is given back."""
    return {AgentId(row.agent): _member(row) for row in connection.execute(_LOAD, {"job": job})}


def whole_of(connection: Connection, jobs: Sequence[str]) -> dict[str, dict[AgentId, Member]]:
    """All members of several jobs, by job."""
    found: dict[str, dict[AgentId, Member]] = {job: {} for job in jobs}
    query = select(_MEMBERS).where(_M.job.in_(jobs)).order_by(_M.job, _M.agent)
    for row in connection.execute(query) if jobs else ():
        found[row.job][AgentId(row.agent)] = _member(row)
    return found


class KeptMembers(Members):
    """The members of one job by a connection, and as long as that lasts."""

    def __init__(self, rows: _Rows, changes: Mapping[AgentId, Member]) -> None:
        self._rows = rows
        self.changes = changes

    @classmethod
    def of(cls, connection: Connection, job: str) -> KeptMembers:
        """As they are in the database; nothing is read yet."""
        return cls(_Rows(connection, job), {})

    def __getitem__(self, agent: AgentId) -> Member:
        return self.changes[agent] if agent in self.changes else self._rows.one(agent)

    def __iter__(self) -> Iterator[AgentId]:
        return iter(self._rows.all())

    def __len__(self) -> int:
        return len(self._rows.all())

    def lacking(self, word: Word) -> Set[AgentId]:
        """Those who have not said it."""
        silent = self._rows.lacking(word)
        if not self.changes:
            return silent
        known = {agent for agent, member in self.changes.items() if getattr(member, word) is None}
        return (silent - self.changes.keys()) | known

    def certificate_hash(self, agent: AgentId) -> bytes:
        """SHA-256 of a member's certificate."""
        return self._rows.certificate_hashes[agent]

    def changed(self, member: Member) -> KeptMembers:
        """With this one in its place."""
        return KeptMembers(self._rows, {**self.changes, member.id: member})


class _Rows:
    """What was read of one job's members, each row once, so that a step finds the same objects again."""

    def __init__(self, connection: Connection, job: str) -> None:
        self._connection = connection
        self._job = job
        self._members: dict[AgentId, Member] = {}
        self._is_whole = False
        self._lacking: dict[Word, frozenset[AgentId]] = {}
        self._hashes: Mapping[AgentId, bytes] | None = None

    def one(self, agent: AgentId) -> Member:
        if agent not in self._members and not self._is_whole:
            if len(self._members) >= _READ_SINGLY:
                return self.all()[agent]
            place = {"job": self._job, "agent": agent}
            row = self._connection.execute(_LOAD_ONE, place).one_or_none()
            if row is not None:
                self._members[agent] = _member(row)
        return self._members[agent]

    def all(self) -> Mapping[AgentId, Member]:
        if not self._is_whole:
            self._members = whole(self._connection, self._job) | self._members
            self._is_whole = True
        return self._members

    def lacking(self, word: Word) -> frozenset[AgentId]:
        if word not in self._lacking:
            found = self._connection.scalars(_LACKING[word], {"job": self._job})
            self._lacking[word] = frozenset(map(AgentId, found))
        return self._lacking[word]

    @property
    def certificate_hashes(self) -> Mapping[AgentId, bytes]:
        if self._hashes is None:
            self._hashes = _HASHES.of_job(self._connection, self._job)
        return self._hashes


class _CertificateHashes:
    """By database and job. A job's members, and the certificates of their invitation, never change."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Pool, OrderedDict[str, Mapping[AgentId, bytes]]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of_job(self, connection: Connection, job: str) -> Mapping[AgentId, bytes]:
        pool = connection.engine.pool
        with self._lock:
            known = self._kept.setdefault(pool, OrderedDict())
            hashes = known.get(job)
        if hashes is None:
            rows = connection.execute(_CERTIFICATES, {"job": job})
            hashes = {AgentId(row.agent): hashlib.sha256(row.certificate).digest() for row in rows}
        with self._lock:
            known[job] = hashes
            known.move_to_end(job)
            if len(known) > MAX_HASHED_JOBS:
                known.popitem(last=False)
        return hashes

    def count(self, pool: Pool) -> int:
        with self._lock:
            return len(self._kept.get(pool, ()))


_HASHES: Final = _CertificateHashes()


def hashed_jobs(pool: Pool) -> int:
    """Of how many jobs of a database the hashes of certificates are kept in memory."""
    return _HASHES.count(pool)


def add(connection: Connection, job: Job) -> None:
    """All members of a new job."""
    nobody = Member(AgentId(""))
    connection.execute(
        _ADD,
        [
            {"job": job.manifest.job, "agent": member.id, "certificate": member.certificate}
            | _changes(nobody, member, everything=True)
            for member in job.members.values()
        ],
    )


def save(connection: Connection, before: Job, job: Job) -> None:
    """Write the members that a step has changed, and of those what is new."""
    written: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    changed = job.members.changes if isinstance(job.members, KeptMembers) else job.members
    for agent, member in changed.items():
        known = before.members[agent]
        if member is not known:
            values = _changes(known, member)
            key = {"key_job": job.manifest.job, "key_agent": agent}
            written.setdefault(tuple(values), []).append(key | values)
    for names, rows in written.items():
        connection.execute(_update(names), rows)


@lru_cache(maxsize=64)
def _update(names: tuple[str, ...]) -> Any:
    place = (_M.job == bindparam("key_job")) & (_M.agent == bindparam("key_agent"))
    return update(_MEMBERS).where(place).values({name: bindparam(name) for name in names})


@lru_cache(maxsize=1024)
def _signed(raw: bytes) -> SignedEnvelope:
    return SignedEnvelope.model_validate_json(raw)


def _member(row: Row[Any]) -> Member:
    return Member(
        id=AgentId(row.agent),
        chain=Chain(row.chain_seq, row.chain_prev),
        certificate=row.certificate,
        accept=None if row.accept is None else _signed(row.accept),
        declined=row.declined,
        contributed=row.contributed,
        # Not by `_signed`, whose cache is for small statements.
        partial=None if row.partial is None else SignedEnvelope.model_validate_json(row.partial),
        decision=None if row.decision is None else _signed(row.decision),
        attested=row.attested,
        reported=row.reported,
        progress=None if row.progress is None else Progress.model_validate_json(row.progress),
    )


def _changes(before: Member, member: Member, *, everything: bool = False) -> dict[str, Any]:
    """The columns that a step has changed; signed envelopes are written out only if they are new."""
    changes: dict[str, Any] = {"chain_seq": member.chain.seq, "chain_prev": member.chain.prev}
    for name in ("declined", "contributed", "attested", "reported"):
        if everything or getattr(member, name) != getattr(before, name):
            changes[name] = getattr(member, name)
    for name in ("accept", "partial", "decision"):
        signed: SignedEnvelope | None = getattr(member, name)
        if everything or signed is not getattr(before, name):
            changes[name] = None if signed is None else signed.canonical()
    if everything or member.progress is not before.progress:
        changes["progress"] = None if member.progress is None else member.progress.canonical()
    return changes
