"""FHIRPath with the model of FHIR R4, as fhirpathpy evaluates it, and nothing of what it reads in any message.

Needs the extra `fhir`, which is asked for when the first path is compiled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.errors import InputError

Compiled = Callable[[Any, Mapping[str, Any]], list[Any]]
"""What a path gives on a resource, with constants. Raises whatever the engine raises: it may quote the resource."""
Functions = Mapping[str, Mapping[str, Any]]
_NO_FUNCTIONS: Final[Functions] = {}


@dataclass(frozen=True, slots=True)
class PathEngine:
    """fhirpathpy, loaded."""

    _engine: Any = field(repr=False)
    _model: Any = field(repr=False)

    @classmethod
    def load(cls, where: str) -> PathEngine:
        """Args: where: who needs it. Raises: InputError: the extra is not installed."""
        try:
            engine = importlib.import_module("fhirpathpy")
            model = importlib.import_module("fhirpathpy.models").models["r4"]
        except ImportError:
            raise InputError(
                "FHIR resources need the extra `fhir`.",
                where=where,
                remedy='Install it with: pip install "privet[fhir]"',
            ) from None
        return cls(engine, model)

    def compile(
        self, text: str, functions: Functions = _NO_FUNCTIONS, *, raw: bool = False
    ) -> Compiled | None:
        """A path ready to be evaluated, None where the text is none.

        Args: functions: further ones, in the engine's form. raw: elements as they stand in the resource.
        """
        # The engine's own trace prints what it is given, that is records.
        known = {
            **functions,
            "trace": {"fn": _untold, "arity": {0: [], 1: ["String"], 2: ["String", "Expr"]}},
        }
        # The engine knows `$this` only within a function; raw data keep the types that choices such as value[x] need.
        whole = f"select({text})" if "$this" in text else text
        options = {"userInvocationTable": known, "returnRawData": raw}
        try:
            compiled = self._engine.compile(whole, self._model, options) if is_fhirpath(text) else None
        except Exception:  # a character that is in no FHIRPath
            return None
        return None if compiled is None else lambda resource, constants: list(compiled(resource, constants))


def is_fhirpath(text: str) -> bool:
    """Whether a path follows the grammar to its end. The engine itself passes over what it does not understand."""
    antlr = importlib.import_module("antlr4")
    generated = "fhirpathpy.parser.generated"
    lexer_kind = importlib.import_module(f"{generated}.FHIRPathLexer").FHIRPathLexer
    parser_kind = importlib.import_module(f"{generated}.FHIRPathParser").FHIRPathParser
    lexer = lexer_kind(antlr.InputStream(text))
    parser = parser_kind(antlr.CommonTokenStream(lexer))
    lexer.removeErrorListeners()
    parser.removeErrorListeners()
    parser.entireExpression()
    return bool(parser.getNumberOfSyntaxErrors() == 0)


def _untold(inputs: Sequence[Any], *_: Any) -> Sequence[Any]:
    """FHIRPath's trace without a trace."""
    return inputs
