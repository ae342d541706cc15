"""Bodies read with all digits of their numbers, for the rooms that take them as models of Pydantic."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from shared.wire.exact_json import read_exact
from shared.wire.predicting import MAX_RECORDS, Question

__all__ = ["MAX_RECORDS", "ExactRequest", "ExactRoute", "Question"]


class ExactRequest(Request):
    """A request whose JSON numbers keep all their digits, because a threshold may be one digit away."""

    async def json(self) -> Any:
        """The body; numbers with a point or an exponent as decimals."""
        return read_exact(await self.body())


class ExactRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given an `ExactRequest`."""
        handle = super().get_route_handler()

        async def exact(request: Request) -> Response:
            return await handle(ExactRequest(request.scope, request.receive))

        return exact
