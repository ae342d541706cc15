"""Starts one program of the demo so that it ends when the demo does, even if the demo is killed with SIGKILL.

Run as a script, without Privet and without site-packages, so that it costs a few milliseconds:
`python -I -S leash.py PARENT COMMAND ARGUMENT...` asks the kernel for a SIGTERM at the parent's death and then
becomes the command. Where the kernel cannot do that (anything but Linux), the command runs without a leash.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> None:
    """Tie this process to its parent, then become the command."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # it died before the kernel was asked
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - the demo's own command line, no shell


if __name__ == "__main__":
    main(sys.argv[1:])
