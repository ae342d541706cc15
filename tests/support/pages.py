"""The pages that are made from the code: settings, numbered errors, codes. `python -m tests.support.pages`."""

from __future__ import annotations

from pathlib import Path

from cloud_service.places import PLACES as CLOUD_PLACES
from cloud_service.settings import all_settings as cloud_settings
from hospital_agent.places import PLACES as AGENT_PLACES
from hospital_agent.policy import Policy
from hospital_agent.settings import all_settings as agent_settings
from privet.explaining import page_titles
from shared.configuring import settings_of, table_of
from tests.support.codes import codes_page

DOCS = Path(__file__).parents[2] / "docs"
_SETTINGS = """\
# Settings

Made from the code by `python -m tests.support.pages`; a test compares. `privet cloud settings FOLDER` and
`privet agent settings DIR` show what is in force and where each value comes from; with `--markdown` they print these
tables. Unknown settings are refused, and all faults are told at once ([C003](errors/C003.md), [A003](errors/A003.md)).

A value in the environment wins over one in a secret file, and this over the TOML file. Secret files hold one value each
and are named like the setting, with two underscores for a dot; they are looked for in `PRIVET_CLOUD_SECRETS` or
`PRIVET_AGENT_SECRETS` (a folder), in what systemd hands over (`LoadCredential=`), and in `secrets` in the folder.

| what | cloud | agent |
|---|---|---|
| folder: the argument, else the variable | `PRIVET_CLOUD_FOLDER` | `PRIVET_AGENT_FOLDER` |
| else | `/var/lib/privet/cloud` | `/var/lib/privet/agent` |
| settings: the file in the variable | `PRIVET_CLOUD_CONFIG` | `PRIVET_AGENT_CONFIG` |
| else in the folder | `cloud.toml` | `agent.toml` |
| else, for the default folder | `/etc/privet/cloud.toml` | `/etc/privet/agent.toml` |
| key of an encrypted folder: the file in the variable | `PRIVET_CLOUD_KEY_FILE` | `PRIVET_AGENT_KEY_FILE` |
| else what systemd hands over | credential `privet-key` | credential `privet-key` |

## Cloud

"""
_POLICY = """
## Policy of a hospital

Rules in the policy file, which only this file can set; [policy.toml](../deploy/policy.toml) explains each.

| rule | what may stand there | default |
|---|---|---|
"""
_ERRORS = """\
# Errors that keep a program from starting

Each has a number, which its message shows in brackets, and a page: what happened, why, what to do, how to check.
`privet explain NUMBER` prints it. Made by `python -m tests.support.pages`; a test compares.

| number | what it says |
|---|---|
"""


def settings_page() -> str:
    """docs/settings.md."""
    rules = [
        f"| `{rule.path}` | {rule.kind} | {f'`{rule.default}`' if rule.default else 'none'} |"
        for rule in settings_of(Policy)
    ]
    agent = f"\n## Agent\n\n{table_of(agent_settings(), AGENT_PLACES.prefix)}\n"
    return (
        _SETTINGS
        + table_of(cloud_settings(), CLOUD_PLACES.prefix)
        + "\n"
        + agent
        + _POLICY
        + "\n".join(rules)
        + "\n"
    )


def errors_page() -> str:
    """docs/errors/README.md."""
    rows = [f"| [{number}]({number}.md) | {title} |" for number, title in page_titles().items()]
    return _ERRORS + "\n".join(rows) + "\n"


PAGES = {
    DOCS / "settings.md": settings_page,
    DOCS / "errors" / "README.md": errors_page,
    DOCS / "codes.md": codes_page,
}


if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
        print(path)
