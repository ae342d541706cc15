"""The file of services: which models clinical systems may ask, by which mapping, and who asks.

`[[mappings]]`: `study`, `file`: the FHIR mapping of a study, JSON. `[[services]]`: a CDS Hooks service each.
`[[clients]]`: whose tokens are taken. Paths mean the file's own folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, ValidationError, model_validator

from hospital_agent.clinical.paths import path_compiler
from machine.files import read_file
from shared.contract.fhir import MappingReader
from shared.errors import InputError, PeerError
from shared.hosts import is_loopback
from shared.ids import ID_PATTERN
from shared.wire.base import describe
from shared.wire.fhir_mapping import MAX_MAPPING_BYTES, FhirMapping, Uri

_MAX_FILE_BYTES: Final = 2**20
REASONS_SYSTEM: Final = "urn:privet:override-reason"
_Text = Annotated[str, Field(min_length=1, max_length=500)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Coding(_Model):
    """A code that cards carry: a topic, or a reason to override one."""

    system: Uri = REASONS_SYSTEM
    code: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    display: _Text

    @property
    def document(self) -> dict[str, str]:
        """As FHIR writes it."""
        return {"system": self.system, "code": self.code, "display": self.display}


USUAL_REASONS: Final = (
    Coding(code="not-applicable", display="Does not apply to this patient"),
    Coding(code="already-known", display="Already known or acted on"),
    Coding(code="inputs-wrong", display="Rests on wrong or outdated data"),
    Coding(code="disagree", display="I judge otherwise"),
)


class Service(_Model):
    """One CDS Hooks service. `model`: an id, or a name that points to one. `uncovered`: what a patient gets for whom
    the tree has no full path: a card that says so, or no card."""

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    hook: Literal["patient-view", "order-select"] = "patient-view"
    model: _Text
    title: _Text
    description: _Text
    usage_requirements: Annotated[str, Field(max_length=500)] = ""
    uncovered: Literal["card", "none"] = "card"
    topic: Coding | None = None
    override_reasons: Annotated[tuple[Coding, ...], Field(max_length=20)] = USUAL_REASONS


class Client(_Model):
    """A clinical system whose tokens are taken. `iss`: as they name it; its public keys lie in the file `jwks`, or are
    fetched from `jku`, which its tokens then name."""

    iss: _Text
    jwks: Path | None = None
    jku: Annotated[str, Field(pattern=r"^https?://[^?#@\s]+$")] | None = None

    @model_validator(mode="after")
    def _has_keys(self) -> Client:
        if self.jwks is None and self.jku is None:
            raise ValueError("give jwks, a file with its public keys, or jku, where they are fetched")
        if (
            self.jku is not None
            and self.jku.startswith("http://")
            and not is_loopback(AnyUrl(self.jku).host or "")
        ):
            raise ValueError("jku: http:// is for a server on this machine only; use https://")
        return self


class StudyMapping(_Model):
    """Which mapping reads resources for models of a study."""

    study: Annotated[str, Field(pattern=ID_PATTERN)]
    file: Path


class ServicesFile(_Model):
    """The file."""

    services: tuple[Service, ...] = ()
    mappings: tuple[StudyMapping, ...] = ()
    clients: tuple[Client, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> ServicesFile:
        for what, names in (
            ("services: id", [one.id for one in self.services]),
            ("mappings: study", [one.study for one in self.mappings]),
            ("clients: iss", [one.iss for one in self.clients]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{what} {twice} stands twice")
        return self


@dataclass(frozen=True, slots=True)
class Clinical:
    """The file, read: services by id, mapping readers by study, clients by issuer.

    `signed`: the mapping in a study's document, which is asked for where the file names none of the hospital's own.
    """

    services: Mapping[str, Service]
    readers: Mapping[str, MappingReader] = field(repr=False)
    clients: Mapping[str, Client] = field(repr=False)
    signed: Callable[[str], FhirMapping | None] = field(default=lambda _study: None, repr=False)
    _signed_readers: dict[str, MappingReader] = field(default_factory=dict, repr=False)

    def reader(self, study: str) -> MappingReader:
        """The mapping of a study. Raises: InputError: there is none."""
        found = self.readers.get(study) or self._signed_readers.get(study)
        if found is None:
            found = self._signed(study)
        if found is None:
            raise InputError(
                "no FHIR mapping for it here",
                where=f"study {study}",
                remedy="Name one under [[mappings]] in the file of clinical services; the study's document has none.",
            )
        return found

    def _signed(self, study: str) -> MappingReader | None:
        """A document is never changed, so that its mapping is read once."""
        mapping = self.signed(study)
        if mapping is None:
            return None
        reader = MappingReader.of(mapping, path_compiler(f"study {study}"))
        return self._signed_readers.setdefault(study, reader)


def load_services(path: Path, signed: Callable[[str], FhirMapping | None] = lambda _study: None) -> Clinical:
    """The file and the mappings it names. Args: signed: the mapping in a study's document.

    Raises: InputError: all that is wrong, by place.
    """
    raw = read_file(path, max_bytes=_MAX_FILE_BYTES, remedy="Correct clinical.services in the settings.")
    try:
        document = ServicesFile.model_validate(tomllib.loads(raw.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", where=str(path), remedy="Correct the file.") from None
    except ValidationError as error:
        raise InputError(
            describe(error), where=str(path), remedy="See docs/guides/clinical-systems.md."
        ) from None
    located = partial(_located, path.parent)
    readers = {one.study: read_mapping(path.parent / one.file) for one in document.mappings}
    return Clinical(
        {one.id: one for one in document.services},
        readers,
        {one.iss: located(one) for one in document.clients},
        signed,
    )


def _located(folder: Path, client: Client) -> Client:
    return client if client.jwks is None else client.model_copy(update={"jwks": folder / client.jwks})


def read_mapping(path: Path) -> MappingReader:
    """A mapping's file, ready to read patients. Raises: InputError: no mapping, or a path that is no FHIRPath."""
    mapping = parse_mapping(path)
    return MappingReader.of(mapping, path_compiler(str(path)))


def parse_mapping(path: Path) -> FhirMapping:
    """A mapping's file. Raises: InputError: no mapping."""
    raw = read_file(path, max_bytes=MAX_MAPPING_BYTES, remedy="Name a file with a FHIR mapping.")
    try:
        return FhirMapping.parse(raw, what="mapping", max_bytes=MAX_MAPPING_BYTES)
    except PeerError as error:
        raise InputError(
            str(error), where=str(path), remedy="`privet agent fhir draft` writes one to start from."
        ) from None
