"""Regenerates wire.json: the exact bytes of one sample of every message body and of the documents around them.

A changed byte here means a new protocol version. Written with plain dictionaries and the standard library, so that
the product's models are checked against something else than themselves.

Run: python tests/vectors/generate_wire.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

H16, H32, H64 = "0123456789abcdef" * 2, "0123456789abcdef" * 4, "0123456789abcdef" * 8
C1, C2 = "AQ", "_-8"
SCHEMA = {
    "attributes": [
        {"cuts": None, "name": "smoker", "values": ["no", "yes", ""]},
        {"cuts": ["37.5", "38"], "name": "fever", "values": ["<= 37.5", "> 37.5 to 38", "> 38"]},
    ],
    "class": {"labels": ["ill", "well"], "name": "outcome"},
}


def manifest() -> dict[str, Any]:
    """A job manifest with every member present."""
    return {
        "cloud_certificate": C1,
        "created": 1700000000,
        "criterion": "information-gain",
        "deadlines": {"invite_seconds": 86400, "pause_seconds": 86400, "round_seconds": 3600},
        "disclosure": "counts",
        "expires": 1800000000,
        "f_table_sha256": H32,
        "invited": ["h1", "h2", "h3"],
        "job": H16,
        "key_id": H32,
        "key_mode": "shared",
        "max_depth": None,
        "max_shrinks": 1,
        "min_child": 5,
        "min_hospitals": 3,
        "min_node": 10,
        "profile": "hardened",
        "publish_tree": False,
        "question": "Wer wird gesund? \u2013 \u00e4",
        "rsa_public_key": C2,
        "schema": SCHEMA,
        "skip_known": True,
        "split_on_zero_gain": False,
        "study": "study-1",
        "synthetic": False,
        "v": 1,
    }


def secret_manifest() -> dict[str, Any]:
    """A manifest of mode gain-ratio: numbers in fixed point, listed values to test, and the block of secret jobs."""
    schema = {
        "attributes": [
            {
                "cuts": None,
                "name": "age",
                "numeric": {"decimals": 1, "maximum": "120", "minimum": "0"},
                "values": [],
            },
            {"cuts": None, "name": "ward", "treat_as": "equality", "values": ["a", "b", "c"]},
        ],
        "class": {"labels": ["ill", "well"], "name": "outcome"},
    }
    secret = {
        "compute_parties": ["h3", "h1", "h2"],
        "grid": [{"attribute": 0, "step": "0.5"}],
        "max_records": 1048576,
        "model": None,
        "open_empty": False,
        "purpose": "train",
        "result": "open",
        "result_parties": ["h1", "h3"],
    }
    changes = {"criterion": "gain-ratio", "disclosure": "class", "max_depth": 5, "max_shrinks": 0}
    return {
        **manifest(),
        **changes,
        "profile": "secret-gainratio",
        "schema": schema,
        "secret": secret,
        "skip_known": False,
    }


def progress() -> dict[str, Any]:
    """A report of a compute party."""
    return {
        "agent": "h1",
        "channel": "relayed",
        "job": H16,
        "layer": 2,
        "layers": 5,
        "part": "compute",
        "phase": "group maximum",
        "remaining_seconds": None,
        "rounds": 412,
        "seconds": 3,
        "sent_bytes": 1234567,
        "time": 1700000000,
        "waiting_for": ["h2"],
        "waiting_seconds": 4,
    }


def signed(kind: str, body: dict[str, Any], sender: str = "h1", to: str = "cloud") -> dict[str, Any]:
    """An envelope with a signature-shaped signature."""
    envelope = {
        "attempt": 0,
        "body": body,
        "from": sender,
        "job": H16,
        "mh": H32,
        "prev": H32,
        "round": 1,
        "seq": 2,
        "to": to,
        "type": kind,
        "v": 1,
    }
    return {"envelope": envelope, "signature": H64}


def samples() -> dict[str, dict[str, Any]]:
    """Model name to one sample document."""
    accept = {"ephemeral": C1, "mh": H32, "snapshot_sha256": H32, "state": H32}
    decision = {"done": False, "head": H32, "next_nodes": 2, "next_slots": 24, "state": H32}
    contribution = {"ciphertexts": [C1, C2], "head": H32, "seed": C1}
    partial = {"content": C2, "head": H32, "keys": {"h1": C1, "h2": C1}}
    accepts = [signed("job_accept", accept, sender) for sender in ("h1", "h2", "h3")]
    decisions = [signed("decision", decision, sender) for sender in ("h1", "h2", "h3")]
    nodes = [
        {"attr": 1, "kids": ["open", {"leaf": 0}], "leaf": None, "node": ""},
        {"attr": None, "kids": None, "leaf": 1, "node": "/1=0"},
    ]
    return {
        "SignedEnvelope": signed("abort", {"code": "diverged"}),
        "Manifest": manifest(),
        "JobOffer": {"manifest": manifest()},
        "JobAccept": accept,
        "JobAccept of a secret job": accept
        | {"direct": {"certificate_sha256": H32, "host": "10.0.0.5", "port": 8720}, "records": 120},
        "Manifest of a secret job": secret_manifest(),
        "SignedProgress": {"progress": progress(), "signature": H64},
        "JobDecline": {"code": "policy_min_hospitals", "mh": H32},
        "Roster": {"accepts": accepts, "certificates": [C1, C1, C2], "roster_hash": H32},
        "RoundOpen": {
            "deadline": 1700000000,
            "decisions": decisions,
            "prompts": [{"attributes": [0, 1], "node": "/1=0"}],
            "roster": ["h1", "h2", "h3"],
            "slots": 24,
        },
        "Contribution": contribution,
        "PaperContribution": {
            "head": H32,
            "matrices": [{"attribute": 1, "ciphertexts": [C1, C2], "node": "/0=2", "nonce": C1}],
        },
        "Receipt": {"head": H32, "message_sha256": H32, "time": 1700000000},
        "Aggregate": {
            "ciphertexts": [C1, C2],
            "contributions": [["h1", H32], ["h2", H32], ["h3", H32]],
            "head": H32,
            "roster_hash": H32,
        },
        "Aggregate of a threshold job": {
            "ciphertexts": [C1, C2],
            "contributions": [["h1", H32], ["h2", H32], ["h3", H32]],
            "forwarded": [signed("contribution", contribution, sender) for sender in ("h1", "h2", "h3")],
            "head": H32,
            "roster_hash": H32,
            "self_sums": [C1, C2],
        },
        "Partial": partial,
        "Partials": {"partials": [signed("partial", partial, sender) for sender in ("h1", "h2", "h3")]},
        "Manifest of a threshold job": manifest() | {"key_mode": "threshold", "threshold": 3},
        "Decision": decision,
        "PaperDecisions": {"decisions": nodes},
        "Notify": {"decisions": canonical({"decisions": nodes}), "head": H32, "state": H32},
        "JobDone": {"decisions": decisions},
        "Attest": {"state": H32, "tree": None, "tree_sha256": H32},
        "Abort": {"code": "tag_mismatch"},
    }


def canonical(value: object) -> str:
    """RFC 8785 for what occurs here: ASCII keys, integers, text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write the vectors."""
    vectors = {name: canonical(sample) for name, sample in samples().items()}
    path = Path(__file__).with_name("wire.json")
    path.write_text(json.dumps(vectors, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
