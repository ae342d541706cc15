"""The sample configuration in deploy/ is what the programs read, and stays on the safe side."""

import shutil
from pathlib import Path

import pytest

from cloud_service.settings import load_settings as load_cloud_settings
from hospital_agent.policy import TEMPLATE, Policy, load_policy
from hospital_agent.settings import load_settings as load_agent_settings

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


@pytest.fixture(autouse=True)
def _no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVET_AGENT_CLOUD", raising=False)
    monkeypatch.delenv("PRIVET_CLOUD_HOST", raising=False)


def test_the_agents_sample_is_read(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "agent.toml", tmp_path)
    settings = load_agent_settings(tmp_path)
    assert settings.id == "h1"
    assert settings.data.path == tmp_path / "records.csv"
    assert settings.data.class_column == "diagnosis"
    assert not settings.data.synthetic
    assert settings.compute.channel == "auto"


def test_the_policys_sample_says_the_safe_defaults() -> None:
    assert load_policy(DEPLOY / "policy.toml") == Policy(studies=["inflammations"])
    assert all(f"{rule} = " in TEMPLATE for rule in Policy.model_fields)


def test_the_clouds_sample_is_read(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "cloud.toml", tmp_path)
    settings = load_cloud_settings(tmp_path)
    assert settings.tls_files == (tmp_path / "tls.crt", tmp_path / "tls.key")
    assert not settings.allow_paper_profile
