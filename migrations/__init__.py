"""The history of the cloud's tables (Alembic). Appended, never edited; it travels in the wheel."""
