"""The linear tag over a contribution's plaintexts (protocol section 6.1, step 3).

Its coefficients come from the federation secret, which the cloud does not have. Being linear, the tags of all
contributions sum to the tag of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.crypto.derivation import expand, hk
from shared.secure_tree.context import RoundContext

_TAG: Final = b"tag"


def coefficients(context: RoundContext, secret: bytes, count: int, modulus: int) -> list[int]:
    """alpha_0 .. alpha_(count-1) mod n, fresh for each context. `secret`: G, 32 bytes."""
    return expand(hk(secret, _TAG + context.ctx, mh=context.mh), count, modulus)


def tag(context: RoundContext, secret: bytes, plaintexts: Sequence[int], modulus: int) -> int:
    """sum of alpha_j x_j mod n."""
    alphas = coefficients(context, secret, len(plaintexts), modulus)
    return int(sum(alpha * plaintext for alpha, plaintext in zip(alphas, plaintexts, strict=True)) % modulus)
