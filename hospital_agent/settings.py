"""What a hospital's operator decides: `agent.toml`, `PRIVET_AGENT_*` in the surroundings, files in `secrets/`.

The surroundings win over secret files, and these over `agent.toml`. Members of a section are named with two
underscores, such as `PRIVET_AGENT_DATA__URL`. Relative paths are taken from the agent's folder. What the agent may
agree to stands in the policy file, not here.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from shared.errors import InputError
from shared.hosts import is_everywhere, is_loopback
from shared.ids import ID_PATTERN, RESERVED_IDS

SETTINGS_FILE: Final = "agent.toml"
SECRETS_FOLDER: Final = "secrets"
DEFAULT_PORT: Final = 8711
_GREATEST_PORT: Final = 65535

Way = Literal["auto", "websocket", "long-poll"]
Column = Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=1)]


class DataSection(BaseModel):
    """`[data]`: where the records are; the members are explained at `records.source.DataSettings`.

    `synthetic`: these are test data of no patient, the only kind with which profile paper may be tried. `ask`: a file
    of records, without classes, that trees kept shared are asked about in place of the records of the studies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = None
    url: SecretStr | None = None
    table: str | None = None
    query: str | None = Field(default=None, repr=False)
    class_column: Column | None = Field(default=None, alias="class")
    header: bool | None = None
    drop: tuple[Column, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    rename: dict[str, str] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    decimal_comma: bool = False
    synthetic: bool = False
    ask: Path | None = None


class LocalSection(BaseModel):
    """`[local]`: the prediction server. A bind beyond this machine needs a token of at least 32 characters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    serve: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    token: Annotated[SecretStr, Field(min_length=32)] | None = None

    @model_validator(mode="after")
    def _guarded(self) -> LocalSection:
        if not is_loopback(self.host) and self.token is None:
            raise ValueError("host: a bind beyond this machine needs a token of at least 32 characters")
        return self


class ComputeSection(BaseModel):
    """`[compute]`: how frames of secret jobs go.

    `channel`: through the cloud; `auto` tries a WebSocket and falls back to long polls where a proxy lets none through,
    the other two fix one of them. `listen`: as a compute party, take direct connections of the two others at
    `HOST:PORT` or `HOST:FIRST-LAST`, one port for each job at a time. `advertise`: the host under which they find it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    channel: Way = "auto"
    listen: Annotated[str, Field(pattern=r"^[0-9A-Za-z.:\[\]-]{1,253}:[0-9]{1,5}(-[0-9]{1,5})?$")] | None = (
        None
    )
    advertise: Annotated[str, Field(pattern=r"^[0-9A-Za-z.:-]{1,253}$")] | None = None

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


class AgentSettings(BaseSettings):
    """All settings of one agent. `cloud`: base URL; https, or http on this machine."""

    model_config = SettingsConfigDict(
        env_prefix="PRIVET_AGENT_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    cloud: AnyUrl | None = None
    ca_bundle: Path | None = None
    policy: Path = Path("policy.toml")
    data: DataSection = DataSection()
    local: LocalSection = LocalSection()
    compute: ComputeSection = ComputeSection()

    @model_validator(mode="after")
    def _safe(self) -> AgentSettings:
        if self.id in RESERVED_IDS:
            raise ValueError(f"id: {self.id} names no hospital")
        if self.cloud is None:
            return self
        if self.cloud.scheme not in ("http", "https"):
            raise ValueError("cloud: expected an https:// URL")
        if self.cloud.scheme == "http" and not is_loopback(self.cloud.host or ""):
            raise ValueError("cloud: http:// is for a cloud on this machine only; use https://")
        return self


def load_settings(folder: Path) -> AgentSettings:
    """The settings of the agent in `folder`, its paths made absolute.

    Raises: InputError: no such file, not TOML, or a setting that is wrong; names it, never its value.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise InputError(
            "there is no agent here",
            where=str(path),
            remedy="Make one with `privet agent init DIR --id ID`, or name its folder.",
        )
    try:
        settings = _located(folder)()
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=str(path), remedy="Correct the file.") from None
    except ValidationError as error:
        raise _fault(error, path) from None
    return _absolute(settings, folder)


def _located(folder: Path) -> type[AgentSettings]:
    """The settings class that reads the files of one folder."""
    secrets = folder / SECRETS_FOLDER

    class Located(AgentSettings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            toml = TomlConfigSettingsSource(settings_cls, toml_file=folder / SETTINGS_FILE)
            if not secrets.is_dir():
                return env_settings, toml
            nested = NestedSecretsSettingsSource(
                file_secret_settings, secrets_dir=secrets, secrets_prefix="", secrets_nested_delimiter="__"
            )
            return env_settings, nested, toml

    return Located


def _fault(error: ValidationError, path: Path) -> InputError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    setting = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return InputError(
        message,
        where=f"{path}, setting {setting}" if setting else str(path),
        remedy="Correct the setting in the file or in the PRIVET_AGENT_* variables.",
    )


def _absolute(settings: AgentSettings, folder: Path) -> AgentSettings:
    """Relative paths of the file mean the agent's folder, wherever the command was started."""
    data = settings.data
    located: dict[str, Any] = {
        "policy": folder / settings.policy,
        "ca_bundle": None if settings.ca_bundle is None else folder / settings.ca_bundle,
        "data": data.model_copy(
            update={
                name: folder / path
                for name, path in (("path", data.path), ("ask", data.ask))
                if path is not None
            }
        ),
    }
    return settings.model_copy(update=located)
