"""Settings of every test: properties have no time limit, because machines are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("privet", deadline=None)
settings.load_profile("privet")
