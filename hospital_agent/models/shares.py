"""Shares of trees that nobody has opened: what a compute party keeps of a job whose result stays shared.

One file a job beside the models, private to the agent, and encrypted where its folder is. One party's shares tell
nothing; they go with the model.
"""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from hospital_agent.protection import Protection
from machine.files import make_private_folder
from shared.errors import InputError
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare


def put_shares(folder: Path, job: str, shares: tuple[BinaryShare, ...]) -> None:
    """Keep this party's shares of a result; the file is there whole or not at all. Args: folder: of the models."""
    make_private_folder(folder)
    arrays: dict[str, Words] = {}
    for number, share in enumerate(shares):
        arrays |= {f"own{number}": share.own, f"next{number}": share.next}
    raw = io.BytesIO()
    np.savez(raw, **arrays)  # type: ignore[arg-type]  # its own keywords are none of these names
    Protection.of(folder.parent).write(shares_path(folder, job), raw.getvalue())


def get_shares(folder: Path, job: str) -> tuple[BinaryShare, ...]:
    """The shares of a job's result. Raises: InputError: there are none here, or the file is damaged."""
    path, protection = shares_path(folder, job), Protection.of(folder.parent)
    try:
        raw = protection.open(path.read_bytes(), path.relative_to(protection.folder).as_posix())
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            count = len(arrays.files) // 2
            return tuple(BinaryShare(arrays[f"own{n}"], arrays[f"next{n}"]) for n in range(count))
    except FileNotFoundError:
        raise InputError(
            "this agent holds no share of that model",
            where=f"job {job}",
            remedy="Name a job whose tree stayed shared, and the compute parties that it had.",
        ) from None
    except (ValueError, KeyError, OSError, EOFError, BadZipFile):
        raise InputError(
            "the shares of the model are damaged", where=str(path), remedy="Restore the file from a backup."
        ) from None


def shares_path(folder: Path, job: str) -> Path:
    """Where they are."""
    return folder / f"{job}.npz"
