"""Shares of a tree on disk: private, whole, and gone with their model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hospital_agent.models import get_shares, put_shares
from hospital_agent.models.shares import shares_path
from shared.errors import InputError
from shared.mpc.sharing import BinaryShare

JOB = "ab" * 16
SHARES = (
    BinaryShare(np.arange(3, dtype=np.uint8), np.arange(3, 6, dtype=np.uint8)),
    BinaryShare(np.arange(4, dtype=np.uint32).reshape(2, 2), np.zeros((2, 2), np.uint32)),
)


def test_what_is_put_away_is_found_again(tmp_path: Path) -> None:
    put_shares(tmp_path / "models", JOB, SHARES)
    path = shares_path(tmp_path / "models", JOB)
    assert path.stat().st_mode & 0o777 == 0o600
    for found, kept in zip(get_shares(tmp_path / "models", JOB), SHARES, strict=True):
        assert np.array_equal(found.own, kept.own)
        assert np.array_equal(found.next, kept.next)
        assert found.dtype == kept.dtype


def test_missing_and_damaged_shares_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no share"):
        get_shares(tmp_path, JOB)
    put_shares(tmp_path, JOB, SHARES)
    path = shares_path(tmp_path, JOB)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="damaged"):
        get_shares(tmp_path, JOB)
