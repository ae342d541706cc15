"""Where an agent's files are: a folder that a command names, or the places of a system's service.

| what | where |
|---|---|
| folder | the argument DIR, else `PRIVET_AGENT_FOLDER`, else `/var/lib/privet/agent` |
| settings | `PRIVET_AGENT_CONFIG`, else `agent.toml` in it, else for the default folder `/etc/privet/agent.toml` |
| key of an encrypted folder | `PRIVET_AGENT_KEY_FILE`, else the credential `privet-key` that systemd hands over |
| secrets, one a file | `PRIVET_AGENT_SECRETS`, then what systemd hands over, then `secrets` in the folder |
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PREFIX: Final = "PRIVET_AGENT_"
OTHER_VARIABLES: Final = ("FOLDER", "CONFIG", "SECRETS", "KEY_FILE")
"""Names behind the prefix that say where something is."""
SETTINGS_FILE: Final = "agent.toml"
SECRETS_FOLDER: Final = "secrets"
DEFAULT_FOLDER: Final = Path("/var/lib/privet/agent")
SYSTEM_SETTINGS: Final = Path("/etc/privet") / SETTINGS_FILE
CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Set by systemd for a unit with LoadCredential=."""


def settings_path(folder: Path) -> Path:
    """The file with the settings of the agent in `folder`; it need not be there."""
    named = os.environ.get(f"{PREFIX}CONFIG")
    if named:
        return Path(named)
    own = folder / SETTINGS_FILE
    return SYSTEM_SETTINGS if folder == DEFAULT_FOLDER and not own.exists() else own


def secret_folders(folder: Path) -> list[Path]:
    """Folders whose files are named after settings, the winning one first."""
    named = (os.environ.get(f"{PREFIX}SECRETS"), os.environ.get(CREDENTIALS))
    return [*(Path(name) for name in named if name), folder / SECRETS_FOLDER]
