"""A disk that takes nothing now: told apart from other errors, because making room on it mends everything."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from hospital_agent.daemon.casework import Casework
from shared.errors import TemporaryError

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FAILING: Final = frozenset({errno.EIO, errno.EROFS})
_OF_SQLITE: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_BUSY,
    }
)
_NUMBER: Final = "A019"


def disk_trouble(error: OSError | sqlite3.Error, folder: Path) -> TemporaryError | None:
    """What to tell a person, who is to make room or to mend the disk; None for an error that no waiting mends.

    Args: folder: the agent's.
    """
    if isinstance(error, OSError):
        code, reason = error.errno, error.strerror
        known, is_full = code in _FULL | _FAILING, code in _FULL
    else:
        code, reason = error.sqlite_errorcode & 0xFF, error.sqlite_errorname
        known, is_full = code in _OF_SQLITE, code == sqlite3.SQLITE_FULL
    if not known:
        return None
    step = f"make room on its disk (`privet explain {_NUMBER}`)" if is_full else "look after its disk"
    return TemporaryError(f"nothing can be written to {folder} ({reason}); nothing is lost: {step}")


def start_over(casework: Casework) -> None:
    """Forget what is in memory and go on from the journal, as after a kill."""
    casework.room.close()
    casework.cases.clear()
    casework.due.clear()
    casework.resume()
