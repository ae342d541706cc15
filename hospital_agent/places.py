"""Where an agent's files are."""

from __future__ import annotations

from typing import Final

from machine.places import Places

PLACES: Final = Places.of("agent")
