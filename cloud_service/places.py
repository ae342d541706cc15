"""Where the cloud's files are: a folder that a command names, or the places of a system's service.

| what | where |
|---|---|
| folder | the argument FOLDER, else `PRIVET_CLOUD_FOLDER`, else `/var/lib/privet/cloud` |
| settings | `PRIVET_CLOUD_CONFIG`, else `cloud.toml` in it, else for the default folder `/etc/privet/cloud.toml` |
| key of an encrypted folder | `PRIVET_CLOUD_KEY_FILE`, else the credential `privet-key` that systemd hands over |
| secrets, one a file | `PRIVET_CLOUD_SECRETS`, then what systemd hands over, then `secrets` in the folder |
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

PREFIX: Final = "PRIVET_CLOUD_"
OTHER_VARIABLES: Final = ("FOLDER", "CONFIG", "SECRETS", "KEY_FILE", "URL")
"""Names behind the prefix that say where something is; the URL is for `privet.client`."""
SETTINGS_FILE: Final = "cloud.toml"
SECRETS_FOLDER: Final = "secrets"
DEFAULT_FOLDER: Final = Path("/var/lib/privet/cloud")
SYSTEM_SETTINGS: Final = Path("/etc/privet") / SETTINGS_FILE
CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Set by systemd for a unit with LoadCredential=."""


def settings_path(folder: Path) -> Path:
    """The file with the settings of the cloud in `folder`; it need not be there."""
    named = os.environ.get(f"{PREFIX}CONFIG")
    if named:
        return Path(named)
    own = folder / SETTINGS_FILE
    return SYSTEM_SETTINGS if folder == DEFAULT_FOLDER and not own.exists() else own


def secret_folders(folder: Path) -> list[Path]:
    """Folders whose files are named after settings, the winning one first."""
    named = (os.environ.get(f"{PREFIX}SECRETS"), os.environ.get(CREDENTIALS))
    return [*(Path(name) for name in named if name), folder / SECRETS_FOLDER]


def default_folder() -> Path:
    """The folder of the system's service."""
    return DEFAULT_FOLDER


Folder = Annotated[
    Path,
    typer.Argument(
        metavar="[FOLDER]",
        help=f"The cloud's folder; {DEFAULT_FOLDER} if it is left out.",
        envvar=f"{PREFIX}FOLDER",
        default_factory=default_folder,
        show_default=False,
    ),
]
"""The argument of the cloud's commands."""
