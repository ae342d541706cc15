"""What every part of the daemon works with: the agent's folder, keys, journal, rules and records."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from hospital_agent.daemon.progress import Progress
from hospital_agent.journal import Journal, studies
from hospital_agent.keyring import Keyring
from hospital_agent.models import Shelf, shares_path, shelf_of
from hospital_agent.models.questions import Questions
from hospital_agent.policy import Policy, load_policy
from hospital_agent.records import AskedSource, DataSettings, QuestionSource, RecordSource, open_source
from hospital_agent.settings import AgentSettings, DataSection, load_settings
from shared.errors import InputError
from shared.ids import AgentId
from shared.protocol.agent_effects import HospitalKeys
from shared.protocol.asking import asked_of
from shared.wire.manifest import Manifest

SNAPSHOTS = "snapshots"
PREDICTIONS = "predictions"
"""Folder of the classes that shared trees gave for this hospital's records."""


@dataclass(slots=True)
class Office:
    """One agent at work. Nothing in here is shared with another thread. `clock`: Unix seconds."""

    folder: Path
    settings: AgentSettings
    keyring: Keyring = field(repr=False)
    journal: Journal
    progress: Progress
    policy: Policy = field(default_factory=Policy)
    clock: Callable[[], float] = time.time

    @property
    def own(self) -> AgentId:
        """This agent's id."""
        return AgentId(self.settings.id)

    def hospital_keys(self, key_id: str | None = None) -> HospitalKeys:
        """The keyring's, trusting certificates that are valid now. They are asked for at an offer and a roster only."""
        keys = self.keyring.hospital_keys(key_id)
        return replace(keys, trust=replace(keys.trust, now=int(self.clock())))

    def reread(self) -> None:
        """Take the settings and the policy as their files stand now, so that a correction needs no restart.

        Raises: InputError: one of them is wrong; what was read before stays.
        """
        settings = load_settings(self.folder)
        self.policy = load_policy(settings.policy)
        self.settings = settings

    @property
    def data(self) -> DataSettings:
        """Where the records are."""
        return data_settings(self.settings.data)

    @property
    def records(self) -> RecordSource:
        """The records, not yet read."""
        return open_source(self.data, self.folder / SNAPSHOTS)

    def records_for(self, manifest: Manifest) -> RecordSource:
        """The records that a job is about: of the studies, or those that a shared tree is to be asked about."""
        ask, data, secret = self.settings.data.ask, self.data_for(manifest.study), manifest.secret
        wish = asked_of(manifest)
        if wish is not None and wish.hospital == self.own:
            question = self.questions.claim(wish.question, manifest.job)
            if question is None:
                raise InputError(
                    "the question that this job answers is not here any more",
                    where=f"question {wish.question}",
                    remedy="Ask again.",
                )
            return QuestionSource(question.columns, question.rows, self.folder / SNAPSHOTS)
        if ask is None or secret is None or secret.purpose == "train":
            return open_source(data, self.folder / SNAPSHOTS)
        asked = replace(data, path=ask, url=None, table=None, query=None)
        return AskedSource(asked, self.folder / SNAPSHOTS)

    @property
    def questions(self) -> Questions:
        """What this hospital's programs ask trees that stay shared."""
        return Questions(self.folder, self.clock)

    def data_for(self, study: str) -> DataSettings:
        """Where the records are, and how the data contract of a study's document reads them."""
        return replace(self.data, contract=studies.contract_of(self.journal, study))

    @property
    def shelf(self) -> Shelf:
        """The finished models."""
        return shelf_of(self.folder, self.keyring.identity.public, self.keyring.hospital_trust().root)

    def predictions_of(self, job: str) -> Path:
        """Where the classes go that a shared tree gives for the own records."""
        return self.folder / PREDICTIONS / f"{job}.csv"

    def discard_results(self, job: str) -> None:
        """Delete what a secret job has left here before it failed."""
        shares_path(self.shelf.folder, job).unlink(missing_ok=True)
        self.predictions_of(job).unlink(missing_ok=True)

    def discard_snapshots_but(self, kept: Collection[str]) -> None:
        """Delete frozen records that no running job has, such as those frozen just before the agent was killed.

        Args: kept: SHA-256 of the snapshots that are still needed.
        """
        for path in (self.folder / SNAPSHOTS).glob("*"):
            if path.name.partition(".")[0] not in kept or path.suffix == ".part":
                path.unlink(missing_ok=True)

    def discard_snapshot(self, sha256: str | None) -> None:
        """Delete the frozen records of a job that is over."""
        if sha256:
            for path in (self.folder / SNAPSHOTS).glob(f"{sha256}.*"):
                path.unlink(missing_ok=True)


def data_settings(section: DataSection) -> DataSettings:
    """The settings' words as the records room takes them."""
    return DataSettings(
        path=section.path,
        url=None if section.url is None else section.url.get_secret_value(),
        table=section.table,
        query=section.query,
        class_column=section.class_column,
        has_header=section.header,
        drop=section.drop,
        delimiter=section.delimiter,
        quote=section.quote,
        comment=section.comment,
        sheet=section.sheet,
        encoding=section.encoding,
        rename=section.rename,
        missing_codes=section.missing,
        units=section.units,
        patient_column=section.patient,
        decimal_comma=section.decimal_comma,
    )
