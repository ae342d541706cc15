"""A small federation on this machine, to be used from Python: `Playground.start()` in a notebook.

    with Playground.start() as here:
        client = here.client()

It is the demo's: every party is a real program with keys of its own, on toy records that are in no need of protection.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privet.client import Client
from privet.demo.dealing import DemoRecords, prepare
from privet.demo.federation import Federation, Folders, set_up
from privet.demo.options import DemoOptions, hospital_count
from privet.demo.processes import Processes
from privet.demo.progress import Progress
from shared.errors import InputError
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema

_RULES = GrowthRules(min_node=1, min_child=1, max_depth=None)
"""The hospitals' policies allow any rules of growth, as no real hospital does."""


@dataclass(frozen=True, slots=True)
class Playground:
    """A running federation. Use as a context manager, or `close` it; it ends with this process at the latest."""

    _federation: Federation = field(repr=False)
    _records: DemoRecords = field(repr=False)
    _folders: Folders = field(repr=False)
    _processes: Processes = field(repr=False)
    _stack: ExitStack = field(repr=False)

    @classmethod
    def start(cls, *, hospitals: int = 3, key_bits: int = 2048) -> Self:
        """Found a federation, start its cloud and hospitals, and tell of it on standard error; takes some seconds.

        Raises: InputError: too few or too many hospitals. PrivetError: a program did not start.
        """
        options = DemoOptions(
            hospitals=hospital_count(hospitals, 0), rules=_RULES, key_bits=key_bits, is_playground=True
        )
        with ExitStack() as stack:
            root = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="privet-playground-", ignore_cleanup_errors=True)
            )
            folders = Folders(Path(root))
            folders.records.mkdir(mode=0o700)
            records = prepare(options, folders.records)
            processes = stack.enter_context(Processes(folders.logs))
            federation = set_up(records, options, folders, processes, Progress())
            return cls(federation, records, folders, processes, stack.pop_all())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop all programs and remove their files."""
        self._stack.close()

    @property
    def url(self) -> str:
        """The cloud's address."""
        return self._federation.cloud_url

    @property
    def schema(self) -> Schema:
        """What the toy records look like."""
        return self._records.schema

    @property
    def files(self) -> dict[str, Path]:
        """Each hospital's records, as CSV. Of real hospitals nobody else has them."""
        found = {hospital.id: hospital.settings.path for hospital in self._records.hospitals}
        return {str(name): path for name, path in found.items() if path is not None}

    def client(self) -> Client:
        """A client with the token of somebody who may start jobs and read trees."""
        return Client.from_token(self.url, self._federation.token)

    def ask_hospital(self, hospital: str, command: str, *words: str) -> dict[str, Any]:
        """What `privet agent COMMAND DIR WORDS --json` says in a hospital's folder, as its own people would type it.

        Raises: InputError: no such hospital. PrivetError: as the command.
        """
        known = {each.id: self._folders.agent(each.id) for each in self._records.hospitals}
        folder = next((path for name, path in known.items() if name == hospital), None)
        if folder is None:
            raise InputError(f"expected one of {', '.join(known)}, got {hospital!r}", where="hospital")
        return self._processes.call(f"{hospital}-asked", "agent", command, str(folder), *words)
