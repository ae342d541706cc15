"""What a hospital's operator decides: `agent.toml`, `PRIVET_AGENT_*` in the surroundings, files in `secrets/`.

The surroundings win over secret files, and these over `agent.toml`. Members of a section are named with two
underscores, such as `PRIVET_AGENT_DATA__URL`. Relative paths are taken from the agent's folder. What the agent may
agree to stands in the policy file, not here. Where the files are is said by `hospital_agent.places`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from hospital_agent.clinical_settings import ClinicalSection
from hospital_agent.places import PLACES
from machine.settings_files import FileSettings, Written
from shared.configuring import Effective, Setting, settings_of
from shared.errors import InputError
from shared.hosts import is_everywhere, is_loopback
from shared.ids import ID_PATTERN, RESERVED_IDS

__all__ = [
    "DEFAULT_PORT",
    "SETTINGS_FILE",
    "AgentSettings",
    "ComputeSection",
    "DataSection",
    "LocalSection",
    "effective_settings",
    "load_settings",
]

SETTINGS_FILE: Final = PLACES.settings_file
DEFAULT_PORT: Final = 8711
_GREATEST_PORT: Final = 65535

Way = Literal["auto", "websocket", "long-poll"]
Column = Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=1)]


class DataSection(BaseModel):
    """`[data]`: where the records are. A file by `path`, or a database by `url` with one of `table` and `query`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    path: Path | None = None
    """A file with the records: delimited text such as CSV (also gzipped), ARFF, Excel (.xlsx) or Parquet."""
    url: SecretStr | None = None
    """A database with the records, counted where it is. May hold a password, so better in the environment or a secret
    file."""
    table: str | None = None
    """The table of that database."""
    query: str | None = Field(default=None, repr=False)
    """A query that selects the records, in place of a table."""
    class_column: Column | None = Field(default=None, alias="class")
    """The class column, by name or by position from 1; without it, the study's name for it."""
    header: bool | None = None
    """Whether the file begins with the names of its columns; without it, found out."""
    drop: tuple[Column, ...] = ()
    """Columns that must not be used. Those that a study does not name are ignored anyway."""
    delimiter: str | None = None
    """One character between fields, or a blank for any run of blanks; `tab` for a tab. Without it, found out."""
    quote: Annotated[str, Field(max_length=1)] | None = None
    """The character around fields that hold delimiters or line ends, empty for none; without it, found out."""
    comment: str | None = None
    """Lines that begin so are left out, empty for none; without it, found out."""
    sheet: Column | None = None
    """Sheet of an Excel workbook, by name or by position from 1; without it, the first one that is not empty."""
    encoding: str | None = None
    """Of the file; without it, found out."""
    rename: dict[str, str] = Field(default_factory=dict)
    """Column of the data = name in the study."""
    missing: tuple[str, ...] = ()
    """Texts that stand for an empty field, such as `?` or `NA`."""
    decimal_comma: bool | None = None
    """Whether numbers are written 37,5; without it, found out for each column."""
    units: dict[str, str] = Field(default_factory=dict)
    """Attribute of the study = unit of its numbers here, where the study's data contract has another and converts."""
    synthetic: bool = False
    """Test data of no patient, the only kind with which profile paper may be tried."""
    patient: Column | None = None
    """Column that tells patients apart, by name or by position from 1: where a job holds records out, all of a patient
    stay together. It is not used otherwise."""
    ask: Path | None = None
    """A file of records, without classes, that trees kept shared are asked about in place of the records above."""


class LocalSection(BaseModel):
    """`[local]`: the prediction server. A bind beyond this machine needs a token of at least 32 characters."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    serve: bool = True
    """Whether predictions are answered over HTTP."""
    host: str = "127.0.0.1"
    """Address to listen on; beyond this machine only with a token."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """Port to listen on; 0 takes a free one."""
    token: Annotated[SecretStr, Field(min_length=32)] | None = None
    """What callers send as a bearer token, and what people type once to sign in to the pages."""
    pages: bool = True
    """Whether the pages for this hospital's people are served too: what leaves, studies, models, try a patient."""
    approve_on_page: bool = True
    """Whether a steward may answer studies and jobs on the pages. Nobody can before `privet agent stewards add`."""
    requests_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """Most requests for predictions a second of one caller; 0 sets no limit."""
    predictions_log: bool = True
    """Whether `serving/predictions.jsonl` notes who asked which model when, and about how many records; never what."""

    @model_validator(mode="after")
    def _guarded(self) -> LocalSection:
        if not is_loopback(self.host) and self.token is None:
            raise ValueError("host: a bind beyond this machine needs a token of at least 32 characters")
        return self


