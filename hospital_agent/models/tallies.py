"""What jobs that only count have opened: one signed file a job in the folder `tallies`, verified whenever it is read.

A file holds what a model's file holds (the manifest, the statements that all hospitals signed), the opened tables, and
this agent's signature over both. Counts are sums over all hospitals, small ones included.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from hospital_agent.models.model import Model
from machine.files import make_private_folder, read_file, sync_folder, write_file
from shared.crypto import identity
from shared.errors import InputError, PrivetError
from shared.protocol.envelopes import Signer
from shared.protocol.tallies import counts_by_place, places_needed
from shared.tree.model import Leaf, Tree
from shared.tree.schema import Schema
from shared.tree.tallying import Tables, tables_of
from shared.wire.base import canonical_json
from shared.wire.manifest import Manifest
from shared.wire.tally import TallyKind

TALLIES: Final = "tallies"
_CONTEXT: Final = b"ppsdt/1/tally\n"
_MAX_BYTES: Final = 2**30


@dataclass(frozen=True, slots=True)
class TallyResult:
    """The tables of one job. `proof`: the job's manifest, statements and certificates; its tree says nothing."""

    proof: Model
    tables: Tables = field(repr=False)

    @property
    def job(self) -> str:
        """The job that counted."""
        return self.proof.id

    @property
    def manifest(self) -> Manifest:
        """What all hospitals agreed to."""
        return self.proof.manifest

    @property
    def schema(self) -> Schema:
        """What the tables are of: of an evaluation the places of a tree, by class."""
        return self.proof.schema

    @property
    def kind(self) -> TallyKind:
        """evaluation or histogram."""
        if self.manifest.tally is None:
            raise InputError("this job grew a tree and counted nothing besides", where=f"job {self.job}")
        return self.manifest.tally.kind

    @property
    def records(self) -> int:
        """Records of all hospitals that were counted."""
        return self.tables[0].total

    def places(self, tree: Tree) -> dict[int, tuple[int, ...]]:
        """Of an evaluation: the place of every node of its tree to the records per true class that ended there."""
        return dict(enumerate(counts_by_place(self.tables, tree.node_count)))

    def votes(self, model: Model) -> list[tuple[int, ...]] | None:
        """Of an evaluation: for each class the records per true class that a vote of branches answered it.

        Args: model: the one that was evaluated. Returns: None where it has no fractional missing values.
        """
        nodes, needed = model.shown_tree.node_count, places_needed(model.shown_tree, model.schema)
        return None if nodes == needed else counts_by_place(self.tables, needed)[nodes:]

    def canonical(self) -> bytes:
        """What the agent signs."""
        tables = [[list(row) for row in table.rows] for table in self.tables]
        return canonical_json({"v": 1, "proof": json.loads(self.proof.canonical()), "tables": tables})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `canonical`, forms checked and nothing else."""
        proof = Model.from_json(data["proof"])
        return cls(proof, tables_of(proof.schema, data["tables"]))


@dataclass(frozen=True, slots=True)
class Cabinet:
    """The folder of opened tables. `identity_public`: the agent's Ed25519 key; `root`: the federation's root, DER."""

    folder: Path
    identity_public: bytes
    root: bytes = field(repr=False)

    def put(self, result: TallyResult, signer: Signer) -> None:
        """Sign and keep; the file is there whole or not at all."""
        make_private_folder(self.folder)
        canonical = result.canonical()
        signature = signer.sign(_message(canonical)).hex()
        content = b'{"tally":' + canonical + b',"signature":"' + signature.encode() + b'"}'
        write_file(self.folder / f"{result.job}.json", content)

    def get(self, job: str) -> TallyResult:
        """The tables of a job, everything in the file verified. Raises: InputError: there are none, or altered."""
        path = self.folder / f"{job}.json"
        raw = read_file(
            path, max_bytes=_MAX_BYTES, remedy="See `privet agent evaluation DIR` for those here."
        )
        try:
            document = json.loads(raw)
            result = TallyResult.from_json(document["tally"])
            message = _message(result.canonical())
            identity.verify(self.identity_public, bytes.fromhex(document["signature"]), message, what="tally")
            result.proof.verify(self.root)
        except (PrivetError, ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                "these counts do not verify: the file was altered, or another agent wrote it",
                where=str(path),
                remedy="Restore it from a backup, or have the job run again.",
            ) from None
        return result

    def ids(self) -> list[str]:
        """The jobs that have tables here, oldest first."""
        files = [path for path in self.folder.glob("*.json") if not path.name.startswith(".")]
        return [path.stem for path in sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))]

    def remove(self, job: str) -> None:
        """Delete the tables of a job, altered or not. Raises: InputError: there are none."""
        (self.folder / f"{self.find(job)}.json").unlink()
        sync_folder(self.folder)

    def find(self, prefix: str) -> str:
        """The one job whose id begins so. Raises: InputError: none or several."""
        found = [job for job in self.ids() if job.startswith(prefix)]
        if len(found) != 1:
            raise InputError(
                "no job that counted has that id" if not found else "several jobs begin with that",
                where=f"job {prefix}",
                remedy="See `privet agent evaluation DIR` for those here.",
            )
        return found[0]


def cabinet_of(folder: Path, identity_public: bytes, root: bytes) -> Cabinet:
    """The cabinet in an agent's folder."""
    return Cabinet(folder / TALLIES, identity_public, root)


