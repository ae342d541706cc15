"""`[telemetry]` of the cloud's settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class TelemetrySettings(BaseModel):
    """Where traces go."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    endpoint: Annotated[str, Field(pattern=r"^(https?://[^?#@\s]+)?$")] = ""
    """Base URL of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; needs the extra `otel`. Spans
    name routes and kinds of work only."""
