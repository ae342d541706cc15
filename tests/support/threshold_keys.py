"""Fixed safe primes for tests, never for data: anyone who reads this file can decrypt."""

from __future__ import annotations

from functools import lru_cache

from shared.crypto.threshold_dealing import Dealt, deal

_SAFE_PRIMES = {
    256: (
        int("fdd196b53731a4aa04dfd5a67708481b", 16),
        int("c93a93a3733fed9b5f19d047a341f8c7", 16),
    ),
    512: (
        int("eb82935a160b55d307507cba3f8d8ca4a80501cb2fd8925e07f031e1d274802b", 16),
        int("de725748a81834214e5d1a81e256db3bc36665e159fd3c6c661303f2c04b9cdf", 16),
    ),
    2048: (
        int(
            "d288f219eb7e6342c7422ca46d714333d3f2b3c35dd7b4a6e6a8d5e05e8e2d70221031c11f9482c7bcdd1542"
            "622d30a56bcf72d3f281bbae5c88249481faf3ac0f4be6e6bb8afd60ee34ae236d804dd7b26e804c81615dbe"
            "b93467c49eaee770cddc5a6a84b14fc3c5c045e6fdc2b66ba180a7fe3adf4458446a357e4f604ddf",
            16,
        ),
        int(
            "e6748d327fd64d43790fb71473f16abfced509799a38466d27115a1fbbf2f9bfaf719c684ee03e018a9ae5c0"
            "e3d35d645b8695fb1f1a22d733c7d7fa6896e8f8d6eae1263394ecfc83a1cfb060637bd01ef5073678a64aba"
            "55ad38c36a9575e0af2f1f0946b4362c43085f81b2ed4aea97989729af6c295efedfd20f63ce203f",
            16,
        ),
    ),
    3072: (
        int(
            "c64f610d208d5949becaa3c67737ef369d898e9e6dcb66cbdd2cf64bb40bf5f81c243d1f2d0f5013a40695fb"
            "107f36f2204a3151bd538ebd260fcc3a64bc12d2d61f2e442d22e2f76308389acc5990b1830fb9c470f3c428"
            "7016bbdc499bae8a0ff836a90975fd8dfed3073fdeb603256f95d0f38c7dd2d02d71c80aeee9f17e44389726"
            "0072addf738bfb4c1cdb726886adb03f5808b1949525c6963744db360d84fa7b073ed793943c279dd89b461b"
            "727b965c18ebeb85176dbcd606777d8f",
            16,
        ),
        int(
            "f77a24e00189b99454badb3bd663a9125e85da446a794528ae665053b4857d94076df93ef309cf8dd1c04ae7"
            "474aa03cd7a6c43a06af1983f7f72c211ec6370d3276713645110e00cd7257c451be309a8dd237b49bf5282a"
            "8f9339abe5b96380bef83b9be564ad2b595ae6677b29e39dac03bdb8046c5c13a2b72b1c715f29cb5e7b7d9e"
            "58ba492b9cba27276b3cf0b5ecf7586173d24c32fcb661bf21aac2226589183e855d7d39b4364bb8f729e176"
            "cd76ccc166f3eb6fb45d93dd9fe3205b",
            16,
        ),
    ),
}


def safe_primes(bits: int) -> tuple[int, int]:
    """The two of the fixed key of 256 or 512 (toys), 2048 or 3072 bits."""
    return _SAFE_PRIMES[bits]


@lru_cache
def dealt(bits: int, holders: int, threshold: int) -> Dealt:
    """That key, dealt afresh once a test run."""
    return deal(*_SAFE_PRIMES[bits], holders, threshold)
