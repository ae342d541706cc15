"""The folder of finished models: signed when they are put there, verified when they are taken out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hospital_agent.models.model import Model
from hospital_agent.models.shares import shares_path
from machine.files import make_private_folder, read_file, sync_folder, write_file
from shared.crypto import identity
from shared.errors import InputError, PrivetError
from shared.protocol.envelopes import Signer

MODEL_CONTEXT: Final = b"ppsdt/1/model\n"
MAX_MODEL_BYTES: Final = 2**30


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folder of models. `identity_public`: the agent's Ed25519 key; `root`: the federation's root, DER."""

    folder: Path
    identity_public: bytes
    root: bytes = field(repr=False)

    def put(self, model: Model, signer: Signer) -> None:
        """Sign and keep; the file is there whole or not at all."""
        make_private_folder(self.folder)
        canonical = model.canonical()
        signature = signer.sign(MODEL_CONTEXT + hashlib.sha256(canonical).digest()).hex()
        write_file(
            self._path(model.id), b'{"model":' + canonical + b',"signature":"' + signature.encode() + b'"}'
        )

    def get(self, job: str) -> Model:
        """The model of a job, everything in it verified.

        Raises: InputError: there is none, or it was altered.
        """
        path = self._path(job)
        raw = read_file(
            path, max_bytes=MAX_MODEL_BYTES, remedy="See `privet agent models list DIR` for those there are."
        )
        try:
            document = json.loads(raw)
            model = Model.from_json(document["model"])
            message = MODEL_CONTEXT + hashlib.sha256(model.canonical()).digest()
            identity.verify(self.identity_public, bytes.fromhex(document["signature"]), message, what="model")
            model.verify(self.root)
        except (PrivetError, ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                "the model does not verify: the file was altered, or another agent wrote it",
                where=str(path),
                remedy="Restore it from a backup, or remove it with `privet agent models remove`.",
            ) from None
        return model

    def ids(self) -> list[str]:
        """The jobs that have a model, oldest first."""
        files = [path for path in self.folder.glob("*.json") if not path.name.startswith(".")]
        return [path.stem for path in sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))]

    def newest(self) -> str:
        """The job of the newest model whose tree is here. Raises: InputError: there is none yet, or it was altered."""
        for job in reversed(self.ids()):
            if self.get(job).tree is not None:
                return job
        raise InputError(
            "this hospital has no model with a tree yet",
            where=str(self.folder),
            remedy="A model appears when a job completes; see `privet agent status DIR`.",
        )

    def find(self, prefix: str) -> str:
        """The one job whose id begins so. Raises: UnknownModelError: none. InputError: several."""
        found = [job for job in self.ids() if job.startswith(prefix)]
        if len(found) != 1:
            kind = InputError if found else UnknownModelError
            raise kind(
                "no model has that id" if not found else "several models begin with that",
                where=f"model {prefix}",
                remedy="See `privet agent models list DIR`.",
            )
        return found[0]

    def remove(self, job: str) -> None:
        """Delete a model, altered or not. Raises: InputError: there is none."""
        path = self._path(self.find(job))
        path.unlink()
        shares_path(self.folder, path.stem).unlink(missing_ok=True)
        sync_folder(self.folder)

    def path_of(self, job: str) -> Path:
        """The file of a model that is there."""
        path = self._path(job)
        return path if path.is_file() else self._path(self.find(job))

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"


class UnknownModelError(InputError):
    """No model of this hospital has that id."""


def shelf_of(folder: Path, identity_public: bytes, root: bytes) -> Shelf:
    """The shelf in an agent's folder."""
    return Shelf(folder / "models", identity_public, root)
