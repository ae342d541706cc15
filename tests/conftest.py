"""Settings of every test: properties have no time limit, because machines are shared."""

from __future__ import annotations

from hypothesis import settings

from tests.support.databases import database_url, postgres_server, postgres_url, sqlite_url
from tests.support.programs import founded_federation

__all__ = ["database_url", "founded_federation", "postgres_server", "postgres_url", "sqlite_url"]

settings.register_profile("privet", deadline=None)
settings.load_profile("privet")
