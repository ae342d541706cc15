"""Private keys at rest and at work: the only room that can decrypt."""

from __future__ import annotations

from hospital_agent.keyring.cipher import MeteredCipher
from hospital_agent.keyring.meter import Spent
from hospital_agent.keyring.ring import Keyring
from hospital_agent.keyring.share_cipher import MeteredShare

__all__ = ["Keyring", "MeteredCipher", "MeteredShare", "Spent"]
