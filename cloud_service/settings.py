"""Settings of the cloud: `cloud.toml`, files with one secret each, and `PRIVET_CLOUD_*` in the environment.

The environment wins over secret files, and these over `cloud.toml`. Members of a section are named with two
underscores, such as `PRIVET_CLOUD_REPLICA__ADDRESS`. Where the files are is said by `cloud_service.places`.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import SettingsConfigDict

from cloud_service.limit_settings import LimitSettings
from cloud_service.oidc_settings import OidcSettings
from cloud_service.places import PLACES
from cloud_service.telemetry_settings import TelemetrySettings
from machine.settings_files import FileSettings, Written
from shared.configuring import Effective, Setting, settings_of
from shared.errors import InputError
from shared.hosts import is_loopback

__all__ = ["SETTINGS_FILE", "Settings", "check_listening", "effective_settings", "load_settings"]

SETTINGS_FILE: Final = PLACES.settings_file
DATABASE_FILE: Final = "cloud.db"
DEFAULT_PORT: Final = 8443

TEMPLATE: Final = f"""\
# Settings of this cloud. Each can be overruled by PRIVET_CLOUD_<NAME> in the environment.
# Paths are relative to this folder.

# host = "127.0.0.1"
# port = {DEFAULT_PORT}

# TLS: give both files, or say that a reverse proxy in front ends TLS.
# tls_certificate = "tls.crt"
# tls_key = "tls.key"
# behind_proxy = false
# Mutual TLS: the authority of the agents' client certificates, and whether everybody must show one (people as well).
# tls_client_ca = "clients.crt"
# tls_client_required = false

# Operators, coordinators and stewards with a local account need codes from an authenticator app.
# require_second_factor = true

# SQLite in this folder unless another database is named (PostgreSQL needs the extra `postgres`):
# database_url = "postgresql+psycopg://privet@localhost/privet"

# max_body_bytes = {32 * 2**20}
# max_paper_body_bytes = {64 * 2**20}
# allow_paper_profile = false
# max_wait_seconds = 25
# requests_per_second = 200

# Days until the messages and events of a finished job are deleted; its log and results stay. 0 keeps them.
# retention_days = 90

# Connections to the database that this process opens at most; all replicas together must fit the server's limit.
# database_connections = 30
# drain_seconds = 1.0

# Figures for Prometheus without a token, at an inner port (privet cloud settings --markdown explains).
# metrics_port = 9443
# metrics_host = "127.0.0.1"

# Limits; `privet cloud limits FOLDER` shows all that are in force.
# [limits]
# anonymous_per_second = 20
# connections_per_address = 200
# slowest_bytes_per_second = 1024
# running_jobs = 100
# messages_per_hour = 50000
# stored_bytes = 2147483648

# Several replicas on one PostgreSQL: how the others reach this one (https, or http on this machine only), and the
# certificate authority of their addresses where it is a private one.
# [replica]
# address = "https://10.0.0.5:8443"
# ca_bundle = "replicas.crt"

# Traces by OTLP over HTTP, with the extra `otel`.
# [telemetry]
# endpoint = "http://127.0.0.1:4318"

