"""Fixed key pairs for tests, never for data: anyone who reads this file can decrypt.

Toy sizes are built by the plain constructors, which production code does not use: it calls `create`, which
refuses them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from shared.crypto.paillier import PublicKey, encode_ciphertext, encrypt
from shared.crypto.paillier_private import PrivateKey

T4_P = 0xC00000000000000000000000000000B5
T4_Q = 0xC0000000000000056BC75E2D6310000F


def t4_key() -> PrivateKey:
    """The 256-bit key of protocol section 14, T4."""
    return PrivateKey(T4_P, T4_Q)


@dataclass(frozen=True, slots=True)
class PublishedObfuscators:
    """A `CountCipher` whose obfuscator of ciphertext j is r = SHA-256("r|name|j") mod n, as T4 asks."""

    private: PrivateKey
    name: str

    @property
    def public(self) -> PublicKey:
        """The key's public half."""
        return self.private.public

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Deterministic ciphertexts."""
        key = self.public
        return [
            encode_ciphertext(key, encrypt(key, plaintext, self._r(number)))
            for number, plaintext in enumerate(plaintexts)
        ]

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts, the product's way."""
        return self.private.decrypt_many(int.from_bytes(raw, "big") for raw in ciphertexts)

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts below half the key's length, the product's way."""
        return self.private.decrypt_small(int.from_bytes(raw, "big") for raw in ciphertexts)

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """The batched check, the product's way."""
        return self.private.all_zero(ciphertexts)

    def _r(self, number: int) -> int:
        digest = hashlib.sha256(f"r|{self.name}|{number}".encode()).digest()
        return int.from_bytes(digest, "big") % self.public.n


_FACTORS = {
    512: (
        int("e7d0ce471b5f8409b1504d35f65e3ae8db008b728f0fa4fb4ad0dd0626a39ed7", 16),
        int("e979802b69fa2e52f0c3bdfe8e92ef59a85c1da6ed594e9e6ab01884fe11c955", 16),
    ),
    2048: (
        int(
            "f67f85d3cf1b854ddd9c511258c6fafbf665ef57e7bdc961ef1a4efab632188a7fa14658a4110b8641d13440"
            "adb9bf1b60a7380fd76523b6978f6e14330897f76020c4682a68377dc2a371a00844f55eb46243b6fab296d0"
            "2e73aa97fce3a55550e7d07ea37058c6606f4dd0470e783b74e6f89188079291384cf6b22b53e3ad",
            16,
        ),
        int(
            "def336c5857082b9bcbd58b6b7319bf2799bb5f95d4e91329c1720237b974aa32566968b17f9047d2ac852cb"
            "e8490af3c8b92f9b1e1db75f08138f77b187173302f710edaf05800d3a3e70bcfca708ce846b86ddd2af2ccc"
            "a05a8ce00116167649fecbb8482d1081fb0c568997e45ddc6adc151c7fa32284eee41c6921f16ed3",
            16,
        ),
    ),
    3072: (
        int(
            "e940f61be5da2b57d7f15e4e8b6048efd6c76bc17c6d41810fabaad8349f94d3bccda674bffcba3190373be3"
            "6d88d113944964378b9bf868009cfe1b953385d2dbaccb35cd47b821065a4ddfadbb17967b294b87efad37ff"
            "39f4a7e4a5f8631a10a19a6741ad1d16a28062f46dd8d50926ce77cef5e8d3814260fa74186892f89bcb9bbb"
            "807fe193e7f16b5bf0d301bc5a223ae81e7a3224361b9efca5308f32a5bbc8fe4f3eea297f561bcdba0b15a6"
            "7b40397434e624a1f20c49831a79c54b",
            16,
        ),
        int(
            "f0363f109ae288485be98a87d0b25019272b2e299f67184255870cef1a15c41669e9f96dfa7c0acef2cd66b4"
            "c32aecd0d600130c7a4cb2119c3c363fc3f3aebfa7e9c0a77e7912294061b14f1ffbcda038eb88badfb6c323"
            "3aaab714a589d8e24d7e20ccd024b4bd65d664e2a77cf0cccb67722d4553dfeaf3f8252d332cafb6723cb323"
            "cc6771479f6f91bcb867559dd6282c85dd8b45143a9800e3c94695c4724d01ec0d98565e71e35dbd4c7f6b75"
            "c0fc303b5cb885fd344a63a2e1939d83",
            16,
        ),
    ),
    4096: (
        int(
            "ce6f80f44216e3b9b3081396a62eafd75019884a2ca88e93dd2434063faf74b17a433991f56917da1f995d09"
            "86632f4377c1e0c27211ff3d4f061f3f74011de8c201d6a323eab4d179210c5210652036a600c263dbb3155c"
            "227518f73f2daa7309a4b9787dfd8217d6c7879429ab1bb31467383c5e22153179265cb3de2133bec743c0ee"
            "496b8574113f62933fc1db6e040b058be40900970c2219ba99b32a2c93bdf0c05ea3e16dd3fa90841072099a"
            "1dd31af2108d02416bf6337b281fdcf57b3cd0b0ed28c6c0d7b611380f18eff08a0e1f1ff7c5be17db9f2bb1"
            "bbacc820fa490fa2314c7211aa6d11db9d5fa7d6d1cc512fcbb61ba44dcd9ceabe71d3fd",
            16,
        ),
        int(
            "fae82c8c042fcffc4950bd00092485a340b8e922356d8cf681a0bc2387f8d1df4d7ce8fdb04be2f64173288a"
            "dd3b7917329243082966d703997e41ec16e062eaf15138cc029a6ab6a5c2fe5bcf70e5077bfcc72e406afd6d"
            "787accbcd02be7ee9e5a67f72242e7c769cf47bd2266c1dfea50385eadf88cb14ff8f48eb8ae6e7c6878b836"
            "698d6a22438a8bf636bbc603ca98fbdcb30db21acdabb3e64919eef81166953ef323fb6c3e2485b58b305622"
            "da8ab2626befaa7d9078eeffa8f79c9c120f18dac37b341559dcfd85443e0b67607162b4b350bdcdf31b2a38"
            "c80d32d80d0b6ddb13b8d981e1798a9a57aa1580e03ac1736bdef92326ca851fc46a5ec1",
            16,
        ),
    ),
}


def fixed_key(bits: int) -> PrivateKey:
    """The fixed pair of 512 (toy), 2048, 3072 or 4096 bits."""
    return PrivateKey(*_FACTORS[bits])
