"""What strangers and single hospitals may take of this cloud, as its settings say it under `limits`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class LimitSettings(BaseModel):
    """What strangers and single hospitals may take."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    anonymous_per_second: Annotated[float, Field(gt=0)] = 20
    """Requests of one address that prove nothing or are refused; ten times as many may come at once."""
    connections_per_address: Annotated[int, Field(ge=1)] = 200
    """Connections of one address at a time; not counted behind a proxy, which sets this limit itself."""
    slowest_bytes_per_second: Annotated[int, Field(ge=1)] = 1024
    """A body that comes more slowly is cut off, 10 s after its start at the earliest."""
    running_jobs: Annotated[int, Field(ge=1)] = 100
    """Jobs that run at a time and invite the same hospital."""
    asked_jobs_per_day: Annotated[int, Field(ge=1)] = 100
    """Jobs that one hospital's agent may start within 24 hours to ask trees that stay shared (`agents_may_ask`)."""
    messages_per_hour: Annotated[int, Field(ge=60)] = 50_000
    """Messages of one hospital an hour, at each replica."""
    stored_bytes: Annotated[int, Field(ge=2**20)] = 2 * 2**30
    """Bytes of one hospital's messages that are kept, in all jobs that retention has not cleared."""
