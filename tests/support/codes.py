"""docs/codes.md: every code with which a request is refused or a job ends, and every exit code of the command."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import privet.outcome
import shared.texts
from cloud_service.api.problems import STATUS, TITLES
from hospital_agent import local_api
from shared.errors import ErrorCode, JobCode

_HEAD = """\
# Codes

Made from the code by `python -m tests.support.pages`; a test compares. Programs may rely on these codes; the
sentences beside them may change.
Errors that keep a program from starting have [numbers](errors/README.md) and a page each.

## Exit codes

Of every command; `privet demo` says in its `--help` what they mean there.

"""
_CLOUD = """
## Refused by the cloud

As problem documents (RFC 9457, `application/problem+json`): `type` is `urn:privet:problem:` and the code, `detail`
says what was wrong and where. An answer with 429 or 503 has `Retry-After`.

| code | status | what happened |
|---|---|---|
"""
_AGENT = """
## Refused by a hospital's API

Problem documents as well, at `127.0.0.1:8711`; `remedy` says what to do. What clinical systems ask is answered by an
OperationOutcome with the same code.

| code | status |
|---|---|
"""
_JOB = """
## How a job ends without a tree

In `privet cloud job show`, at the job's page, in the log. Exit code 6.

| code | what happened | what to do |
|---|---|---|
"""
_STATUS_OF_PEOPLE = {
    "invalid_input": 422,
    "not_signed_in": 401,
    "provider_unavailable": 503,
    "forbidden": 403,
    "not_published": 403,
    "not_found": 404,
    "conflict": 409,
    "method_not_allowed": 405,
    "upgrade_required": 426,
    "internal": 500,
}
_TEXTS = Path(shared.texts.__file__).parent / "english.toml"
_REFUSERS = {"problem", "RefusedError"}


def codes_page() -> str:
    """docs/codes.md."""
    return "".join([_HEAD, _exit_codes(), _CLOUD, *_cloud_rows(), _AGENT, *_agent_rows(), _JOB, *_job_rows()])


def _exit_codes() -> str:
    table = re.search(r"^\| code .*?(?=^\"|\Z)", privet.outcome.__doc__ or "", re.MULTILINE | re.DOTALL)
    assert table is not None, "privet.outcome tells its exit codes in a table at its top"
    return table.group().strip() + "\n| 143 | ended by SIGTERM (`privet demo`) |\n"


def _cloud_rows() -> Iterator[str]:
    statuses = {code.value: status for code, status in STATUS.items()} | _STATUS_OF_PEOPLE
    assert {code.value for code in ErrorCode} <= set(TITLES)
    for code, title in TITLES.items():
        yield f"| `{code}` | {statuses[code]} | {title} |\n"


def _agent_rows() -> Iterator[str]:
    for code, statuses in sorted(agent_codes().items()):
        yield f"| `{code}` | {', '.join(str(status) for status in sorted(statuses))} |\n"


def agent_codes() -> dict[str, set[int]]:
    """Each code that stands in a refusal of the agent's API, with its statuses, read off the source."""
    found: dict[str, set[int]] = {}
    for path in sorted(Path(local_api.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _REFUSERS:
                _note(node, found)
    return found


def _note(call: ast.Call, found: dict[str, set[int]]) -> None:
    match call.args[:2]:
        case [ast.Constant(value=int(status)), ast.Constant(value=str(code))]:
            found.setdefault(code, set()).add(status)
        case _:
            return


def _job_rows() -> Iterator[str]:
    texts: dict[str, Any] = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))["cloud"]
    told, next_steps = texts["code"], texts["job"]["next"]
    for code in JobCode:
        yield f"| `{code.value}` | {told[code.value]} | {next_steps.get(code.value, next_steps['other'])} |\n"
