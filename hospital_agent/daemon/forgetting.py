"""Jobs that ended long ago leave the journal. Models, the audit chain and the rosters of the difference rule stay."""

from __future__ import annotations

from typing import Final

from hospital_agent.daemon.office import Office

_DAY_SECONDS: Final = 86_400


def forget_old(office: Office) -> int:
    """Forget what is older than the setting `retention_days`, and note it; the number of jobs. 0 days keep all."""
    days, journal = office.settings.retention_days, office.journal
    if days == 0:
        return 0
    before = office.clock() - days * _DAY_SECONDS
    waiting = journal.waiting_types()
    old = [
        entry
        for entry in journal.jobs()
        if entry.is_over and entry.updated < before and entry.job not in waiting
    ]
    for entry in old:
        with journal.transaction():
            journal.forget(entry.job)
            journal.record("forgotten", job=entry.job)
    if old:
        journal.empty_log()
    return len(old)
