"""All limits of the cloud in one list, for people: the numbers stand where they are enforced."""

from __future__ import annotations

from dataclasses import dataclass

from cloud_service.api.body import LARGE_AT_ONCE, START_SECONDS
from cloud_service.api.connections import HEADER_BYTES, HEADER_SECONDS
from cloud_service.service.rates import BURST_SECONDS
from cloud_service.settings import Settings
from shared.wire.relay import MAX_PARCEL_BYTES


@dataclass(frozen=True, slots=True)
class Limit:
    """`setting`: its name in cloud.toml; empty for one that is fixed."""

    what: str
    value: str
    setting: str = ""


def in_force(settings: Settings) -> list[Limit]:
    """The limits under these settings."""
    limits = settings.limits
    return [
        Limit("body of a request", f"{settings.max_body_bytes} bytes", "max_body_bytes"),
        Limit("body in profile paper", f"{settings.max_paper_body_bytes} bytes", "max_paper_body_bytes"),
        Limit("large bodies worked on at a time", f"{LARGE_AT_ONCE}"),
        Limit("frame of a secret job", f"{MAX_PARCEL_BYTES} bytes"),
        Limit(
            "pace of a body",
            f"{limits.slowest_bytes_per_second} bytes/s after {START_SECONDS:g} s",
            "limits.slowest_bytes_per_second",
        ),
        Limit("request line and headers", f"{HEADER_BYTES} bytes, {HEADER_SECONDS:g} s"),
        Limit("long poll", f"{settings.max_wait_seconds:g} s", "max_wait_seconds"),
        Limit(
            "requests of an agent or token",
            f"{settings.requests_per_second:g}/s, {BURST_SECONDS} s' worth at once",
            "requests_per_second",
        ),
        Limit(
            "requests of an address that prove nothing or are refused",
            f"{limits.anonymous_per_second:g}/s, {BURST_SECONDS} s' worth at once",
            "limits.anonymous_per_second",
        ),
        Limit(
            "connections of an address",
            "set by the proxy" if settings.behind_proxy else f"{limits.connections_per_address}",
            "limits.connections_per_address",
        ),
        Limit("jobs that run with one hospital", f"{limits.running_jobs}", "limits.running_jobs"),
        Limit(
            "jobs by which one hospital's agent asks shared trees, in 24 hours",
            f"{limits.asked_jobs_per_day}",
            "limits.asked_jobs_per_day",
        ),
        Limit(
            "messages of one hospital", f"{limits.messages_per_hour}/h a replica", "limits.messages_per_hour"
        ),
        Limit("kept of one hospital's messages", f"{limits.stored_bytes} bytes", "limits.stored_bytes"),
        Limit(
            "messages of a finished job",
            f"deleted after {settings.retention_days} days" if settings.retention_days else "kept for ever",
            "retention_days",
        ),
    ]
