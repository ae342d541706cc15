"""The configuration files of the demo's cloud and agents, written as an operator would write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hospital_agent.records.source import DataSettings
from privet.demo.dealing import HospitalData
from privet.demo.loopback import HOST
from privet.demo.options import DemoOptions

STUDY: Final = "demo"


def write_cloud_settings(folder: Path, port: int, options: DemoOptions) -> None:
    """`cloud.toml`: loopback only, profile paper only if the demo was asked for it."""
    lines = [
        "# Written by `privet demo`.",
        f"host = {_text(HOST)}",
        f"port = {port}",
        f"allow_paper_profile = {_flag(options.profile == 'paper')}",
        "drain_seconds = 0  # nobody balances load on one machine, and somebody waits for the end",
    ]
    _write(folder / "cloud.toml", lines)


def write_agent_settings(
    folder: Path, hospital: HospitalData, cloud_url: str, port: int, options: DemoOptions
) -> None:
    """`agent.toml` and `policy.toml`: this hospital's records, and a policy that takes exactly this demo's job.

    In a playground it takes any study within the rules.
    """
    lines = [
        "# Written by `privet demo`.",
        f"id = {_text(hospital.id)}",
        f"cloud = {_text(cloud_url)}",
        "",
        "[data]",
        *_data_lines(hospital.settings),
        f"synthetic = {_flag(options.profile == 'paper')}",
        "",
        "[local]",
        f"host = {_text(HOST)}",
        f"port = {port}",
        *(["", "[compute]", f"listen = {_text(f'{HOST}:0')}"] if options.direct else []),
    ]
    _write(folder / "agent.toml", lines)
    _write(folder / "policy.toml", _policy_lines(options))


def _data_lines(data: DataSettings) -> Sequence[str]:
    lines = [
        f"path = {_text(str(data.path))}",
        f"drop = [{', '.join(_text(str(name)) for name in data.drop)}]",
    ]
    if data.class_column is not None:
        lines.append(f"class = {_text(str(data.class_column))}")
    if data.has_header is not None:
        lines.append(f"header = {_flag(data.has_header)}")
    return lines


def _policy_lines(options: DemoOptions) -> Sequence[str]:
    rules = options.rules
    return [
        "# Written by `privet demo`. A real hospital keeps the defaults and a person's approval.",
        'approval = "automatic"',
        f"min_hospitals = {options.hospitals}",
        f"min_node = {rules.min_node}",
        f"min_child = {rules.min_child}",
        f"max_depth = {rules.max_depth or 0}",
        "allow_publish_tree = true" if options.is_playground else f"studies = [{_text(STUDY)}]",
        f"allow_paper_profile = {_flag(options.profile == 'paper')}",
        f"allow_secret_modes = {_flag(options.is_secret)}",
        *(["max_epsilon = 1000000"] if options.noise_sigma else []),
    ]


def _text(value: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's, as long as other characters stay as they are."""
    return json.dumps(value, ensure_ascii=False)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
