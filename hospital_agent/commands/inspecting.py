"""`settings` and `health`: what is in force at this agent, and whether it runs."""

from __future__ import annotations

from hospital_agent.commands.arguments import Folder
from hospital_agent.places import PLACES
from machine.arguments import Markdown, settings_report
from shared.errors import TemporaryError
from shared.reports import Report


def show_settings(
    folder: Folder,
    markdown: Markdown = False,
) -> Report:
    """What is in force, and where each value comes from; secrets are hidden."""
    from hospital_agent.settings import all_settings, effective_settings

    return settings_report(PLACES, all_settings(), lambda: effective_settings(folder), markdown=markdown)


def health(folder: Folder) -> Report:
    """Whether an agent runs in this folder and its prediction server answers. For container health checks."""
    from hospital_agent.cloud import local_answers
    from hospital_agent.daemon.lock import is_running
    from hospital_agent.settings import load_settings

    local = load_settings(folder).local
    if not is_running(folder):
        raise TemporaryError("no agent runs in this folder")
    if local.serve and local.port and not local_answers(local.host, local.port):
        raise TemporaryError(f"the agent runs, and nothing answers at {local.host} port {local.port}")
    return Report({"running": True}, "The agent runs.")
