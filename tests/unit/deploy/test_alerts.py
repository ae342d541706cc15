"""The sample alerts ask for nothing that no program shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.test_cloud_metrics import ALLOWED
from tests.integration.test_cloud_metrics import WORKERS as KNOWN_WORKERS
from tests.integration.test_seeing import FIGURES

FILE = Path(__file__).parents[3] / "deploy" / "prometheus" / "alerts.yaml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]
]
METRICS = {**ALLOWED, **FIGURES}


def unknown_in(expression: str) -> list[str]:
    """Names and labels that no program shows."""
    found = []
    for name, filters in re.findall(r"(privet_[a-z_]+)(?:\{([^}]*)\})?", expression):
        family = re.sub(r"_(total|bucket|count|sum)$", "", name)
        if family not in METRICS:
            found.append(name)
            continue
        labels = set(re.findall(r"([a-z]+)\s*(?:=~|!~|!=|=)", filters))
        found += sorted(labels - METRICS[family])
    return found


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_asks_for_what_is_shown_and_says_what_to_do(rule: dict[str, Any]) -> None:
    assert re.search(r"privet_", rule["expr"])
    assert unknown_in(rule["expr"]) == []
    assert set(re.findall(r'worker="([^"]+)"', rule["expr"])) <= KNOWN_WORKERS
    assert rule["labels"]["severity"] in ("page", "warn")
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["do"]


@pytest.mark.parametrize("expression", ["privet_nothing > 1", 'privet_jobs{study="x"} > 1'])
def test_a_name_or_label_that_is_not_shown_is_found(expression: str) -> None:
    assert unknown_in(expression)


def test_alerts_have_names_of_their_own() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES) > 10
