"""Where a compute party takes direct connections: chosen when it accepts a job, and signed in its acceptance."""

from __future__ import annotations

from collections.abc import Collection

from hospital_agent.links.meeting import listen
from hospital_agent.links.tls import JobCertificate
from hospital_agent.settings import ComputeSection
from shared.errors import InputError
from shared.wire.secret import DirectEndpoint


def choose_endpoint(
    section: ComputeSection, taken: Collection[int], private: bytes, mh: bytes
) -> DirectEndpoint | None:
    """The endpoint for one job; None where the settings name no address to listen at.

    Args: taken: ports of running jobs. private, mh: this agent's X25519 key of the job, and the manifest's hash.
    Raises: InputError: none of the ports can be had.
    """
    address = section.address
    if address is None:
        return None
    host, ports = address
    reason = InputError(
        "every port is taken by a running job",
        where="[compute] listen",
        remedy="Name a range of ports, such as 10.0.0.5:8720-8729.",
    )
    for port in ports:
        if port and port in taken:
            continue
        try:
            with listen(host, port) as probe:
                free = int(probe.getsockname()[1])
        except InputError as error:
            reason = error
            continue
        certificate = JobCertificate.of(private, mh=mh)
        return DirectEndpoint(
            host=section.advertise or host, port=free, certificate_sha256=certificate.sha256
        )
    raise reason
