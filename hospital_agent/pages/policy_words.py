"""Each rule of the policy in plain words: what it allows, and what it forbids, as it is set here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hospital_agent.policy import Policy
from shared.texts import has_text, text


@dataclass(frozen=True, slots=True)
class RuleWords:
    """One rule. `value`: as the file writes it. `is_default`: it is the safe default."""

    name: str
    value: str
    title: str
    words: str
    is_default: bool


def rules_in_words(policy: Policy) -> list[RuleWords]:
    """All rules, in the order of the file."""
    return list(_rules(policy))


def _rules(policy: Policy) -> Iterator[RuleWords]:
    for name, described in Policy.model_fields.items():
        value = getattr(policy, name)
        default = described.get_default(call_default_factory=True)
        yield RuleWords(
            name,
            _written(value),
            text(f"house.rule.{name}.title"),
            _words(name, value),
            value == default,
        )


def _words(name: str, value: Any) -> str:
    """The sentence for this value, or for its kind: a text of its own, `any` of nothing or zero, or the general one."""
    key = f"house.rule.{name}."
    own = str(value).lower() if isinstance(value, bool | str) else ""
    if own and has_text(f"{key}{own}"):
        return text(f"{key}{own}")
    if not value and has_text(f"{key}empty"):
        return text(f"{key}empty")
    told = ", ".join(value) if isinstance(value, list) else value
    return text(f"{key}words", value=told)


def _written(value: Any) -> str:
    if value is None:
        return text("house.policy.left_out")
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
