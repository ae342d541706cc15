"""The hospital's own rules: each limit, and the difference rule."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.policy import TEMPLATE, Policy, check_memory, differs_by_one, load_policy, review
from shared.errors import InputError
from shared.protocol.consenting import SeenRoster
from shared.wire.manifest import Manifest

SCHEMA = {
    "attributes": [{"name": "fever", "values": ["no", "yes"]}],
    "class": {"name": "ill", "labels": ["no", "yes"]},
}


HISTOGRAM: dict[str, object] = {"max_depth": 1, "tally": {"kind": "histogram"}}
EVALUATION: dict[str, object] = {
    "max_depth": 1,
    "tally": {"kind": "evaluation", "model": "ab" * 16, "tree_sha256": "cd" * 32, "places": 3},
}


def manifest(**changes: object) -> Manifest:
    fields: dict[str, object] = {
        "job": "ab" * 16,
        "study": "fever-study",
        "question": "who is ill?",
        "profile": "hardened",
        "criterion": "information-gain",
        "schema": SCHEMA,
        "invited": ["h1", "h2", "h3"],
        "key_id": "00" * 32,
        "cloud_certificate": "AA",
        "rsa_public_key": "AA",
        "f_table_sha256": "00" * 32,
        "deadlines": {},
        "created": 0,
        "expires": 1,
    }
    return Manifest.model_validate(fields | changes)


def code_of(policy: Policy, offered: Manifest, *, synthetic: bool = False) -> str | None:
    refusal = review(policy, offered, own="h1", synthetic=synthetic, seen_rosters=[])
    return None if refusal is None else refusal.code


def test_the_protocols_defaults_pass_the_default_policy() -> None:
    assert code_of(Policy(), manifest()) is None


@pytest.mark.parametrize(
    ("policy", "changes", "code"),
    [
        ({"min_hospitals": 4}, {}, "policy_min_hospitals"),
        ({}, {"min_node": 9}, "declined"),
        ({}, {"min_child": 4}, "declined"),
        ({}, {"max_shrinks": 2}, "declined"),
        ({}, {"noise": {"sigma_squared": 400, "untrusted": 0}, "skip_known": False}, "declined"),
        ({}, {"noise": {"sigma_squared": 400, "untrusted": 1}, "skip_known": False}, None),
        ({"max_shrinks": 0}, {"max_shrinks": 1}, "declined"),
        ({"max_shrinks": 0}, {"max_shrinks": 0}, None),
        ({}, {"max_depth": 13}, "declined"),
        ({}, {"max_depth": None}, "declined"),
        ({"max_depth": 0}, {"max_depth": None}, None),
        ({"disclosure": "class"}, {"disclosure": "probability"}, "declined"),
        ({"disclosure": "probability"}, {"disclosure": "class"}, None),
        ({}, {"publish_tree": True}, "declined"),
        ({"allow_publish_tree": True}, {"publish_tree": True}, None),
        ({}, HISTOGRAM, None),
        ({"allow_histogram": False}, HISTOGRAM, "declined"),
        ({"allow_evaluation": False}, HISTOGRAM, None),
        ({"allow_evaluation": False}, EVALUATION, "declined"),
        ({"studies": ["other"]}, {}, "declined"),
        ({"studies": ["fever-study"]}, {}, None),
    ],
)
def test_each_limit(policy: dict[str, object], changes: dict[str, object], code: str | None) -> None:
    assert code_of(Policy.model_validate(policy), manifest(**changes)) == code


@pytest.mark.parametrize("missing", ["policy", "data", "manifest"])
def test_profile_paper_needs_three_switches(missing: str) -> None:
    policy = Policy(allow_paper_profile=missing != "policy")
    offered = manifest(profile="paper", synthetic=missing != "manifest")
    refusal = review(policy, offered, own="h1", synthetic=missing != "data", seen_rosters=[])
    assert refusal is not None
    assert refusal.code == "policy_profile"
    assert missing in refusal.reason


def test_profile_paper_passes_when_all_agree() -> None:
    assert (
        code_of(Policy(allow_paper_profile=True), manifest(profile="paper", synthetic=True), synthetic=True)
        is None
    )


@given(
    roster=st.sets(st.sampled_from("abcdef"), min_size=1),
    seen=st.lists(st.sets(st.sampled_from("abcdef"), min_size=1)),
)
def test_the_difference_rule_is_about_exactly_one_hospital(roster: set[str], seen: list[set[str]]) -> None:
    refused = differs_by_one(sorted(roster), None, [SeenRoster(tuple(sorted(one)), "job") for one in seen])
    expected = any(abs(len(roster) - len(one)) == 1 and (roster < one or one < roster) for one in seen)
    assert (refused is not None) == expected


def test_jobs_that_together_tell_of_one_hospital_are_declined_by_who_would_know() -> None:
    earlier = [SeenRoster(("h1", "h2", "h3"), "one"), SeenRoster(("h1", "h2", "h4"), "two")]
    third = manifest(invited=["h1", "h3", "h4"])
    refusal = review(Policy(), third, own="h1", synthetic=False, seen_rosters=iter(earlier))
    assert refusal is not None
    assert (refusal.code, "adding and subtracting" in refusal.reason) == ("policy_difference", True)
    assert review(Policy(), third, own="h3", synthetic=False, seen_rosters=earlier[:1]) is None
    histogram = manifest(invited=["h1", "h3", "h4"], **HISTOGRAM)
    assert review(Policy(), histogram, own="h1", synthetic=False, seen_rosters=earlier) is not None


SECRET_RULES: dict[str, object] = {
    "profile": "secret-gainratio",
    "schema": {**SCHEMA, "attributes": [{**SCHEMA["attributes"][0], "treat_as": "ordered"}]},
    "criterion": "gain-ratio",
    "max_shrinks": 0,
    "skip_known": False,
    "disclosure": "class",
}


@pytest.mark.parametrize(
    ("policy", "secret", "code"),
    [
        ({}, {}, None),
        ({"allow_secret_modes": False}, {}, "policy_profile"),
        ({"compute_parties": ["h2", "h3"]}, {}, None),
        ({"compute_parties": ["h3"]}, {}, "declined"),
        ({"compute_parties": []}, {}, "declined"),
        ({"may_compute": False}, {}, "declined"),
        ({"allow_shared_result": False}, {}, None),
        ({"allow_shared_result": False}, {"result": "shared"}, "declined"),
        ({"min_node": 11}, {}, "declined"),
        ({"max_depth": 7}, {}, "declined"),
    ],
)
def test_each_rule_about_secret_jobs(
    policy: dict[str, object], secret: dict[str, object], code: str | None
) -> None:
    rules = Policy.model_validate({"allow_secret_modes": True, **policy})
    block = {"compute_parties": ["h1", "h2", "h3"], **secret}
    assert code_of(rules, manifest(**SECRET_RULES, secret=block)) == code


def test_who_only_contributes_need_not_compute() -> None:
    rules = Policy(allow_secret_modes=True, may_compute=False)
    invited = ["h1", "h2", "h3", "h4"]
    offered = manifest(**SECRET_RULES, invited=invited, secret={"compute_parties": invited[1:]})
    assert review(rules, offered, own="h1", synthetic=False, seen_rosters=[]) is None


def test_opened_trees_are_under_the_difference_rule_and_shared_ones_are_not() -> None:
    rules = Policy(allow_secret_modes=True, allow_shared_result=True)
    invited = ["h1", "h2", "h3", "h4"]
    for result, code in (("open", "policy_difference"), ("shared", None)):
        secret = {"compute_parties": invited[:3], "result": result}
        offered = manifest(**SECRET_RULES, invited=invited, secret=secret)
        refusal = review(
            rules, offered, own="h1", synthetic=False, seen_rosters=[SeenRoster(("h1", "h2", "h3"), "job")]
        )
        assert (refusal and refusal.code) == code


def test_a_job_may_take_as_much_memory_as_the_policy_allows() -> None:
    check_memory(Policy(max_compute_mb=3), 3_000_000, 1000)
    with pytest.raises(InputError, match="about 4 MB here, and the policy allows 3") as refused:
        check_memory(Policy(max_compute_mb=3), 3_000_001, 1000)
    assert "Raise max_compute_mb" in str(refused.value)


def test_the_difference_rule_is_part_of_the_review() -> None:
    refusal = review(
        Policy(),
        manifest(),
        own="h1",
        synthetic=False,
        seen_rosters=[SeenRoster(("h1", "h2", "h3", "h4"), "job")],
    )
    assert refusal is not None
    assert refusal.code == "policy_difference"
    assert "h4" in refusal.reason


def test_the_template_is_the_default_policy() -> None:
    assert Policy.model_validate(tomllib.loads(TEMPLATE)) == Policy()


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_policy(tmp_path / "policy.toml") == Policy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min_hospitals = 2", "min_hospitals: Input should be greater than or equal to 3"),
        ('approval = "never"', "approval"),
        ("minimum = 3", "minimum: Extra inputs"),
        ("min_node = ", "not TOML"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_policy(path)


def test_parts_of_records_need_leave_because_small_groups_are_counted() -> None:
    schema = {
        "attributes": [{"name": "ward", "values": ["a", "b", "missing"], "missing": "fractional"}],
        "class": {"name": "class", "labels": ["no", "yes"]},
    }
    offered = manifest(schema=schema)
    refusal = review(Policy(), offered, own="h1", synthetic=False, seen_rosters=[])
    assert refusal is not None
    assert (refusal.code, "allow_fractional" in refusal.reason, "ward" in refusal.reason) == (
        "declined",
        True,
        True,
    )
    allowed = review(Policy(allow_fractional=True), offered, own="h1", synthetic=False, seen_rosters=[])
    assert allowed is None
