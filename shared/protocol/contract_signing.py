"""A hospital's signature on a data contract, for the exchange of drafts between stewards.

What binds in the end is the study document, which holds the contract and is approved by its hash. A signature on a
contract of its own tells who handed it over: `"ppsdt/1/contract\\n" || SHA-256(canonical contract)`.
"""

from __future__ import annotations

import hashlib
from typing import Final

from shared.crypto import identity
from shared.crypto.certificates import Role
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.protocol.trust import Trust
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.contract import DataContract, SignedContract

_CONTEXT: Final = b"ppsdt/1/contract\n"


def sign_contract(
    contract: DataContract, hospital: str, signer: Signer, certificate: bytes
) -> SignedContract:
    """Args: certificate: the hospital's own, DER."""
    return SignedContract(
        contract=contract,
        hospital=hospital,
        signature=signer.sign(_message(contract)).hex(),
        certificate=encode_base64url(certificate),
    )


def verify_contract(signed: SignedContract, trust: Trust) -> DataContract:
    """The contract, which a hospital of this federation signed.

    Raises: PeerError: `bad_signature`; `unknown_agent`: not a present member, or another one than it says.
    """
    certificate = trust.certificate(decode_base64url(signed.certificate, what="certificate"), role=Role.AGENT)
    if certificate.id != signed.hospital:
        raise PeerError(
            ErrorCode.UNKNOWN_AGENT,
            f"data contract: the certificate is {certificate.id}'s, not {signed.hospital}'s",
        )
    signature = bytes.fromhex(signed.signature)
    identity.verify(certificate.public_key, signature, _message(signed.contract), what="data contract")
    return signed.contract


def _message(contract: DataContract) -> bytes:
    return _CONTEXT + hashlib.sha256(contract.canonical()).digest()
