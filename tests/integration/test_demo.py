"""`privet demo` as a newcomer and as other tools run it: real processes, real HTTP, and nothing left behind."""

from __future__ import annotations

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from shared.texts import text
from tests.support import reference_data

ROOT = Path(__file__).resolve().parents[2]
MARK = "RUN_OF_A_DEMO_TEST"
"""Not a `PRIVET_` name: the demo takes those out of its programs' surroundings."""
PATIENCE_SECONDS = 120
PLAIN_RULES = ("--min-node", "1", "--min-child", "1", "--max-depth", "none")
KEYS = [
    "mode",
    "profile",
    "key_bits",
    "key_mode",
    "hospitals",
    "rows",
    "rounds",
    "tree",
    "tree_sha256",
    "pooled_tree_sha256",
    "equal",
    "seconds",
    "bytes",
]
SECONDS = ["total", "count", "encrypt", "add", "decrypt", "choose", "transport"]


@dataclass(frozen=True)
class Run:
    """One finished demo."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """All of standard output as one JSON document."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True)
class Demo:
    """Runs demos in a temporary folder of their own and finds what they leave."""

    temporary: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "privet", "demo", "--key-bits", "2048", *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.temporary), MARK: str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Where the tests themselves run in the background, Ctrl-C would be ignored by inheritance.
            preexec_fn=listen_to_ctrl_c,
        )

    def run(self, *arguments: str) -> Run:
        with self.start("--json", *arguments) as process:
            out, err = communicate(process)
        return Run(process.returncode, out, err)

    def processes(self) -> list[psutil.Process]:
        """Every process that carries this test's mark in its surroundings, the demo's programs included."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == str(self.temporary):
                    found.append(process)
            except psutil.Error:
                continue
        return [process for process in found if is_alive(process)]


def listen_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def communicate(process: subprocess.Popen[str]) -> tuple[str, str]:
    """All that the demo says; one that takes too long is ended."""
    try:
        return process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        raise AssertionError(f"the demo hangs: {process.communicate()}") from None


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    demo = Demo(temporary)
    yield demo
    left = demo.processes()
    for process in left:
        process.kill()
    assert left == []
    assert list(temporary.iterdir()) == []


def check_document(document: dict[str, Any]) -> None:
    assert list(document) == KEYS
    assert document["equal"] is True
    assert document["tree_sha256"] == document["pooled_tree_sha256"]
    assert list(document["seconds"]) == SECONDS
    assert all(value > 0 for value in document["seconds"].values())
    sizes = document["bytes"]
    assert sizes["total"] == sum(size for kind, size in sizes.items() if kind != "total")


def write_csv(path: Path, header: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([*([header] if header else []), *rows])
    return path


def reference(
    name: str, criterion: reference_data.Criterion = "information-gain"
) -> reference_data.ReferenceCase:
    if not reference_data.is_available():
        pytest.skip(reference_data.SKIP_REASON)
    return reference_data.load(name, criterion)


def test_without_options_it_grows_the_published_tree_and_kept_files_answer_later(
    demo: Demo, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    run = demo.run("--keep", str(kept))
    assert run.code == 0, run.err
    document = run.document
    check_document(document)
    assert (document["hospitals"], document["rows"], document["rounds"]) == (3, 120, 3)
    lower = document["tree"]["branches"]["0"]
    assert document["tree"]["attribute"] == "lumbar pain"
    assert lower["attribute"] == "urine pushing"
    assert lower["branches"]["1"] == {"leaf": "inflammation of the bladder", "count": 40}
    assert document["bytes"]["contribution"] < 40_000
    words = ["--set", "lumbar pain=1", "--set", "urine pushing=0", "--set", "nausea=1", "--json"]
    answer = subprocess.run(
        [sys.executable, "-m", "privet", "agent", "predict", str(kept / "h2"), *words],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(answer.stdout)["predictions"][0]["class"] == "nephritis"


@pytest.mark.long
def test_for_a_person_it_draws_the_tree_and_says_what_was_learned(demo: Demo) -> None:
    with demo.start() as process:
        out, err = communicate(process)
    assert process.returncode == 0, err
    assert "same tree as on the pooled records: yes\n" in out
    assert "├─ 0: urine pushing?" in out
    for section in ("What each party learned", "Seconds", "Bytes", "How to go on"):
        assert section in out
    assert "round 1: 1 open node" in err
    assert str(demo.temporary) not in out


@pytest.mark.long
def test_a_file_with_header_and_dropped_column(demo: Demo, tmp_path: Path) -> None:
    case = reference("zoo")
    numbered = [(f"animal {number}", *row) for number, row in enumerate(case.rows)]
    path = write_csv(tmp_path / "zoo.csv", ["name", *case.attribute_names, "type"], numbered)
    run = demo.run("--data", str(path), "--class", "type", "--drop", "name", "--hospitals", "5", *PLAIN_RULES)
    assert run.code == 0, run.err
    check_document(run.document)
    assert run.document["hospitals"] == 5
    assert reference_data.differences(run.document["tree"], case.expected) == []


@pytest.mark.long
def test_several_files_without_header_sorted_by_class(demo: Demo, tmp_path: Path) -> None:
    case = reference("lymphography")
    rows = sorted(case.rows, key=lambda row: row[-1])
    parts = (rows[:60], rows[60:100], rows[100:])
    paths = [write_csv(tmp_path / f"part{k}.csv", None, part) for k, part in enumerate(parts)]
    data = [word for path in paths for word in ("--data", str(path))]
    position = str(len(rows[0]))
    run = demo.run(*data, "--no-header", "--class", position, *PLAIN_RULES)
    assert run.code == 0, run.err
    check_document(run.document)
    assert run.document["rows"] == 148
    names = {f"column {k}": name for k, name in enumerate(case.attribute_names, start=1)}
    assert reference_data.differences(renamed(run.document["tree"], names), case.expected) == []


def renamed(tree: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The same tree with other names for its attributes."""
    if "attribute" not in tree:
        return tree
    branches = {value: renamed(kid, names) for value, kid in tree["branches"].items()}
    return {"attribute": names[tree["attribute"]], "branches": branches}


