"""How the journal's tables came to be, step by step: number n brings a journal of version n - 1 to version n.

A new journal takes all steps, an older one those that it lacks, in one transaction. Steps are appended and never
edited, because journals in the field have taken them; the number of steps is the version. A step is SQL, its statements
parted by semicolons, without BEGIN and COMMIT.
"""

from __future__ import annotations

from typing import Final

_FIRST: Final = """
CREATE TABLE place (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE jobs (
    job TEXT PRIMARY KEY, mh TEXT NOT NULL, study TEXT NOT NULL, question TEXT NOT NULL, offer BLOB NOT NULL,
    status TEXT NOT NULL, phase TEXT NOT NULL, round INTEGER NOT NULL, participation TEXT,
    snapshot_sha256 TEXT, records_identity TEXT, certificates TEXT NOT NULL, code TEXT, reason TEXT,
    tally TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL
) STRICT;
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, type TEXT NOT NULL, round INTEGER NOT NULL,
    attempt INTEGER NOT NULL, seq INTEGER NOT NULL, sha256 TEXT NOT NULL, raw BLOB, state TEXT NOT NULL,
    receipt BLOB, UNIQUE (job, seq)
) STRICT;
CREATE UNIQUE INDEX one_contribution ON outbox (job, round, attempt) WHERE type = 'contribution';
CREATE TABLE answers (job TEXT PRIMARY KEY, approve INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE TABLE seen_rosters (
    records_identity TEXT NOT NULL, roster TEXT NOT NULL, job TEXT NOT NULL,
    PRIMARY KEY (records_identity, roster, job)
) STRICT;
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY, job TEXT NOT NULL, code TEXT NOT NULL, raw BLOB NOT NULL
) STRICT;
CREATE TABLE audit (n INTEGER PRIMARY KEY, record TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
"""

_STUDIES: Final = """
CREATE TABLE studies (
    study TEXT PRIMARY KEY, sha256 TEXT NOT NULL, signed BLOB NOT NULL, answer TEXT NOT NULL, code TEXT,
    reason TEXT NOT NULL, answered INTEGER NOT NULL, closed INTEGER NOT NULL, begun INTEGER NOT NULL,
    learned REAL NOT NULL
) STRICT;
CREATE TABLE study_words (
    id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT NOT NULL, kind TEXT NOT NULL, raw BLOB NOT NULL,
    state TEXT NOT NULL
) STRICT;
ALTER TABLE seen_rosters ADD COLUMN study_sha256 TEXT;
ALTER TABLE seen_rosters ADD COLUMN seen INTEGER NOT NULL DEFAULT 1;
"""

_PRIVACY: Final = """
CREATE TABLE privacy_spendings (
    records_identity TEXT NOT NULL, job TEXT NOT NULL, study TEXT NOT NULL, round INTEGER NOT NULL,
    attempt INTEGER NOT NULL, cells INTEGER NOT NULL, sigma_squared INTEGER NOT NULL, spent INTEGER NOT NULL,
    UNIQUE (job, round, attempt)
) STRICT;
"""

_THRESHOLD: Final = """
CREATE UNIQUE INDEX one_partial ON outbox (job, round) WHERE type = 'partial';
"""
"""Key mode threshold: not even a bug gives two partial decryptions of one round."""

_FORGOTTEN: Final = """
CREATE TABLE forgotten_jobs (job TEXT PRIMARY KEY) STRICT;
INSERT INTO forgotten_jobs SELECT DISTINCT json_extract(record, '$.job') FROM audit
    WHERE json_extract(record, '$.kind') = 'forgotten';
"""
"""A job's rosters and noise stay booked under its id, so that id must never begin again."""

_ASKED: Final = """
CREATE TABLE asked_questions (
    job TEXT PRIMARY KEY, study TEXT NOT NULL, hospital TEXT NOT NULL, question TEXT NOT NULL,
    records INTEGER NOT NULL, created INTEGER NOT NULL
) STRICT;
CREATE INDEX asked_by ON asked_questions (study, hospital);
"""
"""Jobs by which hospitals asked shared trees by themselves, counted apart from a study's other jobs."""

_LOOKED_AT: Final = """
CREATE INDEX audit_by_job ON audit (json_extract(record, '$.job'));
CREATE INDEX jobs_by_age ON jobs (created, job);
"""
"""Pages show one job's records, and one page of the jobs."""

STEPS: Final = (_FIRST, _STUDIES, _PRIVACY, _THRESHOLD, _FORGOTTEN, _ASKED, _LOOKED_AT)
"""All steps in order. To add one: write it above, append it here; nothing else."""
