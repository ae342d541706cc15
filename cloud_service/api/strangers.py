"""Requests that prove nothing, or are refused: so many from one address, then none for a while.

A request whose sender was known (`cloud_service.service.proofs`) costs its address nothing unless it is refused; those
have limits of their own. The address is the connection's, or the one that a trusted proxy names. Requests from this
machine itself are not counted.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_service.api.problems import CODE_KEY, problem
from cloud_service.service import proofs
from cloud_service.service.proofs import Proof
from cloud_service.service.rates import RateLimitedError, Rates
from shared.hosts import is_loopback

_REFUSED: Final = frozenset({400, 401, 404, 405, 413, 415})
_OURS: Final = 500
"""From this status on it is the cloud that fails."""
_COUNTED: Final = frozenset({"http", "websocket"})
_STARTS: Final = frozenset({"http.response.start", "websocket.http.response.start"})
_UNCOUNTED: Final = frozenset({"/healthz", "/readyz"})


class Strangers:
    """ASGI middleware. `per_second`: requests without proof of one address; ten times as many may come at once."""

    def __init__(self, app: ASGIApp, per_second: float) -> None:
        self._app = app
        self._rates = Rates(per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it before anything is read of it."""
        address = _address(scope)
        if scope["type"] not in _COUNTED or address is None or scope["path"] in _UNCOUNTED:
            await self._app(scope, receive, send)
            return
        try:
            self._rates.check(address)
        except RateLimitedError as error:
            scope[CODE_KEY] = error.code.value
            headers = {"Retry-After": str(round(error.retry_after_seconds or 1))}
            await problem(429, error.code.value, str(error), headers)(scope, receive, send)
            return

        with proofs.awaited() as proof:

            async def count(message: Message) -> None:
                if message["type"] in _STARTS and _costs(proof, message["status"]):
                    self._rates.charge(address)
                await send(message)

            await self._app(scope, receive, count)


def _address(scope: Scope) -> str | None:
    client: Any = scope.get("client")
    return None if client is None or is_loopback(str(client[0])) else str(client[0])


def _costs(proof: Proof, status: int) -> bool:
    return status in _REFUSED or (not proof.is_given and status < _OURS)