@pytest.mark.long
def test_the_paper_profile_gives_the_same_tree(demo: Demo) -> None:
    run = demo.run("--profile", "paper", "--max-depth", "1")
    assert run.code == 0, run.err
    check_document(run.document)
    assert run.document["profile"] == "paper"
    assert run.document["bytes"]["contribution"] > 50_000


@pytest.mark.long
def test_numeric_columns_are_cut_at_public_points_and_chosen_by_gain_ratio(
    demo: Demo, tmp_path: Path
) -> None:
    rows = [(f"{36 + n / 10}", "yes" if n >= 20 else "no") for n in range(40)]
    path = write_csv(tmp_path / "fever.csv", ["temperature", "fever"], rows)
    run = demo.run("--data", str(path), "--cut", "temperature=37,37.9", "--criterion", "gain-ratio")
    assert run.code == 0, run.err
    check_document(run.document)
    assert run.document["tree"]["branches"] == {
        "<= 37": {"leaf": "no", "count": 11},
        "> 37 to 37.9": {"leaf": "no", "count": 9},
        "> 37.9": {"leaf": "yes", "count": 20},
    }


@pytest.mark.parametrize(
    ("content", "arguments", "code", "complaint"),
    [
        (None, [], 3, "no such file"),
        ("a,b\n1,x\n", ["--class", "c"], 3, "there is no column 'c'"),
        ("a,b\n1,x\n2,y,z\n3,x\n", [], 3, "data.csv, line 3"),
        ("a,b\n1,x\n2,y\n3,x\n", ["--mode", "id3", "--profile", "paper"], 3, "not an option of the mode id3"),
        ("a,b\n1,x\n2,y\n3,x\n", ["--hospitals", "2"], 3, "at least 3 hospitals"),
        ("a,b\n1,x\n2,y\n3,x\n", ["--criterion", "gini"], 2, "gini"),
    ],
)
def test_wrong_input_is_refused_with_its_place(
    demo: Demo, tmp_path: Path, content: str | None, arguments: list[str], code: int, complaint: str
) -> None:
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_text(content)
    run = demo.run("--data", str(path), *arguments)
    assert run.code == code
    assert run.document["exit_code"] == code
    assert complaint in run.document["detail"]