# Sign-in by an identity provider (OpenID Connect); roles follow from a claim of its tokens.
# [oidc]
# issuer = "https://login.example.org"
# client_id = "privet"
# client_secret = ""   # better in the file secrets/oidc__client_secret
# public_url = "https://privet.example.org"
# roles_claim = "groups"
# hospital_claim = "hospital"
# [oidc.roles]
# "privet-analysts" = ["analyst"]
"""


class ReplicaSettings(BaseModel):
    """Where the other replicas find this one."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    address: Annotated[str, Field(pattern=r"^(https?://[^/?#@\s]+)?$")] = ""
    """Base URL under which the other replicas reach this one: https, or http on this machine only."""
    ca_bundle: Path | None = None
    """PEM file of a private certificate authority of the replicas' addresses, beside those of the system."""

    @model_validator(mode="after")
    def _safe(self) -> ReplicaSettings:
        if self.address.startswith("http:") and not is_loopback(urlsplit(self.address).hostname or ""):
            raise ValueError("address: http:// is for replicas on this machine only; use https://")
        return self


class Settings(FileSettings):
    """How this cloud runs. Sizes in bytes, times in seconds."""

    model_config = SettingsConfigDict(env_prefix=PLACES.prefix)

    folder: Path
    """Of its keys and, by default, its database; an argument of every command."""
    host: str = "127.0.0.1"
    """Address to listen on. Beyond this machine only with TLS, or behind a proxy that ends it."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """Port to listen on; 0 takes a free one."""
    tls_certificate: Path | None = None
    """PEM file with the certificate chain; relative to the folder. Goes with `tls_key`."""
    tls_key: Path | None = None
    """PEM file with the private key of `tls_certificate`."""
    tls_client_ca: Path | None = None
    """PEM file with the authorities of client certificates: who shows one must be certified by them (mutual TLS)."""
    tls_client_required: bool = False
    """Whether nobody gets through TLS without a client certificate of `tls_client_ca`; people need one then too."""
    behind_proxy: bool = False
    """A reverse proxy in front ends TLS, and nobody else can reach this address."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """With `behind_proxy`: addresses or networks whose word on where a request came from is believed."""
    database_url: Annotated[str, Field(repr=False)] = ""
    """SQLite in the folder unless another is named: `postgresql+psycopg://USER@HOST/NAME`. May hold a password, so
    better in the environment or a secret file."""
    max_body_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 32 * 2**20
    """Largest body of a request."""
    max_paper_body_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 64 * 2**20
    """Largest body of a contribution in profile paper, which sends about 200 times more."""
    allow_paper_profile: bool = False
    """Test data only: profile paper lets parties learn counts of single hospitals."""
    agents_may_ask: bool = False
    """Whether a hospital's own agent may start the jobs by which it asks a tree that stays shared. Who may ask without
    end can rebuild the tree from the answers; every question is a job that its hospitals see."""
    max_wait_seconds: Annotated[float, Field(gt=0, le=60)] = 25
    """The longest that a poll of an agent is held open."""
    limits: LimitSettings = LimitSettings()
    """Limits of strangers and hospitals."""
    retention_days: Annotated[int, Field(ge=0, le=36_500)] = 90
    """Days after the end of a job after which its messages and events are deleted; its log, ledger and results stay.
    0 keeps them for ever."""
    requests_per_second: Annotated[float, Field(gt=0)] = 200
    """For each agent and each token; ten times as many may come at once."""
    database_connections: Annotated[int, Field(ge=5, le=1000)] = 30
    """Connections to PostgreSQL that this process opens at most; all replicas together must fit the server's limit."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """A port for `/metrics` alone, without a token, at `metrics_host`; for Prometheus inside your network. Without one,
    `/metrics` is at `port`, for tokens of operators only."""
    metrics_host: str = "127.0.0.1"
    """Address of `metrics_port`. Plain HTTP, so beyond this machine only in a network that outsiders cannot reach."""
    drain_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """How long a stopping cloud goes on serving after `/readyz` has said that it stops."""
    require_second_factor: bool = True
    """Whether operators, coordinators and stewards with a local account need codes from an authenticator app."""
    replica: ReplicaSettings = ReplicaSettings()
    oidc: OidcSettings | None = None
    telemetry: TelemetrySettings = TelemetrySettings()

    @property
    def database(self) -> str:
        """The database's URL; SQLite in the folder unless one is set."""
        return self.database_url or f"sqlite:///{(self.folder / DATABASE_FILE).absolute()}"

    @property
    def largest_body_bytes(self) -> int:
        """What the body reader lets through at all."""
        return (
            max(self.max_body_bytes, self.max_paper_body_bytes)
            if self.allow_paper_profile
            else self.max_body_bytes
        )

    @property
    def replica_address(self) -> str:
        """Where other replicas reach this one; on one machine it need not be told."""
        if self.replica.address or self.tls_files or not self.port or not is_loopback(self.host):
            return self.replica.address.rstrip("/")
        return f"http://{self.host}:{self.port}"

    @property
    def tls_files(self) -> tuple[Path, Path] | None:
        """Certificate chain and key, as paths that do not depend on the working directory."""
        if self.tls_certificate is None or self.tls_key is None:
            return None
        return self.folder / self.tls_certificate, self.folder / self.tls_key

    @property
    def tls_client_file(self) -> Path | None:
        """Authorities of client certificates, as a path that does not depend on the working directory."""
        return None if self.tls_client_ca is None else self.folder / self.tls_client_ca


def all_settings() -> list[Setting]:
    """Every setting of the cloud, for people."""
    return settings_of(Settings, without=("folder",))


def load_settings(folder: Path, **overrides: Any) -> Settings:
    """The settings of a cloud's folder; `overrides` come from the command line and win over all.

    Raises: InputError: no such folder, not TOML, or all settings that are unknown or wrong.
    """
    settings = _written(folder).checked(Settings, number="C003", folder=folder)
    given = {name: value for name, value in overrides.items() if value is not None}
    return settings.model_copy(update={**given, "folder": folder})


def effective_settings(folder: Path) -> list[Effective]:
    """What is in force in a folder, and where each value comes from. Raises: InputError: as `load_settings`."""
    return [one for one in _written(folder).sources(load_settings(folder)) if one.path != "folder"]


def _written(folder: Path) -> Written:
    again = "" if folder == PLACES.default_folder else f" {folder}"
    absent = InputError(
        "no settings that can be read here",
        where=str(PLACES.settings_path(folder)),
        remedy=f"Make the folder first: privet cloud init{again}",
        number="C001",
    )
    return Written.read(PLACES, folder, all_settings(), absent=absent, number="C002")


def check_listening(settings: Settings) -> None:
    """Refuse to speak plain HTTP to other machines.

    Raises: InputError: a non-loopback address without TLS and without a proxy that ends it.
    """
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise InputError(
            "tls_certificate and tls_key belong together",
            where=str(PLACES.settings_path(settings.folder)),
            remedy="Give both files, or neither.",
            number="C004",
        )
    for path in settings.tls_files or ():
        if not path.is_file():
            raise InputError(
                "no such file",
                where=str(path),
                remedy="Correct tls_certificate and tls_key.",
                number="C004",
            )
    if settings.tls_files is not None:
        _check_pair(*settings.tls_files)
    _check_client_authorities(settings)
    if settings.tls_files is None and not settings.behind_proxy and not is_loopback(settings.host):
        raise InputError(
            f"will not listen on {settings.host} without TLS",
            where=str(PLACES.settings_path(settings.folder)),
            remedy="Set tls_certificate and tls_key, or behind_proxy = true when a reverse proxy ends TLS, "
            'or host = "127.0.0.1".',
            number="C005",
        )


def _check_pair(certificate: Path, key: Path) -> None:
    """Raises: InputError: they cannot be read, or are no certificate and its key without a passphrase."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        raise InputError(
            f"not a TLS certificate with its private key ({error.reason or 'unreadable'})",
            where=f"{certificate}, {key}",
            remedy="Give PEM files that belong together; the key must not be under a passphrase.",
            number="C006",
        ) from None


def _check_client_authorities(settings: Settings) -> None:
    """Raises: InputError: mutual TLS without TLS of our own, without authorities, or with a file that has none."""
    authorities, where = settings.tls_client_file, str(PLACES.settings_path(settings.folder))
    if authorities is None:
        if settings.tls_client_required:
            raise InputError(
                "tls_client_required is set, and nobody says whose certificates count",
                where=where,
                remedy="Set tls_client_ca, or leave tls_client_required out.",
                number="C004",
            )
        return
    if settings.tls_files is None:
        raise InputError(
            "tls_client_ca is for a cloud that ends TLS itself",
            where=where,
            remedy="Set tls_certificate and tls_key, or let the reverse proxy ask for client certificates.",
            number="C004",
        )
    if settings.tls_client_required and settings.replica.address.startswith("https:"):
        raise InputError(
            "replicas show no client certificate to one another, so none of them could reach another",
            where=where,
            remedy="Leave tls_client_required out, or let the reverse proxy in front ask for client certificates.",
            number="C004",
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(authorities)
    except OSError:
        raise InputError(
            "no PEM file with certificates of authorities",
            where=str(authorities),
            remedy="Correct tls_client_ca.",
            number="C004",
        ) from None
