"""`run` and `check-data`: the daemon, and a rehearsal of what it does with the records."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder
from hospital_agent.commands.jobs import status_document
from hospital_agent.files import read_file
from shared.errors import InputError
from shared.reports import Report
from shared.rng import random_bytes

if TYPE_CHECKING:
    from shared.tree.schema import Schema

_MAX_SCHEMA_BYTES = 2**25
_SALT_BYTES = 32


class _Terminated(BaseException):
    """SIGTERM came; not an Exception, so that nothing on the way takes it for a fault."""


def run(folder: Folder) -> None:
    """Work until Ctrl-C or SIGTERM: take offers, count, send, keep the finished trees, answer predictions."""
    from hospital_agent.daemon.loop import Daemon
    from hospital_agent.local_api import Library, create_app, serving

    daemon = Daemon.open(folder)
    settings = daemon.office.settings
    local = settings.local
    token = None if local.token is None else local.token.get_secret_value()
    app = create_app(Library(daemon.office.shelf), lambda: status_document(folder), token)
    with _until_terminated(), serving(app, local) if local.serve else nullcontext(None) as url:
        if url is not None:
            daemon.office.progress.tell(f"predictions are answered at {url}", url=url)
        if settings.data.path is None and settings.data.url is None:
            daemon.office.progress.warn("no records are named yet: path or url under [data] in agent.toml")
        daemon.run()


@contextmanager
def _until_terminated() -> Iterator[None]:
    """SIGTERM ends the context quietly, wherever the work stands; the journal makes that safe."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _Terminated:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def check_data(
    folder: Folder,
    schema: Annotated[Path, typer.Option(help="The study's schema: JSON with attributes and class.")],
) -> Report:
    """Read the records as a job would and say whether they fit a study's schema. Nothing is kept or sent."""
    from hospital_agent.daemon.office import data_settings
    from hospital_agent.records import open_source
    from hospital_agent.settings import load_settings

    settings = load_settings(folder)
    wanted = _read_schema(schema)
    with tempfile.TemporaryDirectory(dir=folder, prefix="check-") as room:
        snapshot = open_source(data_settings(settings.data), Path(room)).freeze(
            wanted, random_bytes(_SALT_BYTES)
        )
        rows, notes = snapshot.row_count, snapshot.notes
    lines = [f"The records fit: {rows} of them, every field has a code.", *notes]
    return Report({"fits": True, "rows": rows, "notes": list(notes)}, "\n".join(lines))


def _read_schema(path: Path) -> Schema:
    from shared.tree.schema import Schema

    raw = read_file(path, max_bytes=_MAX_SCHEMA_BYTES, remedy="Name the file with the study's schema.")
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError(
            "not JSON", where=str(path), remedy="Use the schema as the study gives it."
        ) from None
    if isinstance(document, dict) and "schema" in document:
        document = document["schema"]
    return Schema.from_json(document)
