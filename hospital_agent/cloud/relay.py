"""The door to the cloud's relay: opens a way for one job, by WebSocket or by long polls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import httpx

from hospital_agent.cloud.calls import Calls
from hospital_agent.cloud.connecting import ClientFiles, open_http
from hospital_agent.cloud.long_poll import LongPollCarrier
from hospital_agent.cloud.retries import Patience
from hospital_agent.cloud.websocket import WebSocketCarrier, open_websocket
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer


@dataclass(slots=True)
class RelayDoor:
    """One agent at one cloud, for one job. `ca_bundle`: PEM, for a private CA; `client_files` for mutual TLS."""

    base_url: str
    agent: str
    job: str
    signer: Signer
    ca_bundle: Path | None = None
    client_files: ClientFiles | None = None
    patience: Patience = field(default_factory=Patience)
    _calls: Calls = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._calls = Calls(self.agent, self.job, self.signer)

    def websocket(self) -> WebSocketCarrier:
        """Raises: NoWebSocketError: none comes through. BusyError: not now. PeerError: refused."""
        try:
            return self._websocket()
        except PeerError as refusal:
            # A clock that is off shows as a bad signature; the answer has brought the right time.
            if refusal.code is not ErrorCode.BAD_SIGNATURE:
                raise
            return self._websocket()

    def long_poll(self) -> LongPollCarrier:
        """Raises: BusyError: not now. PeerError: refused."""
        clients = self._open(), self._open()
        carrier = LongPollCarrier(*clients, f"/v1/jobs/{self.job}/frames", self._calls, self.patience)
        try:
            carrier.probe()
        except BaseException:
            for http in clients:
                http.close()
            raise
        return carrier

    def _open(self) -> httpx.Client:
        return open_http(self.base_url, self.ca_bundle, self.client_files)

    def _websocket(self) -> WebSocketCarrier:
        http = self._open()
        try:
            return open_websocket(http, f"/v1/jobs/{self.job}/relay", self._calls)
        except BaseException:
            http.close()
            raise
