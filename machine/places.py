"""Where a program's files are: a folder that a command names, or the places of a system's service.

| what | where, for the program `cloud` |
|---|---|
| folder | the command's argument, else `PRIVET_CLOUD_FOLDER`, else `/var/lib/privet/cloud` |
| settings | `PRIVET_CLOUD_CONFIG`, else `cloud.toml` in it, else for the default folder `/etc/privet/cloud.toml` |
| key of an encrypted folder | `PRIVET_CLOUD_KEY_FILE`, else the credential `privet-key` that systemd hands over |
| secrets, one a file | `PRIVET_CLOUD_SECRETS`, then what systemd hands over, then `secrets` in the folder |
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

SECRETS_FOLDER: Final = "secrets"
CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Set by systemd for a unit with LoadCredential=."""
CREDENTIAL: Final = "privet-key"
"""The name of the credential that opens an encrypted folder."""
_STATE: Final = Path("/var/lib/privet")
_CONFIGURATION: Final = Path("/etc/privet")


@dataclass(frozen=True, slots=True)
class Places:
    """Of one program. `name`: as in the table; `more_variables`: names behind the prefix that are no settings."""

    name: str
    default_folder: Path
    system_settings: Path
    more_variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, *more_variables: str) -> Self:
        """The places of a program that a system runs."""
        return cls(name, _STATE / name, _CONFIGURATION / f"{name}.toml", more_variables)

    @property
    def prefix(self) -> str:
        """Of its variables in the environment."""
        return f"PRIVET_{self.name.upper()}_"

    @property
    def variables(self) -> tuple[str, ...]:
        """Names behind the prefix that say where something is, and are no settings."""
        return ("FOLDER", "CONFIG", "SECRETS", "KEY_FILE", *self.more_variables)

    @property
    def settings_file(self) -> str:
        """The name of the settings in a folder."""
        return f"{self.name}.toml"

    @property
    def key_file_variable(self) -> str:
        """The variable that names the key of an encrypted folder."""
        return f"{self.prefix}KEY_FILE"

    def settings_path(self, folder: Path) -> Path:
        """The file with the settings of `folder`; it need not be there."""
        named = os.environ.get(f"{self.prefix}CONFIG")
        if named:
            return Path(named)
        own = folder / self.settings_file
        return self.system_settings if folder == self.default_folder and not own.exists() else own

    def secret_folders(self, folder: Path) -> list[Path]:
        """Folders whose files are named after settings, the winning one first."""
        named = (os.environ.get(f"{self.prefix}SECRETS"), os.environ.get(CREDENTIALS))
        return [*(Path(name) for name in named if name), folder / SECRETS_FOLDER]

    def find_key_file(self) -> Path | None:
        """The key file that the surroundings name."""
        named, handed_over = os.environ.get(self.key_file_variable), os.environ.get(CREDENTIALS)
        if named:
            return Path(named)
        if handed_over and (Path(handed_over) / CREDENTIAL).is_file():
            return Path(handed_over) / CREDENTIAL
        return None
