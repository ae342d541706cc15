"""Settings from a TOML file, from files with one secret each, and from the environment, which wins over both.

What settings there are, a program's model says; which errors there are, its numbers.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from machine.places import Places
from shared.configuring import (
    Effective,
    Setting,
    check_variables,
    effective,
    faults_of,
    paths_in,
    put,
    variables_set,
)
from shared.errors import InputError


class FileSettings(BaseSettings):
    """A model of settings that a program has read from its files; it gives the prefix of its variables."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="__", extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment overrules what was read from files; no other source is looked at."""
        return env_settings, init_settings


Model = TypeVar("Model", bound=FileSettings)


@dataclass(frozen=True, slots=True)
class Written:
    """What the files of one folder say. `known`: the settings there are; `main`: of the TOML file at `path`."""

    places: Places
    path: Path
    known: Sequence[Setting]
    main: Mapping[str, Any] = field(repr=False)
    secrets: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(
        cls, places: Places, folder: Path, known: Sequence[Setting], *, absent: InputError, number: str
    ) -> Self:
        """Read them. Raises: `absent`: no TOML file can be read; InputError with `number`: it is no TOML."""
        path = places.settings_path(folder)
        try:
            main = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError:
            raise absent from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"not valid TOML: {error}", where=str(path), remedy="Correct the line named.", number=number
            ) from None
        return cls(places, path, known, main, _secrets(places.secret_folders(folder), known))

    def checked(self, model: type[Model], *, number: str, **more: Any) -> Model:
        """The settings that they make, with the environment's. `more`: what no file may say.

        Raises: InputError: all that are unknown or wrong, never their values.
        """
        values = deepcopy(dict(self.main))
        for name, content in self.secrets.items():
            put(values, name, content)
        check_variables(
            os.environ, self.known, self.places.prefix, others=self.places.variables, number=number
        )
        try:
            return model(**{**values, **more})
        except ValidationError as error:
            raise InputError(
                faults_of(error),
                where=str(self.path),
                remedy=f"Correct it there, or in {self.places.prefix}* of the environment "
                f"(privet {self.places.name} settings --markdown).",
                number=number,
            ) from None
        except SettingsError as error:
            raise InputError(
                f"not JSON: {error}", where="environment", remedy="Correct the variable.", number=number
            ) from None

    def sources(self, settings: FileSettings) -> list[Effective]:
        """Each setting with its value in force, and where that came from."""
        sources = [
            ("environment", variables_set(os.environ, self.known, self.places.prefix)),
            ("secret file", set(self.secrets)),
            (self.path.name, paths_in(self.main, self.known)),
        ]
        return effective(settings, sources)


def _secrets(folders: Sequence[Path], known: Sequence[Setting]) -> dict[str, str]:
    """Settings that lie in files of their own, by path; an empty file sets nothing."""
    found = {}
    for folder in folders:
        for setting in known:
            file = folder / setting.file_name
            content = file.read_text(encoding="utf-8").rstrip("\r\n") if file.is_file() else ""
            if content and setting.path not in found:
                found[setting.path] = content
    return found