class ComputeSection(BaseModel):
    """`[compute]`: how frames of secret jobs go."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    channel: Way = "auto"
    """Through the cloud: `auto` tries a WebSocket and falls back to long polls where a proxy lets none through; the
    other two fix one of them."""
    listen: Annotated[str, Field(pattern=r"^[0-9A-Za-z.:\[\]-]{1,253}:[0-9]{1,5}(-[0-9]{1,5})?$")] | None = (
        None
    )
    """As a compute party, take direct connections of the two others at `HOST:PORT`, or `HOST:FIRST-LAST` with one port
    for each job at a time."""
    advertise: Annotated[str, Field(pattern=r"^[0-9A-Za-z.:-]{1,253}$")] | None = None
    """The host under which the two others find this agent, if it is not that of `listen`."""

    @property
    def address(self) -> tuple[str, range] | None:
        """Host and ports of `listen`."""
        if self.listen is None:
            return None
        host, _, ports = self.listen.rpartition(":")
        first, _, last = ports.partition("-")
        return host.strip("[]"), range(int(first), int(last or first) + 1)

    @model_validator(mode="after")
    def _reachable(self) -> ComputeSection:
        if self.address is None:
            return self
        host, ports = self.address
        if not ports or ports[-1] > _GREATEST_PORT:
            raise ValueError("listen: expected ports up to 65535, the first one first")
        if is_everywhere(host) and self.advertise is None:
            raise ValueError(
                "advertise: listening everywhere, say under which host the others find this agent"
            )
        return self


class TelemetrySection(BaseModel):
    """`[telemetry]`: where traces go."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    endpoint: Annotated[str, Field(pattern=r"^(https?://[^?#@\s]+)?$")] = ""
    """Base URL of a collector of this hospital that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; needs the
    extra `otel`. Spans name kinds of work and messages only."""


class AgentSettings(FileSettings):
    """All settings of one agent."""

    model_config = SettingsConfigDict(env_prefix=PLACES.prefix)

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    """This hospital's name in the federation: 1 to 64 of a-z, 0-9 and -."""
    cloud: AnyUrl | None = None
    """Base URL of the cloud: https, or http on this machine."""
    ca_bundle: Path | None = None
    """PEM file of the certificate authority of the way to the cloud, if the system does not know it."""
    client_certificate: Path | None = None
    """PEM file with a certificate to show to a cloud that asks for one (mutual TLS). Goes with `client_key`."""
    client_key: Path | None = None
    """PEM file with the private key of `client_certificate`, without a passphrase."""
    policy: Path = Path("policy.toml")
    """The file with what this hospital agrees to."""
    answer_seconds: Annotated[float, Field(ge=1, le=600)] = 30
    """How long the cloud may take to answer; a third of it for a connection, half of it on top of a long poll."""
    retention_days: Annotated[int, Field(ge=0, le=36_500)] = 0
    """Days after the end of a job after which the journal forgets it, as `privet agent forget` does; 0 keeps it."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """How the running agent tells what happens: `text` for people, `json` for log collectors, or `auto`: text at a
    terminal and JSON elsewhere."""
    data: DataSection = DataSection()
    telemetry: TelemetrySection = TelemetrySection()
    local: LocalSection = LocalSection()
    compute: ComputeSection = ComputeSection()
    clinical: ClinicalSection = ClinicalSection()

    @model_validator(mode="after")
    def _safe(self) -> AgentSettings:
        if self.id in RESERVED_IDS:
            raise ValueError(f"id: {self.id} names no hospital")
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError("client_certificate: goes with client_key; give both or neither")
        if self.cloud is None:
            return self
        if self.cloud.scheme not in ("http", "https"):
            raise ValueError("cloud: expected an https:// URL")
        if self.cloud.scheme == "http" and not is_loopback(self.cloud.host or ""):
            raise ValueError("cloud: http:// is for a cloud on this machine only; use https://")
        return self

    @property
    def client_files(self) -> tuple[Path, Path] | None:
        """Certificate and key for mutual TLS."""
        if self.client_certificate is None or self.client_key is None:
            return None
        return self.client_certificate, self.client_key


def all_settings() -> list[Setting]:
    """Every setting of an agent, for people."""
    return settings_of(AgentSettings)


def load_settings(folder: Path) -> AgentSettings:
    """The settings of the agent in `folder`, its paths made absolute.

    Raises: InputError: no such file, not TOML, or all settings that are wrong; names them, never their values.
    """
    return _absolute(_written(folder).checked(AgentSettings, number="A003"), folder)


def effective_settings(folder: Path) -> list[Effective]:
    """What is in force in a folder, and where each value comes from. Raises: InputError: as `load_settings`."""
    return _written(folder).sources(load_settings(folder))


def _written(folder: Path) -> Written:
    absent = InputError(
        "there is no agent here, or its settings cannot be read",
        where=str(PLACES.settings_path(folder)),
        remedy="Make one with `privet agent init DIR --id ID`, or name its folder.",
        number="A001",
    )
    return Written.read(PLACES, folder, all_settings(), absent=absent, number="A002")


def _absolute(settings: AgentSettings, folder: Path) -> AgentSettings:
    """Relative paths of the file mean the agent's folder, wherever the command was started."""
    data = settings.data
    located: dict[str, Any] = {
        "policy": folder / settings.policy,
        **{
            name: folder / path
            for name in ("ca_bundle", "client_certificate", "client_key")
            if (path := getattr(settings, name)) is not None
        },
        "data": data.model_copy(
            update={
                name: folder / path
                for name, path in (("path", data.path), ("ask", data.ask))
                if path is not None
            }
        ),
        "clinical": settings.clinical.located(folder),
    }
    return settings.model_copy(update=located)
