"""The finished trees of this hospital: one signed file a job, verified whenever it is read.

A file holds the manifest, the tree with the class counts of every node, the state that all hospitals signed, their
statements and certificates, and this agent's signature over all of it. Nodes are kept as a flat list, parents first,
so that a deep tree needs no deep JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from hospital_agent.files import make_private_folder, read_file, sync_folder, write_file
from shared.crypto import certificates, identity
from shared.errors import InputError, PrivetError
from shared.protocol.envelopes import Signer, reseal, verify
from shared.protocol.participation import schema_of
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema
from shared.wire.base import canonical_json, decode_base64url
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import Manifest

_CONTEXT: Final = b"ppsdt/1/model\n"
_MAX_MODEL_BYTES: Final = 2**30


@dataclass(frozen=True, slots=True)
class Model:
    """One tree and what proves where it came from.

    `state`: the hidden state that every statement names, 64 hex digits. `certificates`: DER of the members,
    base64url, in the order of their statements. `saved`: Unix seconds.
    """

    manifest: Manifest
    mh: str
    agent: str
    tree: Tree = field(repr=False)
    state: str
    statements: tuple[SignedEnvelope, ...] = field(repr=False)
    certificates: tuple[str, ...] = field(repr=False)
    saved: int

    @property
    def id(self) -> str:
        """The job that grew it."""
        return self.manifest.job

    @property
    def schema(self) -> Schema:
        """Attributes and classes."""
        return schema_of(self.manifest)

    @property
    def hospitals(self) -> tuple[str, ...]:
        """Whose records it was grown on."""
        return tuple(statement.envelope.sender for statement in self.statements)

    def canonical(self) -> bytes:
        """What the agent signs."""
        return canonical_json(
            {
                "v": 1,
                "manifest": self.manifest.model_dump(mode="json", by_alias=True),
                "mh": self.mh,
                "agent": self.agent,
                "tree": _flat(self.tree),
                "tree_sha256": self.tree.sha256,
                "state": self.state,
                "statements": [s.model_dump(mode="json", by_alias=True) for s in self.statements],
                "certificates": list(self.certificates),
                "saved": self.saved,
            }
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `canonical`, forms checked and nothing else."""
        model = cls(
            Manifest.model_validate(data["manifest"]),
            data["mh"],
            data["agent"],
            _nested(data["tree"]),
            data["state"],
            tuple(SignedEnvelope.model_validate(statement) for statement in data["statements"]),
            tuple(data["certificates"]),
            data["saved"],
        )
        if data["tree_sha256"] != model.tree.sha256:
            raise ValueError("tree_sha256")
        return model

    def verify(self, root: bytes) -> None:
        """Check every member's signed statement. Args: root: the root certificate, DER.

        Raises: PeerError: a signature or certificate that does not hold. ValueError: they are about something else.
        """
        if hashlib.sha256(self.manifest.canonical()).hexdigest() != self.mh or not self.statements:
            raise ValueError("mh")
        for statement, text in zip(self.statements, self.certificates, strict=True):
            certificate = certificates.verify(decode_base64url(text, what="certificate"), root)
            verify(reseal(statement), certificate.public_key)
            envelope = statement.envelope
            if (envelope.sender, envelope.mh, envelope.body["state"]) != (
                certificate.id,
                self.mh,
                self.state,
            ):
                raise ValueError("statement")


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
        signature = signer.sign(_CONTEXT + hashlib.sha256(canonical).digest()).hex()
        write_file(
            self._path(model.id), b'{"model":' + canonical + b',"signature":"' + signature.encode() + b'"}'
        )

    def get(self, job: str) -> Model:
        """The model of a job, everything in it verified.

        Raises: InputError: there is none, or it was altered.
        """
        path = self._path(job)
        raw = read_file(
            path, max_bytes=_MAX_MODEL_BYTES, remedy="See `privet agent models list DIR` for those there are."
        )
        try:
            document = json.loads(raw)
            model = Model.from_json(document["model"])
            message = _CONTEXT + hashlib.sha256(model.canonical()).digest()
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
        """The job of the newest model. Raises: InputError: there is none yet."""
        ids = self.ids()
        if not ids:
            raise InputError(
                "this hospital has no model yet",
                where=str(self.folder),
                remedy="A model appears when a job completes; see `privet agent status DIR`.",
            )
        return ids[-1]

    def find(self, prefix: str) -> str:
        """The one job whose id begins so. Raises: InputError: none or several."""
        found = [job for job in self.ids() if job.startswith(prefix)]
        if len(found) != 1:
            raise InputError(
                "no model has that id" if not found else "several models begin with that",
                where=f"model {prefix}",
                remedy="See `privet agent models list DIR`.",
            )
        return found[0]

    def remove(self, job: str) -> None:
        """Delete a model, altered or not. Raises: InputError: there is none."""
        path = self._path(self.find(job))
        path.unlink()
        sync_folder(self.folder)

    def path_of(self, job: str) -> Path:
        """The file of a model that is there."""
        return self._path(self.find(job))

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"


def _flat(tree: Tree) -> list[dict[str, Any]]:
    """The nodes level by level; a split names the places of its kids."""
    nodes, flat = [tree.root], []
    for node in nodes:  # grows while it is walked
        entry: dict[str, Any] = {} if node.counts is None else {"counts": list(node.counts)}
        if isinstance(node, Leaf):
            flat.append(entry | {"leaf": node.label})
            continue
        places = list(range(len(nodes), len(nodes) + len(node.kids)))
        nodes.extend(node.kids)
        flat.append(entry | {"attr": node.attribute, "kids": places, "majority": node.majority})
    return flat


def _nested(flat: Sequence[Mapping[str, Any]]) -> Tree:
    """The inverse of `_flat`: kids stand behind their parent, so the list is built from its end."""
    built: dict[int, Node] = {}
    for place in range(len(flat) - 1, -1, -1):
        entry = flat[place]
        counts = None if "counts" not in entry else tuple(entry["counts"])
        if "leaf" in entry:
            built[place] = Leaf(entry["leaf"], counts)
        else:
            kids = tuple(built.pop(kid) for kid in entry["kids"])
            built[place] = Split(entry["attr"], kids, entry["majority"], counts)
    if set(built) != {0}:
        raise ValueError("tree")
    return Tree(built[0])
