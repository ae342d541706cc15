"""Settings of the cloud: `cloud.toml` in its folder, overruled by `PRIVET_CLOUD_*` in the environment."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from shared.errors import InputError
from shared.hosts import is_loopback

SETTINGS_FILE: Final = "cloud.toml"
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

# SQLite in this folder unless another database is named (PostgreSQL needs the extra `postgres`):
# database_url = "postgresql+psycopg://privet@localhost/privet"

# max_body_bytes = {32 * 2**20}
# max_paper_body_bytes = {64 * 2**20}
# allow_paper_profile = false
# max_wait_seconds = 25
# requests_per_second = 200
"""


class Settings(BaseSettings):
    """How this cloud runs. `folder` holds its keys and, by default, its database.

    Sizes in bytes, times in seconds. `requests_per_second`: for each agent and each token; ten times as many may
    come at once.
    """

    model_config = SettingsConfigDict(env_prefix="PRIVET_CLOUD_", extra="forbid", frozen=True)

    folder: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    database_url: Annotated[str, Field(repr=False)] = ""
    max_body_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 32 * 2**20
    max_paper_body_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 64 * 2**20
    allow_paper_profile: bool = False
    max_wait_seconds: Annotated[float, Field(gt=0, le=60)] = 25
    requests_per_second: Annotated[float, Field(gt=0)] = 200

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment overrules what `load_settings` read from the file; no other source is looked at."""
        return env_settings, init_settings

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
    def tls_files(self) -> tuple[Path, Path] | None:
        """Certificate chain and key, as paths that do not depend on the working directory."""
        if self.tls_certificate is None or self.tls_key is None:
            return None
        return self.folder / self.tls_certificate, self.folder / self.tls_key


def load_settings(folder: Path, **overrides: Any) -> Settings:
    """The settings of a cloud's folder; `overrides` come from the command line and win over all.

    Raises: InputError: no such folder, not TOML, an unknown setting or a wrong value.
    """
    path = folder / SETTINGS_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(
            "no settings here", where=str(path), remedy=f"Make the folder first: privet cloud init {folder}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"not valid TOML: {error}", where=str(path), remedy="Correct the line named."
        ) from None
    try:
        settings = Settings(**{**values, "folder": folder})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"setting {name}: {first['msg']}",
            where=str(path),
            remedy=f"Correct it there, or PRIVET_CLOUD_{name.upper()} in the environment.",
        ) from None
    given = {name: value for name, value in overrides.items() if value is not None}
    return settings.model_copy(update=given)


def check_listening(settings: Settings) -> None:
    """Refuse to speak plain HTTP to other machines.

    Raises: InputError: a non-loopback address without TLS and without a proxy that ends it.
    """
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise InputError(
            "tls_certificate and tls_key belong together",
            where=str(settings.folder / SETTINGS_FILE),
            remedy="Give both files, or neither.",
        )
    for path in settings.tls_files or ():
        if not path.is_file():
            raise InputError("no such file", where=str(path), remedy="Correct tls_certificate and tls_key.")
    if settings.tls_files is None and not settings.behind_proxy and not is_loopback(settings.host):
        raise InputError(
            f"will not listen on {settings.host} without TLS",
            where=str(settings.folder / SETTINGS_FILE),
            remedy="Set tls_certificate and tls_key, or behind_proxy = true when a reverse proxy ends TLS, "
            'or host = "127.0.0.1".',
        )
