"""The demo from beginning to end: records, federation, job, comparison; and everything put away afterwards."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from shlex import quote

from hospital_agent.records.remarks import remarks
from privet.demo.dealing import DemoRecords, prepare
from privet.demo.example import example_words
from privet.demo.federation import PERSON, Federation, Folders, approve_all, set_up
from privet.demo.job import JobWatch, Outcome
from privet.demo.noisy import NoiseComparison
from privet.demo.options import DemoOptions
from privet.demo.pooled import PooledTree, grow_pooled
from privet.demo.processes import Processes, ending_signals
from privet.demo.progress import Progress
from privet.demo.rendering import render
from privet.demo.result import DemoResult
from shared.errors import InputError
from shared.reports import Report
from shared.tree.export import reference_form


def run_demo(options: DemoOptions) -> Report:
    """Run the demo. Nothing of it is running when this returns or raises.

    Raises: InputError: the data or the folder to keep. JobFailure, InternalError, TemporaryError: as the programs.
    """
    progress = Progress()
    with ending_signals(), _home(options) as folders:
        records = prepare(options, folders.records, progress.line)
        for remark in remarks(records.schema, numbers=options.mode == "gain-ratio") if options.files else ():
            progress.line(f"note: {remark}")
        with progress.step("the plain tree of the pooled records, to compare with"):
            pooled = grow_pooled(records, options.rules, options.mode)
        with Processes(folders.logs) as processes:
            federation = set_up(records, options, folders, processes, progress)
            with progress.step("one job: the hospitals grow the tree together"):
                approve = partial(approve_all, folders, records, processes) if options.stay else None
                outcome = JobWatch.run(federation, records, options, processes.check, progress, approve)
            result = DemoResult(
                options,
                records,
                outcome.rounds,
                outcome.trees,
                pooled,
                outcome.costs,
                outcome.secret,
                _noise(outcome, options, records, pooled),
            )
            report = _report(result, folders)
            if options.stay:
                _stay(report.text, federation, progress)
                return Report(report.document, "The demo's federation has ended.", report.exit_code)
        return report


@contextmanager
def _home(options: DemoOptions) -> Iterator[Folders]:
    """The folder of the whole federation: temporary, or new or empty where it is to be kept."""
    if options.keep is None:
        with tempfile.TemporaryDirectory(prefix="privet-demo-", ignore_cleanup_errors=True) as name:
            yield _furnished(Path(name))
        return
    keep = options.keep.absolute()
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InputError(
            "there is something here already, and nothing is overwritten.",
            where=f"--keep {options.keep}",
            remedy="Name a new or an empty folder.",
        )
    try:
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders = _furnished(keep)
    except OSError as error:
        raise InputError(
            f"the folder cannot be made or written to: {error.strerror}.",
            where=f"--keep {options.keep}",
            remedy="Name a folder that you may write to.",
        ) from None
    try:
        yield folders
    except InputError:
        # The records were refused before anything was made: the same command, mended, finds the folder empty.
        with suppress(OSError):
            folders.records.rmdir()
        raise


def _furnished(root: Path) -> Folders:
    folders = Folders(root)
    folders.records.mkdir(mode=0o700)
    return folders


def _report(result: DemoResult, folders: Folders) -> Report:
    text = render(result, _next_steps(result, folders))
    return Report(result.document(), text, exit_code=0 if result.as_promised else 1)


def _noise(
    outcome: Outcome, options: DemoOptions, records: DemoRecords, pooled: PooledTree
) -> NoiseComparison | None:
    if outcome.noise is None or options.noise_sigma is None:
        return None
    noisy = outcome.trees[records.hospitals[0].id].form
    exact = reference_form(pooled.tree, records.schema)
    return NoiseComparison.of(outcome.noise, options.noise_sigma, noisy, exact, records)


def _next_steps(result: DemoResult, folders: Folders) -> list[str]:
    mode, stays = _mode_words(result), result.options.stay
    look = f"look around        privet demo {mode}--stay       (leaves the pages and the API up until Ctrl-C)"
    steps = [
        f"your own file      privet demo {mode}--data FILE --class COLUMN --drop COLUMN",
        *(() if stays else (look,)),
        "keep the files     privet demo --keep DIR",
        "five machines      deploy/README.md",
    ]
    if result.options.keep is None:
        return steps
    first = folders.agent(result.records.hospitals[0].id)
    example = example_words(result.pooled.tree, result.records.schema)
    return [
        f"ask the model      privet agent predict {quote(str(first))} {example}",
        f"its own story      privet agent status {quote(str(first))}",
        *steps,
    ]


def _mode_words(result: DemoResult) -> str:
    return f"--mode {result.options.mode} " if result.options.is_secret else ""


def _stay(text: str, federation: Federation, progress: Progress) -> None:
    """Show the result and wait for Ctrl-C, which is then the ordinary end."""
    progress.console.print(text, markup=False, soft_wrap=True)
    progress.line("")
    progress.line(f"dashboard         {federation.cloud_url}/")
    progress.line(f"  sign in as      {PERSON}, password {federation.password}")
    progress.line("                  (an analyst: may look at everything, and start nothing)")
    progress.line(f"cloud API         {federation.cloud_url}/docs")
    progress.line(f"  bearer token    {federation.token}")
    for hospital, url in federation.agent_urls.items():
        progress.line(f"hospital {hospital:<8} {url}/    (programs: POST {url}/v1/models/latest/predict)")
    progress.line("running until Ctrl-C ...")
    try:
        signal.pause()
    except KeyboardInterrupt:
        progress.line("stopping")
