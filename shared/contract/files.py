"""Contracts as people keep them: JSON of a contract, alone or with a hospital's signature around it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from shared.contract.schema import check_contract
from shared.errors import InputError
from shared.wire.base import Model, describe
from shared.wire.contract import DataContract, SignedContract


def contract_of(document: Any, where: str) -> DataContract:
    """The contract of a parsed file; a signature around it is not looked at. Args: where: the file, for messages.

    Raises: InputError: it is none, or contradicts itself.
    """
    signed = signed_contract_of(document, where)
    if signed is not None:
        return signed.contract
    contract = _validated(DataContract, document, where)
    check_contract(contract)
    return contract


def signed_contract_of(document: Any, where: str) -> SignedContract | None:
    """The signed contract of a parsed file, None where it is unsigned. The signature is not checked here.

    Raises: InputError: as `contract_of`.
    """
    if not isinstance(document, dict) or "signature" not in document:
        return None
    signed = _validated(SignedContract, document, where)
    check_contract(signed.contract)
    return signed


def _validated(model: type[Model], document: Any, where: str) -> Model:
    try:
        return model.model_validate_json(json.dumps(document), by_alias=True, by_name=False)
    except ValidationError as error:
        raise InputError(
            describe(error), where=where, remedy="Draft it with privet data draft, and edit that."
        ) from None
