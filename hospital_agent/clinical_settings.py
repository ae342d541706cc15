"""`[clinical]`: how clinical systems ask, by CDS Hooks and with FHIR resources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, model_validator

from shared.hosts import is_loopback


class ClinicalSection(BaseModel):
    """`[clinical]`: CDS Hooks services and FHIR input. Nothing of it is there without `services`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    services: Path | None = None
    """TOML file with the CDS Hooks services, the FHIR mappings and the clients (docs/guides/clinical-systems.md)."""
    public_url: Annotated[str, Field(pattern=r"^(https?://[^?#@\s]+[^/?#@\s])?$")] = ""
    """Base URL under which clinical systems reach this agent, such as `https://privet.hospital.example`; their tokens
    must name it exactly. Needed as soon as the file names clients."""
    origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/?#@\s]+$")], ...] = ()
    """Origins of pages that may ask from a browser (CORS), such as `https://ehr.hospital.example`; none by default."""
    fhir_servers: tuple[Annotated[str, Field(pattern=r"^https?://[^?#@\s]+[^/?#@\s]$")], ...] = ()
    """Base URLs of FHIR servers from which the agent may fetch what a client did not send along, with the token that
    the client gives; none by default, and then it never does."""
    ca_bundle: Path | None = None
    """PEM file of the certificate authority of those servers, if the system does not know it."""

    @model_validator(mode="after")
    def _sealed(self) -> ClinicalSection:
        for url in self.fhir_servers:
            parts = AnyUrl(url)
            if parts.scheme == "http" and not is_loopback(parts.host or ""):
                raise ValueError("fhir_servers: http:// is for a server on this machine only; use https://")
        return self

    def located(self, folder: Path) -> ClinicalSection:
        """With paths that mean the agent's folder."""
        paths = (("services", self.services), ("ca_bundle", self.ca_bundle))
        return self.model_copy(update={name: folder / path for name, path in paths if path is not None})