def test_a_folder_that_is_in_use_is_not_kept_in(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    run = demo.run("--keep", str(tmp_path))
    assert run.code == 3
    assert (tmp_path / "note.txt").read_text() == "mine"
    run = demo.run("--keep", str(tmp_path / "note.txt" / "below"))
    assert run.code == 3
    assert "Name a folder that you may write to." in run.document["remedy"]


def test_refused_records_leave_the_folder_to_keep_empty(demo: Demo, tmp_path: Path) -> None:
    run = demo.run("--keep", str(tmp_path / "kept"), "--data", str(tmp_path / "none.csv"))
    assert run.code == 3
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_in_the_middle_leaves_nothing(demo: Demo, number: signal.Signals) -> None:
    with demo.start() as process:
        wait_for_programs(demo, process)
        process.send_signal(number)
        communicate(process)
    assert process.returncode == (130 if number == signal.SIGINT else 143)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word about a dead parent is Linux'")
def test_a_killed_demo_takes_its_programs_along(tmp_path: Path) -> None:
    demo = Demo(tmp_path)
    with demo.start() as process:
        wait_for_programs(demo, process)
        process.kill()
        communicate(process)
    deadline = time.monotonic() + 30
    while demo.processes():
        assert time.monotonic() < deadline, "programs outlive the demo"
        time.sleep(0.1)


@pytest.mark.long
def test_it_stays_until_ctrl_c_where_it_was_asked_to(demo: Demo) -> None:
    with demo.start("--json", "--stay") as process:
        assert process.stderr is not None
        told = list(
            itertools.takewhile(lambda line: "until Ctrl-C" not in line or "privet" in line, process.stderr)
        )
        docs = next(line.split()[-1] for line in told if "cloud API" in line)
        assert httpx.get(docs, trust_env=False).status_code == httpx.codes.OK
        pages = [line.split() for line in told if line.strip().startswith(("dashboard", "hospital h"))]
        assert len(pages) == 4
        for words in pages:
            url = next(word for word in words if word.startswith("http"))
            page = httpx.get(url, headers={"Accept": "text/html"}, follow_redirects=True, trust_env=False)
            assert page.status_code == httpx.codes.OK
            assert "text/html" in page.headers["content-type"]
        studies = httpx.get(f"{url}house/studies", headers={"Accept": "text/html"}, trust_env=False)
        assert text("house.answer.approved") in studies.text
        process.send_signal(signal.SIGINT)
        out, err = communicate(process)
    assert process.returncode == 0, err
    check_document(json.loads(out))


def wait_for_programs(demo: Demo, process: subprocess.Popen[str]) -> None:
    """Until the cloud serves and at least one agent runs, so that the interruption comes in the middle."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        lines = [words_of(each) for each in demo.processes()]
        if any("serve" in words for words in lines) and any("run" in words for words in lines):
            return
        assert process.poll() is None, "the demo ended before its programs ran"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize(
    ("mode", "options", "profile", "rows"),
    [
        pytest.param("id3", ["--hospitals", "4"], "secret-id3", 120, marks=pytest.mark.long),
        ("gain-ratio", ["--direct", "--max-depth", "3"], "secret-gainratio", 569),
    ],
)
def test_the_secret_modes_grow_the_pooled_tree_too(
    demo: Demo, mode: str, options: list[str], profile: str, rows: int
) -> None:
    run = demo.run("--mode", mode, *options)
    assert run.code == 0, run.err
    document = run.document
    assert [key for key in document if key in KEYS] == KEYS
    assert (document["mode"], document["profile"], document["rows"]) == (mode, profile, rows)
    assert document["equal"]
    assert document["tree_sha256"] == document["pooled_tree_sha256"]
    assert list(document["compute_parties"]) == ["h1", "h2", "h3"]
    assert min(document["compute_parties"].values()) > 0
    assert ("leaf_class" in document["opened"]) == (mode == "id3")
    assert set(document["seconds"]) == {"total", "freeze", "compute", "wait", "transport"}
    assert document["bytes"]["frames"] > 0
    assert "count" not in json.dumps(document["tree"])
    assert "h1, h2, h3 compute on shares" in run.err


@pytest.mark.long
def test_a_demo_with_noise_ends_well_with_one_tree_at_all_hospitals(demo: Demo) -> None:
    outcome = demo.run("--noise-sigma", "20")
    assert outcome.code == 0, outcome.err
    document = outcome.document
    assert document["agreed"] is True
    assert document["noise"]["records"] == document["rows"] == 120
    assert float(document["noise"]["epsilon_at_most"]) < 2
