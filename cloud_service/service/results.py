"""What a finished job came to: who attested which tree, and the tree itself where the study publishes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from cloud_service.service.refusals import NotPublishedError, UnknownThingError
from cloud_service.store import jobs, journal
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.errors import InputError
from shared.ids import AgentId
from shared.protocol.participation import schema_of
from shared.protocol.states import CloudState
from shared.tree.checking import check_tree
from shared.tree.model import Tree
from shared.tree.prediction import Prediction, Value, predict
from shared.tree.schema import Schema
from shared.wire.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Result:
    """`tree_sha256`: the hash that every member attested; None while some are missing or if they differ."""

    job: str
    tree_sha256: str | None
    attested: Mapping[AgentId, str]
    missing: tuple[AgentId, ...]
    is_published: bool


@dataclass(frozen=True, slots=True)
class Results:
    """Read only."""

    database: Database

    def result(self, job_id: str) -> Result:
        """Who attested what. Raises: UnknownThingError: no such job, or it is not done."""
        return _result_of(self._done(job_id))

    def has_tree(self, stored: StoredJob) -> bool:
        """Whether `tree` would give one, without reading it; of a job that is done."""
        agreed = _result_of(stored).tree_sha256
        if not stored.job.manifest.publish_tree or agreed is None:
            return False
        with self.database.read() as connection:
            return agreed in journal.trees(connection, stored.job.manifest.job)

    def tree(self, job_id: str) -> tuple[Tree, Schema]:
        """The published tree, without counts, once every member has attested it.

        Raises: NotPublishedError: with the reason. UnknownThingError.
        """
        stored = self._done(job_id)
        if not stored.job.manifest.publish_tree:
            raise NotPublishedError(
                "the study of this job does not publish its tree; it is at the hospitals only"
            )
        agreed = _result_of(stored).tree_sha256
        if agreed is None:
            raise NotPublishedError("not every hospital of this job has attested the same tree yet")
        with self.database.read() as connection:
            text = journal.trees(connection, job_id).get(agreed)
        schema = schema_of(stored.job.manifest)
        tree = None if text is None else _tree_of(text, schema)
        if tree is None:
            raise NotPublishedError("the hospitals of this job have attested the tree's hash only")
        return tree, schema

    def manifest(self, job_id: str) -> Manifest:
        """What the members of a finished job agreed to. Raises: UnknownThingError: no such job, or it is not done."""
        return self._done(job_id).job.manifest

    def finished(self, job_id: str) -> StoredJob:
        """A job that came to its end. Raises: UnknownThingError: no such job, or it is not done."""
        return self._done(job_id)

    def predict(self, job_id: str, record: Mapping[str, Value]) -> Prediction:
        """The published tree's answer for one record: the class and the path, no counts.

        Raises: NotPublishedError, UnknownThingError; InputError: a value that cannot be read.
        """
        tree, schema = self.tree(job_id)
        return predict(tree, schema, record, "class")

    def _done(self, job_id: str) -> StoredJob:
        with self.database.read() as connection:
            stored = jobs.load(connection, job_id)
        if stored is None:
            raise UnknownThingError("there is no such job")
        if stored.job.state is not CloudState.DONE:
            raise UnknownThingError(f"the job has no result: it is {stored.job.state}")
        return stored


def _result_of(stored: StoredJob) -> Result:
    members = stored.job.members
    attested = {agent: str(members[agent].attested) for agent in stored.job.roster if members[agent].attested}
    missing = tuple(agent for agent in stored.job.roster if agent not in attested)
    agreed = set(attested.values())
    return Result(
        job=stored.job.manifest.job,
        tree_sha256=agreed.pop() if len(agreed) == 1 and not missing else None,
        attested=attested,
        missing=missing,
        is_published=stored.job.manifest.publish_tree,
    )


def _tree_of(text: str, schema: Schema) -> Tree | None:
    """A tree that every member has attested; None if what they sent is none of this schema, which only all together
    can do.
    """
    try:
        tree = Tree.from_json(json.loads(text))
        check_tree(tree, schema)
    except (ValueError, RecursionError, InputError):
        return None
    return tree
