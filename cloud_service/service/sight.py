"""What somebody who speaks for one hospital sees: the jobs that invite it, and their studies."""

from __future__ import annotations

from dataclasses import dataclass

from cloud_service.service.permissions import Caller
from cloud_service.service.refusals import UnknownThingError
from cloud_service.store import invited
from cloud_service.store.database import Database


@dataclass(frozen=True, slots=True)
class Sight:
    """What lies beyond it is answered as if it were not there."""

    database: Database

    def job(self, caller: Caller, job_id: str) -> None:
        """Raises: UnknownThingError: the caller's hospital is not invited to it."""
        if caller.hospital is not None:
            with self.database.read() as connection:
                if not invited.to_job(connection, caller.hospital, job_id):
                    raise UnknownThingError("there is no such job")

    def study(self, caller: Caller, study_id: str) -> None:
        """Raises: UnknownThingError: the caller's hospital has nothing to do with it."""
        if caller.hospital is not None:
            with self.database.read() as connection:
                if study_id not in invited.studies(connection, caller.hospital):
                    raise UnknownThingError("no such study")

    def studies(self, caller: Caller) -> frozenset[str] | None:
        """Ids of the studies that the caller sees; None: all."""
        if caller.hospital is None:
            return None
        with self.database.read() as connection:
            return invited.studies(connection, caller.hospital)
