"""FHIRPaths of a mapping, compiled when the mapping is read, so that a slip is told before anybody asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from hospital_agent.clinical.bounds import (
    CLOCK,
    EXPRESSIONS,
    MAX_QUESTION_SECONDS,
    TooCostlyError,
    bounded,
    is_question_over,
)
from hospital_agent.records.fhirpath import PathEngine
from shared.contract.fhir import CompilePath, Evaluate
from shared.errors import InputError

_CLOCK: Final = re.compile(rf"\b({'|'.join(CLOCK)})\s*\(")
_EXPRESSION: Final = re.compile(rf"\b({'|'.join(EXPRESSIONS)})\s*\(")


def path_compiler(where: str) -> CompilePath:
    """Compiles paths for `MappingReader.of`. Args: where: whose they are, for messages."""
    engines: list[PathEngine] = []

    def compile_path(text: str) -> Evaluate:
        if _CLOCK.search(text):
            raise InputError(
                "a path asks the clock, so that the same resources would give another record tomorrow",
                where=where,
                remedy="Use %asked, the moment of the question.",
            )
        if _EXPRESSION.search(text):
            raise InputError(
                "a path has a regular expression, and one that is badly made would hold up the agent",
                where=where,
                remedy="Use startsWith, endsWith, contains or =.",
            )
        if not engines:
            engines.append(PathEngine.load(where))
        compiled = engines[0].compile(text)
        if compiled is None:
            raise InputError(f"no FHIRPath: {text}", where=where, remedy="Correct the mapping's path.")
        return _evaluating(compiled, text, where)

    return compile_path


def _evaluating(compiled: Callable[..., list[Any]], text: str, where: str) -> Evaluate:
    def evaluate(resource: Any, asked: datetime) -> list[Any]:
        try:
            with bounded():
                return compiled(resource, {"asked": asked.isoformat()})
        except TooCostlyError:
            if is_question_over():
                raise InputError(
                    f"the mapping's paths took more than {MAX_QUESTION_SECONDS:.0f} s together for this patient",
                    where=where,
                    remedy="Send fewer resources, or let the paths begin with a narrower part of them.",
                ) from None
            raise InputError(
                f"the path asks for too much of this resource: {text}",
                where=where,
                remedy="Make it shorter, or begin with a narrower part of the resource.",
            ) from None
        except Exception:  # the engine's messages quote the resource
            raise InputError(
                f"the path cannot be evaluated: {text}", where=where, remedy="Correct the mapping's path."
            ) from None

    return evaluate