def tally_document(result: TallyResult, model: Model | None) -> dict[str, Any]:
    """The counts as plain JSON. Args: model: that was evaluated, where it is here; else places are not cut."""
    manifest, selection = result.manifest, result.manifest.selection
    head = {
        "job": result.job,
        "study": manifest.study,
        "question": manifest.question,
        "kind": result.kind,
        "hospitals": list(result.proof.hospitals),
        "class": result.schema.class_name,
        "classes": list(result.schema.classes),
        "use": "all" if selection is None else selection.use,
        "selection": None if selection is None else selection.model_dump(mode="json"),
        "records": result.records,
        "saved": result.proof.saved,
    }
    if result.kind == "histogram":
        return head | {"attributes": _histogram(result)}
    asked = manifest.tally
    if model is None:
        rows, answers, votes = counts_by_place(result.tables, len(_all_places(result))), None, None
    else:
        tree = model.shown_tree
        rows, answers, votes = list(result.places(tree).values()), answers_of(tree), result.votes(model)
    return head | {
        "model": None if asked is None else asked.model,
        "tree_sha256": None if asked is None else asked.tree_sha256,
        "nodes": [list(row) for row in rows],
        "answers": answers,
        "votes": None if votes is None else [list(row) for row in votes],
    }


def answers_of(tree: Tree) -> list[int | None]:
    """The class index that each place answers; of a split its majority, None where none was kept."""
    return [node.label if isinstance(node, Leaf) else node.majority for node in tree.nodes()]


def confusion_of(
    rows: list[list[int]], answers: list[int | None], votes: list[list[int]] | None, classes: int
) -> list[list[int]]:
    """Records by true class (line) and answered class (column); a place without an answer counts in none."""
    table = [[0] * classes for _ in range(classes)]
    voted = [] if votes is None else list(zip(votes, range(classes), strict=True))
    for row, answer in [*zip(rows, answers, strict=True), *voted]:
        for true, count in enumerate(row):
            if answer is not None:
                table[true][answer] += count
    return table


def _histogram(result: TallyResult) -> list[dict[str, Any]]:
    return [
        {
            "name": attribute.name,
            "values": list(attribute.values),
            "cuts": None if attribute.cuts is None else [format(cut, "f") for cut in attribute.cuts],
            "counts": [list(row) for row in table.rows],
        }
        for attribute, table in zip(result.schema.attributes, result.tables, strict=True)
    ]


def _all_places(result: TallyResult) -> range:
    asked = result.manifest.tally
    return range(0 if asked is None or asked.places is None else asked.places)


def _message(canonical: bytes) -> bytes:
    return _CONTEXT + hashlib.sha256(canonical).digest()
