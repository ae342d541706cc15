"""`run` and `check-data`: the daemon, and a rehearsal of what it does with the records."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder
from hospital_agent.commands.jobs import status_document
from hospital_agent.commands.predicting import mapping_in
from hospital_agent.commands.protecting import UNPROTECTED
from hospital_agent.commands.serving_desk import desk_in
from machine.files import read_file
from machine.starting import loading
from shared.errors import InputError, numbered
from shared.reports import Report
from shared.rng import random_bytes

if TYPE_CHECKING:
    from fastapi import FastAPI

    from hospital_agent.daemon.loop import Daemon
    from hospital_agent.daemon.office import Office
    from hospital_agent.local_api.desk import Desk
    from shared.tree.schema import Schema

_MAX_SCHEMA_BYTES = 2**25
_SALT_BYTES = 32


class _Terminated(BaseException):
    """SIGTERM came; not an Exception, so that nothing on the way takes it for a fault."""


class LogFormat(StrEnum):
    """`--log-format`."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"


_IS_TEXT = {"auto": None, "text": True, "json": False}


def run(
    folder: Folder,
    log_format: Annotated[
        LogFormat | None,
        typer.Option("--log-format", help="text for people, json for log collectors; else the setting."),
    ] = None,
) -> None:
    """Work until Ctrl-C or SIGTERM: take offers, count, send, keep the finished trees, answer predictions."""
    with loading():
        from hospital_agent.local_api import serving
        from hospital_agent.telemetry import TRACES

        daemon, desk, app = _opened(folder, log_format)
    settings = daemon.office.settings
    local, traces = settings.local, TRACES.exporting(settings.telemetry.endpoint, "privet-agent")
    with _until_terminated(), traces, serving(app, local) if local.serve else nullcontext(None) as url:
        if url is not None:
            daemon.office.progress.tell(f"predictions are answered at {url}", url=url)
            if local.pages:
                daemon.office.progress.tell(f"pages for this hospital's people are at {url}/", url=url)
        try:
            daemon.run()
        finally:
            desk.close()


def _opened(folder: Path, log_format: LogFormat | None) -> tuple[Daemon, Desk, FastAPI]:
    """The daemon, the desk where predictions are asked for, and the local API before it."""
    from hospital_agent.daemon.loop import Daemon
    from hospital_agent.daemon.progress import Progress
    from hospital_agent.policy import load_policy
    from hospital_agent.protection import Protection
    from hospital_agent.settings import load_settings
    from hospital_agent.telemetry import TRACES
    from shared.errors import starting

    with starting(full="A019", closed="A018", other="A090"):
        chosen = load_settings(folder)
        load_policy(chosen.policy)
        TRACES.check(chosen.telemetry.endpoint)
        form = _IS_TEXT[log_format or chosen.log_format]
        daemon = Daemon.open(folder, progress=Progress(chosen.id, terminal=form))
        _check_data(daemon.office)
        if not Protection.of(folder).is_on:
            daemon.office.progress.warn(UNPROTECTED)
    desk = desk_in(folder, daemon.office.shelf, daemon.office.settings.local)
    return daemon, desk, _local_api(folder, daemon, desk)


def _local_api(folder: Path, daemon: Daemon, desk: Desk) -> FastAPI:
    """The local API with what settings switch on."""
    from hospital_agent.local_api import create_app, say_no_services
    from hospital_agent.metrics import Figures, add_metrics

    office = daemon.office
    local, clinical_settings = office.settings.local, office.settings.clinical
    token = None if local.token is None else local.token.get_secret_value()
    app = create_app(desk.library, lambda: status_document(folder), token, desk=desk)
    # Neither room is loaded where it is off: an agent that only computes starts without them.
    if local.pages:
        from hospital_agent.pages import ENDED_JOBS, House, install

        shown = partial(status_document, folder, ended=ENDED_JOBS)
        install(app, House(folder, desk, shown, version("privet"), token))
    if clinical_settings.services is not None:
        from hospital_agent import clinical

        with numbered("A023"):
            clinical.install(
                app, folder, clinical_settings, pages=local.pages, signed=partial(mapping_in, folder)
            )
    else:
        say_no_services(app)
    figures = Figures(folder, lambda: office.keyring.certificate, office.clock, desk.drift_states)
    daemon.client.observers.append(figures.count)
    add_metrics(app, figures)
    return app


def _check_data(office: Office) -> None:
    """Records may come later, and finished trees serve without them; what contradicts itself never works.

    Raises: InputError: [data] names records in two ways, or a database without its table.
    """
    data = office.settings.data
    if data.path is None and data.url is None:
        office.progress.warn("no records are named yet: path or url under [data] in agent.toml")
        return
    with numbered("A017"):
        _ = office.records
    if data.path is not None and not data.path.is_file():
        office.progress.warn(
            "there is no file at path under [data] in agent.toml; jobs will be declined until it is"
        )


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
    from hospital_agent.records.sql_ways import THERE, parting_notes, with_way
    from hospital_agent.settings import load_settings

    data, wanted = data_settings(load_settings(folder).data), read_schema(schema)
    with tempfile.TemporaryDirectory(dir=folder, prefix="check-") as room:
        snapshot = open_source(data, Path(room)).freeze(wanted, random_bytes(_SALT_BYTES))
        rows, notes = snapshot.row_count, with_way(snapshot.notes, data)
        notes += parting_notes(data, wanted) if THERE in notes else ()
    lines = [f"The records fit: {rows} of them, every field has a code.", *notes]
    return Report({"fits": True, "rows": rows, "notes": list(notes)}, "\n".join(lines))


def read_schema(path: Path) -> Schema:
    """A study's schema as a file of JSON. Raises: InputError: it is none."""
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
