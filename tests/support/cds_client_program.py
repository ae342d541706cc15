"""Where the outside client of CDS Hooks lies, if `make judges` has brought it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
INTERPRETER: Final = _ROOT / ".venv" / "healthchain" / "bin" / "python"
PROGRAM: Final = Path(__file__).with_name("cds_client.py")
