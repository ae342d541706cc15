"""A model that another hospital has exported: read from its file, every signature in it verified, kept nowhere.

What its members signed proves that they finished such a job; that this is the tree they hold is the word of the
hospital whose signature the file bears.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hospital_agent.models.model import Model
from hospital_agent.models.shelf import MAX_MODEL_BYTES, MODEL_CONTEXT
from machine.files import read_file
from shared.crypto import certificates, identity
from shared.errors import InputError, PrivetError
from shared.wire.base import decode_base64url


def read_foreign(path: Path, root: bytes) -> Model:
    """The model of an exported file. Args: root: the federation's root certificate, DER.

    Raises: InputError: it cannot be read, was altered, or its signer is none of its members.
    """
    raw = read_file(
        path, max_bytes=MAX_MODEL_BYTES, remedy="Name a file that `privet agent models export` wrote."
    )
    try:
        document = json.loads(raw)
        model = Model.from_json(document["model"])
        model.verify(root)
        signer = next(
            certificate
            for text in model.certificates
            if (certificate := certificates.verify(decode_base64url(text, what="certificate"), root)).id
            == model.agent
        )
        message = MODEL_CONTEXT + hashlib.sha256(model.canonical()).digest()
        identity.verify(signer.public_key, bytes.fromhex(document["signature"]), message, what="model")
    except (PrivetError, ValueError, KeyError, TypeError, RecursionError, StopIteration):
        raise InputError(
            "the model does not verify: it was altered, or is of another federation",
            where=str(path),
            remedy="Have the hospital that grew it export it again: privet agent models export.",
        ) from None
    return model
