"""What follows a commit: wake who waits, start the sum, forget what was deleted."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cloud_service.service.checked import CheckedContributions
from cloud_service.service.notifier import Notifier
from cloud_service.service.recording import News


class Aftermath:
    """The hints between the parts of one process; all of them could be lost without harm.

    `observe`: told the news of every commit, for whoever counts.
    """

    def __init__(self, notifier: Notifier, checked: CheckedContributions) -> None:
        self.notifier = notifier
        self.checked = checked
        self.sum_is_due = threading.Event()
        self.was_deleted = threading.Event()
        self.observe: Callable[[News], None] = _ignore

    def follow(self, job_id: str, news: News) -> None:
        """Act on the news of a committed transaction."""
        if news.dropped:
            self.checked.forget(job_id)
            self.was_deleted.set()
        if news.sum_is_due:
            self.sum_is_due.set()
        self.notifier.wake(news.keys)
        self.observe(news)


def _ignore(_news: News) -> None:
    """Nobody watches."""
