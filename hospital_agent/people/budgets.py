"""The privacy budget as people are told it: what jobs with noise have told of the records, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hospital_agent.daemon.office import data_settings
from hospital_agent.journal import Journal
from hospital_agent.journal.budget import Ledger, Spending, total
from hospital_agent.policy import load_policy
from hospital_agent.records import DataSettings
from hospital_agent.records.identity import records_identity
from hospital_agent.settings import AgentSettings, load_settings
from shared.errors import InputError
from shared.secure_tree.privacy import PrivacyLimit, epsilon_of


def budget_document(folder: Path) -> dict[str, Any]:
    """As plain JSON. `used_percent`: of the cost that the budget allows, which grows with epsilon squared."""
    settings = load_settings(folder)
    policy = load_policy(settings.policy)
    limit = policy.privacy_limit
    with Journal.open(folder) as journal:
        ledger = Ledger(journal.connection)
        lines = ledger.lines()
        current = _current_identity(settings) if lines else None
        records = [
            _records(ledger, identity, own, limit, is_current=identity == current)
            for identity, own in _grouped(lines, lambda line: line.records_identity)
        ]
    return {
        "limit": {"epsilon": str(limit.epsilon), "delta": str(limit.delta), "for": policy.budget_for},
        "epsilon": str(epsilon_of(total(lines), limit.delta)),
        "used_percent": limit.used_percent(total(lines)),
        "records": records,
    }


def _current_identity(settings: AgentSettings) -> str | None:
    """Of the present records; None where they cannot be read."""
    data = data_settings(settings.data)
    try:
        if data.path is None:
            return records_identity(data)
        found = data.path.stat()
        return _identity_of_file(data.path, found.st_mtime_ns, found.st_size)
    except (InputError, OSError):
        return None


@lru_cache(maxsize=4)
def _identity_of_file(path: Path, _mtime_ns: int, _size: int) -> str:
    """Worked out once for each state of a file: all of it is read, and a page asks every few seconds."""
    return records_identity(DataSettings(path=path))


def _records(
    ledger: Ledger, identity: str, lines: Sequence[Spending], limit: PrivacyLimit, *, is_current: bool
) -> dict[str, Any]:
    jobs = _grouped(lines, lambda line: line.job)
    return {
        "records_identity": identity,
        "is_current": is_current,
        "epsilon": str(epsilon_of(total(lines), limit.delta)),
        "used_percent": limit.used_percent(total(lines)),
        "jobs": [
            {
                "job": job,
                "study": own[0].study,
                "rounds": len(own),
                "epsilon": str(epsilon_of(total(own), limit.delta)),
                "first": own[0].time,
                "last": own[-1].time,
            }
            for job, own in jobs
        ],
        "jobs_without_noise": ledger.jobs_without_noise(identity),
    }


def _grouped(lines: Sequence[Spending], key: Callable[[Spending], str]) -> list[tuple[str, list[Spending]]]:
    groups: dict[str, list[Spending]] = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line)
    return list(groups.items())
