"""Logs of a real federation verify together; each way of falsifying one of them is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from privet.__main__ import run
from shared.crypto.identity import IdentityKey
from shared.ids import CLOUD
from shared.protocol.audit_check import check
from shared.protocol.audit_cross import compare
from shared.protocol.audit_file import RecordLine, export, read
from shared.protocol.audit_log import START, link
from shared.protocol.enrolment import fingerprint
from shared.wire.base import canonical_json
from tests.integration.test_agent_jobs import HOSPITALS, THREE, agent, files
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation

Records = list[dict[str, Any]]


@dataclass
class Exported:
    """The logs of a finished job, as files, and the keys that signed them."""

    folder: Path
    federation: LocalFederation
    job: str
    other: str
    files: dict[str, Path] = field(default_factory=dict)

    def key(self, owner: str) -> IdentityKey:
        return self.federation.cloud.parties.identities[CLOUD if owner in ("cloud", "acts") else owner]


def verify(capsys: pytest.CaptureFixture[str], *paths: Path, **options: str) -> tuple[int, Any]:
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    capsys.readouterr()
    code = run(["audit", "verify", *map(str, paths), *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def codes(capsys: pytest.CaptureFixture[str], *paths: Path) -> set[str]:
    code, document = verify(capsys, *paths)
    found = {finding["code"] for finding in document["findings"]}
    assert (code, document["ok"]) == ((6, False) if found else (0, True))
    return found


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("audit")
    with local_federation(folder / "federation", HOSPITALS) as federation:
        federation.hospitals["h4"].stop()
        outcome = federation.run_job(SCHEMA, files(folder), publish_tree=True)
        other = federation.run_job(SCHEMA, files(folder), max_depth=1)
        made = Exported(folder, federation, outcome.job, other.job)
        services = federation.cloud.services
        made.files["cloud"] = _write(folder / "cloud.jsonl", services.audits.of_job(outcome.job))
        made.files["acts"] = _write(folder / "acts.jsonl", services.audits.of_acts())
        for name in THREE:
            path = folder / f"{name}.jsonl"
            assert (
                run(["agent", "audit", "export", str(federation.hospitals[name].folder), f"--out={path}"])
                == 0
            )
            made.files[name] = path
        yield made


def _write(path: Path, lines: Iterator[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def forged(
    made: Exported,
    owner: str,
    tmp_path: Path,
    change: Callable[[Records], None],
    *,
    signer: str | None = None,
) -> list[Path]:
    """All files, one of them with other records, chained and signed anew as its keeper could."""
    file = read(owner, made.files[owner].read_bytes())
    records = [json.loads(line.record or "null") for line in file.records]
    change(records)
    head, lines = START, []
    for number, record in enumerate(records):
        text = canonical_json(record)
        head = link(head, text)
        lines.append(RecordLine(n=number, hash=head, record=text.decode()))
    messages = [text.encode() for text in file.messages]
    path = _write(
        tmp_path / f"{owner}.jsonl", export(file.header, lines, messages, made.key(signer or owner))
    )
    return [path if name == owner else kept for name, kept in made.files.items()]


def place(records: Records, **wanted: object) -> int:
    return next(n for n, record in enumerate(records) if wanted.items() <= record.items())


def test_a_log_shows_no_tree_though_it_is_published(exported: Exported) -> None:
    services = exported.federation.cloud.services
    tree, _ = services.results.tree(exported.job)
    content = exported.files["cloud"].read_bytes()
    bodies = [json.loads(message)["envelope"]["body"] for message in read("cloud", content).messages]
    assert bodies
    assert [body for body in bodies if body.get("tree") is not None] == []
    assert tree.canonical() not in content.replace(b"\\", b"")


def test_honest_logs_tell_one_story(exported: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    root = fingerprint(exported.federation.cloud.parties.root)
    code, document = verify(capsys, *exported.files.values(), root_sha256=root)
    assert (code, document["findings"]) == (0, [])
    assert document["remarks"] == []
    records = read("cloud", exported.files["cloud"].read_bytes()).records
    logged = [json.loads(line.record or "") for line in records]
    assert all("journal" in record for record in logged if "from" in record)
    assert {record["from"] for record in logged if "echo" in record} == set(THREE)
    assert codes(capsys, exported.files["h1"]) == set()
    assert codes(capsys, exported.files["h1"], exported.files["h2"]) == set()


def test_a_hospital_shows_the_records_of_one_job(
    exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "h1.jsonl"
    folder = exported.federation.hospitals["h1"].folder
    told = agent(capsys, "audit", "export", folder, "--job", exported.job, "--out", path)
    assert 0 < told["shown"] < told["records"]
    assert exported.other not in path.read_text()
    code, document = verify(capsys, path, exported.files["cloud"])
    assert (code, document["findings"]) == (0, [])
    assert any("hashes only" in remark for remark in document["remarks"])


RAW: dict[str, tuple[str, Callable[[list[bytes]], None], set[str]]] = {
    "an edited record": ("h1", lambda lines: _edit(lines, 2), {"broken_link", "end_differs"}),
    "a dropped record": ("cloud", lambda lines: lines.pop(4), {"gap", "end_differs"}),  # type: ignore[dict-item]
    "records in another order": ("cloud", lambda lines: _swap(lines, 3, 4), {"gap", "end_differs"}),
    "a tail that is cut off": ("cloud", lambda lines: lines.__delitem__(slice(-9, None)), {"no_end"}),
    "a tail cut but for the signed end": (
        "h2",
        lambda lines: lines.__delitem__(slice(-4, -1)),
        {"end_differs"},
    ),
    "something added behind the end": ("h1", lambda lines: lines.append(lines[1]), {"unreadable"}),
    "another certificate's name": ("h1", lambda lines: _edit(lines, 0, b'"h1"', b'"h2"'), {"wrong_signer"}),
    "a signed message changed": (
        "cloud",
        lambda lines: _edit_message(lines),
        {"message_forged", "end_differs"},
    ),
    "no file of ours": ("h1", lambda lines: lines.__setitem__(0, b"hello"), {"unreadable"}),
}


def _edit(
    lines: list[bytes], at: int, old: bytes = b'\\"kind\\":\\"', new: bytes = b'\\"kind\\":\\"x'
) -> None:
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new)


def _edit_message(lines: list[bytes]) -> None:
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"message"') and b"job_accept" in line)
    lines[at] = lines[at].replace(b'\\"attempt\\":0', b'\\"attempt\\":1')


def _swap(lines: list[bytes], one: int, other: int) -> None:
    lines[one], lines[other] = lines[other], lines[one]


@pytest.mark.parametrize("what", RAW)
def test_changes_of_a_file_are_found(
    exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    owner, change, expected = RAW[what]
    lines = exported.files[owner].read_bytes().splitlines()
    change(lines)
    path = tmp_path / f"{owner}.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = codes(capsys, *(path if name == owner else kept for name, kept in exported.files.items()))
    assert found >= expected


def _drop(records: Records, **wanted: object) -> None:
    del records[place(records, **wanted)]


def _change(records: Records, name: str, value: object, **wanted: object) -> None:
    records[place(records, **wanted)][name] = value


def _renumbered(records: Records) -> None:
    for number, record in enumerate(records):
        record["n"] = number


def _put_again(records: Records, **wanted: object) -> None:
    at = place(records, **wanted)
    records.insert(at + 1, dict(records[at]))


def _claim(records: Records, **changes: object) -> None:
    at = place(records, type="decision")
    records[at]["journal"] = {**records[at]["journal"], **changes}


HASH = "ab" * 32
CHAINED: dict[str, tuple[str, Callable[[Records], None], set[str]]] = {
    "the cloud leaves out a contribution": (
        "cloud",
        lambda records: _drop(records, type="contribution"),
        {"not_in_cloud_log", "sum_list_differs", "unknown_head", "unknown_echo"},
    ),
    "the cloud shows another history": (
        "cloud",
        lambda records: _change(records, "time", 7, type="roster"),
        {"unknown_head", "unknown_echo", "act_differs"},
    ),
    "the cloud adds a message that a hospital never sent": (
        "cloud",
        lambda records: records.insert(
            place(records, type="contribution"),
            {**records[place(records, type="contribution")], "sha256": HASH, "round": 9},
        ),
        {"not_in_hospital_log", "claim_forged"},
    ),
    "the cloud sums other contributions": (
        "cloud",
        lambda records: _change(records, "list_sha256", HASH, type="aggregate"),
        {"sum_list_differs", "sum_differs"},
    ),
    "the cloud sums a round twice": (
        "cloud",
        lambda records: _put_again(records, type="aggregate"),
        {"two_sums"},
    ),
    "the cloud takes a decision twice": (
        "cloud",
        lambda records: _put_again(records, type="decision"),
        {"taken_twice"},
    ),
    "the cloud sent a hospital something else": (
        "cloud",
        lambda records: _change(records, "sha256", HASH, type="aggregate"),
        {"not_sent_by_cloud"},
    ),
    "the cloud makes up a hospital's head": (
        "cloud",
        lambda records: _claim(records, head=HASH),
        {"claim_forged"},
    ),
    "the cloud ends its log early": (
        "cloud",
        lambda records: records.__delitem__(slice(-8, None)),
        {"not_in_cloud_log"},
    ),
    "the acts name another head": (
        "acts",
        lambda records: _change(records, "head", HASH, act="job_ended"),
        {"act_differs"},
    ),
    "a hospital leaves out what it sent": (
        "h2",
        lambda records: (_drop(records, kind="sent", type="contribution"), _renumbered(records)),  # type: ignore[dict-item,func-returns-value]
        {"not_in_hospital_log", "claim_differs"},
    ),
    "a hospital says that it sent something else": (
        "h2",
        lambda records: _change(records, "sha256", HASH, kind="sent", type="contribution"),
        {"not_in_cloud_log", "not_in_hospital_log", "claim_differs"},
    ),
    "a hospital says that it was offered something else": (
        "h3",
        lambda records: _change(records, "mh", HASH, kind="accepted"),
        {"manifest_differs", "claim_differs"},
    ),
    "a hospital was told otherwise than the others": (
        "h3",
        lambda records: _change(records, "sha256", HASH, kind="received", type="aggregate"),
        {"told_differently", "not_sent_by_cloud", "claim_differs"},
    ),
    "a hospital's log was put back": (
        "h3",
        lambda records: records.__delitem__(slice(5, None)),
        {"claim_missing"},
    ),
    "a hospital's sum had another list": (
        "h3",
        lambda records: _change(records, "list_sha256", HASH, kind="received", type="aggregate"),
        {"sum_differs"},
    ),
    "a hospital's receipt names a head from before": (
        "h1",
        lambda records: _early_head(records),
        {"head_out_of_order"},
    ),
    "a hospital's receipt names no head": (
        "h1",
        lambda records: _change(records, "head", START, kind="sent", type="contribution"),
        {"head_out_of_order"},
    ),
    "a record of another form": (
        "cloud",
        lambda records: _change(records, "round", "none", type="contribution"),
        {"unreadable"},
    ),
}


def _early_head(records: Records) -> None:
    accept = records[place(records, kind="sent", type="job_accept")]
    _change(records, "head", accept["head"], kind="sent", type="attest")


@pytest.mark.parametrize("what", CHAINED)
def test_histories_that_were_made_anew_are_found(
    exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    owner, change, expected = CHAINED[what]
    assert codes(capsys, *forged(exported, owner, tmp_path, lambda records: None)) == set()
    (tmp_path / f"{owner}.jsonl").unlink()
    assert codes(capsys, *forged(exported, owner, tmp_path, change)) >= expected


@pytest.mark.parametrize(
    ("owner", "edits"),
    [
        ("cloud", 25),
        ("h1", 25),
        *(pytest.param(owner, 1000, marks=pytest.mark.long) for owner in ("cloud", "h1", "acts")),
    ],
)
def test_no_edit_of_a_file_goes_unnoticed_or_breaks_the_check(
    exported: Exported, owner: str, edits: int
) -> None:
    """Bytes changed, lines left out, doubled and swapped, files cut, at random."""
    honest, draw = exported.files[owner].read_bytes(), Random(f"{owner} {edits}")
    others = [check(name, path.read_bytes())[0] for name, path in exported.files.items() if name != owner]
    kept = [log for log in others if log is not None]
    assert compare([*kept, *(log for log in [check(owner, honest)[0]] if log is not None)]) == []
    for _ in range(edits):
        edited = _edited_at_random(honest, draw)
        log, findings = check(owner, edited)
        findings += compare([*kept, *([] if log is None else [log])])
        assert findings or edited.rstrip() == honest.rstrip()


def _edited_at_random(raw: bytes, draw: Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(5):
        case 0:
            place = draw.randrange(len(raw))
            return raw[:place] + bytes([raw[place] ^ 1 << draw.randrange(7)]) + raw[place + 1 :]
        case 1:
            del lines[at]
        case 2:
            lines.insert(other, lines[at])
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            return raw[: draw.randrange(len(raw))]
    return b"".join(lines)


def test_a_log_signed_by_somebody_else_is_found(
    exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = forged(exported, "h1", tmp_path, lambda records: None, signer="h2")
    assert codes(capsys, *paths) == {"bad_signature"}


def test_two_exports_of_one_log_must_fit(
    exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = forged(exported, "cloud", tmp_path, lambda records: _change(records, "time", 7, type="roster"))[0]
    assert "two_histories" in codes(capsys, exported.files["cloud"], other)
    begun = tmp_path / "begun"
    begun.mkdir()
    shorter = forged(exported, "cloud", begun, lambda records: records.__delitem__(slice(5, None)))[0]
    assert "two_histories" not in codes(capsys, exported.files["cloud"], shorter)


def test_another_root_and_a_wrong_fingerprint_are_told(
    exported: Exported, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = verify(capsys, exported.files["h1"], root_sha256="00" * 32)
    assert (code, [finding["code"] for finding in document["findings"]]) == (6, ["other_root"])
    assert run(["audit", "verify", str(exported.files["h1"]), "--root-sha256=abc"]) == 3
