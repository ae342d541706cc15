"""The finished trees of this hospital: one signed file a job, verified whenever it is read.

A file holds the manifest, the tree with the class counts of every node, the state that all hospitals signed, their
statements and certificates, and this agent's signature over all of it. Nodes are kept as a flat list, parents
first, so that a deep tree needs no deep JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from shared.crypto import certificates
from shared.errors import InputError
from shared.protocol.envelopes import reseal, verify
from shared.protocol.participation import schema_of
from shared.texts import text
from shared.tree.binary_tests import read_test
from shared.tree.model import Leaf, Node, Split, Tree, counts_members, read_counts
from shared.tree.schema import Schema
from shared.wire.base import canonical_json, decode_base64url
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Model:
    """One tree and what proves where it came from.

    `tree`: None where a secret job does not show it to this hospital. `record_sha256`: of a secret job, the hash that
    all members attested. `state`: the hidden state that every statement names, 64 hex digits. `certificates`: DER of
    the members, base64url, in the order of their statements. `saved`: Unix seconds.
    """

    manifest: Manifest
    mh: str
    agent: str
    tree: Tree | None = field(repr=False)
    state: str
    statements: tuple[SignedEnvelope, ...] = field(repr=False)
    certificates: tuple[str, ...] = field(repr=False)
    saved: int
    record_sha256: str | None = None

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

    @property
    def tree_sha256(self) -> str | None:
        """Hash of the tree, None where it is not shown here."""
        return None if self.tree is None else self.tree.sha256

    @property
    def attested_sha256(self) -> str | None:
        """What tells it from every other one: the hash of its tree, or of what all members attested of a shared one."""
        return self.tree_sha256 or self.record_sha256

    @property
    def shown_tree(self) -> Tree:
        """The tree. Raises: InputError: this hospital does not hold it, and who does."""
        if self.tree is None:
            raise InputError(self._absence, where=f"model {self.id}", remedy=self._who_has_it)
        return self.tree

    @property
    def stays_shared(self) -> bool:
        """Whether no hospital sees the tree, and a job can ask it."""
        secret = self.manifest.secret
        return secret is not None and secret.result == "shared"

    @property
    def told(self) -> str:
        """What became of the tree, in a few words."""
        return text("held.here") if self.tree is not None else self._absence

    @property
    def _absence(self) -> str:
        secret = self.manifest.secret
        if secret is not None and secret.purpose == "predict":
            return text("held.predicted")
        if secret is not None and secret.result == "shared":
            return text("held.shared")
        return text("held.others")

    @property
    def _who_has_it(self) -> str:
        secret = self.manifest.secret
        if secret is None:
            return text("held.restore")
        if secret.result == "open" and secret.purpose == "train":
            return text("held.ask_at", hospitals=", ".join(secret.result_parties or []))
        job = secret.model or self.id
        parties = ", ".join(secret.compute_parties)
        return text("held.ask_by_job", parties=parties, job=job)

    def canonical(self) -> bytes:
        """What the agent signs."""
        secret = {} if self.record_sha256 is None else {"record_sha256": self.record_sha256}
        return canonical_json(
            secret
            | {
                "v": 1,
                "manifest": self.manifest.model_dump(mode="json", by_alias=True),
                "mh": self.mh,
                "agent": self.agent,
                "tree": None if self.tree is None else _flat(self.tree),
                "tree_sha256": self.tree_sha256,
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
            None if data["tree"] is None else _nested(data["tree"]),
            data["state"],
            tuple(SignedEnvelope.model_validate(statement) for statement in data["statements"]),
            tuple(data["certificates"]),
            data["saved"],
            data.get("record_sha256"),
        )
        if data["tree_sha256"] != model.tree_sha256:
            raise ValueError("tree_sha256")
        return model

    def verify(self, root: bytes) -> None:
        """Check every member's signed statement. Args: root: the root certificate, DER.

        Raises: PeerError: a signature or certificate that does not hold. ValueError: they are about something else.
        """
        if hashlib.sha256(self.manifest.canonical()).hexdigest() != self.mh or not self.statements:
            raise ValueError("mh")
        for statement, der in zip(self.statements, self.certificates, strict=True):
            certificate = certificates.verify(decode_base64url(der, what="certificate"), root)
            verify(reseal(statement), certificate.public_key)
            envelope = statement.envelope
            if (envelope.sender, envelope.mh, envelope.body["state"]) != (
                certificate.id,
                self.mh,
                self.state,
            ):
                raise ValueError("statement")


def _flat(tree: Tree) -> list[dict[str, Any]]:
    """The nodes level by level; a split names the places of its kids."""
    nodes, flat = [tree.root], []
    for node in nodes:  # grows while it is walked
        entry = counts_members(node)
        if isinstance(node, Leaf):
            flat.append(entry | {"leaf": node.label})
            continue
        places = list(range(len(nodes), len(nodes) + len(node.kids)))
        nodes.extend(node.kids)
        test = {} if node.test is None else dict([node.test.member])
        flat.append(entry | {"attr": node.attribute, "kids": places, "majority": node.majority} | test)
    return flat


def _nested(flat: Sequence[Mapping[str, Any]]) -> Tree:
    """The inverse of `_flat`: kids stand behind their parent, so the list is built from its end."""
    built: dict[int, Node] = {}
    for place in range(len(flat) - 1, -1, -1):
        entry = flat[place]
        counts, unit = read_counts(entry)
        if "leaf" in entry:
            built[place] = Leaf(entry["leaf"], counts, unit)
        else:
            kids = tuple(built.pop(kid) for kid in entry["kids"])
            built[place] = Split(entry["attr"], kids, entry["majority"], counts, read_test(entry), unit)
    if set(built) != {0}:
        raise ValueError("tree")
    return Tree(built[0])
