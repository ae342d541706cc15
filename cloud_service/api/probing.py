"""Asking a cloud on this machine whether it is ready, as an orchestrator's health check does."""

from __future__ import annotations

import http.client
import ssl
from contextlib import closing

from cloud_service.settings import Settings
from shared.errors import TemporaryError
from shared.hosts import is_everywhere

_READY = 200


def ask_ready(settings: Settings, seconds: float) -> str:
    """The address at which the cloud of these settings answered that it can work.

    Raises: TemporaryError: no answer within `seconds`, or it cannot work now.
    """
    host = "127.0.0.1" if is_everywhere(settings.host) else settings.host
    where = f"{host} port {settings.port}"
    try:
        with closing(_connection(settings, host, seconds)) as connection:
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        if settings.tls_client_required and "CERTIFICATE_REQUIRED" in str(getattr(error, "reason", "")):
            return where  # it speaks, and lets nobody in without a client certificate, not even this check
        raise TemporaryError(
            f"no cloud answers at {where} ({type(error).__name__}): start it with privet cloud serve FOLDER, which "
            "says what keeps it from starting"
        ) from None
    if status != _READY:
        raise TemporaryError(f"the cloud at {where} answers, and cannot work now: see its log")
    return where


def _connection(settings: Settings, host: str, seconds: float) -> http.client.HTTPConnection:
    if settings.tls_files is None:
        return http.client.HTTPConnection(host, settings.port, timeout=seconds)
    # The certificate names the public address, not this one; so the very certificate is what is trusted.
    context = ssl.create_default_context(cafile=str(settings.tls_files[0]))
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return http.client.HTTPSConnection(host, settings.port, timeout=seconds, context=context)
