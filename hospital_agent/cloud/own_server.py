"""Asking this agent's own prediction server, on this machine, whether it answers."""

from __future__ import annotations

import httpx

from shared.hosts import is_everywhere

_ANSWER_SECONDS = 4.0


def local_answers(host: str, port: int) -> bool:
    """Whether the server of `[local]` says that it is well."""
    name = "127.0.0.1" if is_everywhere(host) else host
    netloc = f"[{name}]" if ":" in name else name
    try:
        answer = httpx.get(f"http://{netloc}:{port}/healthz", timeout=_ANSWER_SECONDS, trust_env=False)
    except httpx.TransportError:
        return False
    return answer.status_code == httpx.codes.OK
