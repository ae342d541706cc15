"""`/v1` of the local API: names and trials, CSV, cards, drift, the log; nothing of a patient stays anywhere."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hospital_agent.local_api import Desk, Library, Rates, create_app, serving
from hospital_agent.local_api.bodies import LARGE_AT_ONCE
from hospital_agent.models import Shelf
from hospital_agent.models.counters import Counters, read_counters
from hospital_agent.models.names import Change, Names
from hospital_agent.models.predictions_log import PredictionsLog, read_log
from hospital_agent.settings import LocalSection
from shared.errors import InputError
from shared.tree.model import Leaf, Tree
from shared.wire.predicting import EXAMPLE_ANSWER, PredictionAnswer
from tests.support.models import model_of, parties

MEMBERS = parties()
OLD = model_of(MEMBERS)
NEW = replace(
    model_of(MEMBERS, job="cd" * 16, saved=2),
    tree=Tree(Leaf(OLD.schema.class_code("nephritis"), (1, 9, 0, 0))),
)
ILL = {"urine pushing": 0, "lumbar pain": 1, "nausea": 1}
WELL = {"urine pushing": 0, "lumbar pain": 0, "nausea": 0}
MARKER = "Mustermann-4711"
JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


@dataclass
class House:
    """A hospital's desk over two models, and a clock that a test may turn."""

    folder: Path
    now: float = 1000.0
    names: Names = field(init=False)
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        shelf = Shelf(self.folder / "models", MEMBERS.identities["h1"].public, MEMBERS.root)
        for model in (OLD, NEW):
            shelf.put(model, MEMBERS.identities["h1"])
        self.names = Names(self.folder, self.clock)
        self.desk = self.new_desk(shelf)

    def clock(self) -> float:
        return self.now

    def new_desk(self, shelf: Shelf | None = None) -> Desk:
        found = self.desk.library.shelf if shelf is None else shelf
        return Desk(
            Library(found),
            Names(self.folder, self.clock),
            Counters(self.folder, self.clock),
            PredictionsLog(self.folder, self.clock),
            dict,
            self.clock,
        )

    def point(self, name: str, candidate: str | None = None, share: str = "0", model: str = OLD.id) -> None:
        sha256 = (OLD if model == OLD.id else NEW).tree.sha256
        self.names.change(name, Change(int(self.now), "nurse", "pinned", model, sha256, candidate, share))


@pytest.fixture
def house(tmp_path: Path) -> House:
    tmp_path.chmod(0o700)
    return House(tmp_path)


@pytest.fixture
def local(house: House) -> Iterator[TestClient]:
    app = create_app(house.desk.library, dict, None, desk=house.desk)
    with TestClient(app, base_url="http://127.0.0.1:8711") as client:
        yield client


def test_an_answer_says_everything_that_a_reader_needs(local: TestClient) -> None:
    told = local.post(f"/v1/models/{OLD.id}/predict", json={"record": ILL})
    answer = PredictionAnswer.model_validate(told.json())
    assert (answer.model, answer.tree_sha256, answer.role) == (OLD.id, OLD.tree.sha256, "only")
    assert "research" in answer.notice
    assert answer.intended_use.startswith("No intended use")
    (found,) = answer.predictions
    assert found.explanation.startswith(f"{found.label}, because {found.path}.")
    assert found.interval_95 is not None
    assert told.headers["x-model"] == OLD.id
    assert told.headers["cache-control"] == "no-store"
    assert local.get(answer.card).status_code == 200
    PredictionAnswer.model_validate(EXAMPLE_ANSWER)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_goes_in_and_out_as_files_are_read(local: TestClient, encoding: str, delimiter: str) -> None:
    lines = [delimiter.join(ILL), *[delimiter.join(map(str, record.values())) for record in (ILL, WELL)]]
    body = "\n".join(lines).encode(encoding)
    plain = local.post(f"/v1/models/{OLD.id}/predict", json={"records": [ILL, WELL]}).json()
    found = local.post(f"/v1/models/{OLD.id}/predict", content=body, headers=CSV)
    assert found.json()["predictions"] == plain["predictions"]
    asked = CSV | {"accept": "text/csv"}
    table = local.post(f"/v1/models/{OLD.id}/predict", content=body, headers=asked)
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["class"] for row in rows] == [p["class"] for p in plain["predictions"]]
    assert {row["tree_sha256"] for row in rows} == {OLD.tree.sha256}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "an empty body"),
        ("lumbar pain,nausea\n", "no records after the header"),
        ("lumbar pain,lumbar pain\n1,1\n", "column 'lumbar pain'"),
        ("lumbar pain,fever\n1,1\n", "column 'fever'"),
        ("lumbar pain,nausea\n1,1\n1\n", "record 2"),
        (f"lumbar pain,nausea\n1,1\n1,1,{MARKER}\n", "record 2"),
        ("lumbar pain,\n1,1\n", "column 2"),
        (",".join(map(str, range(200_000))) + "\n", "more than 10000 columns"),
    ],
)
def test_a_wrong_csv_is_told_by_line_and_column(local: TestClient, body: str, told: str) -> None:
    answer = local.post(f"/v1/models/{OLD.id}/predict", content=body.encode(), headers=CSV)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert MARKER not in answer.text


@pytest.mark.parametrize("charset", ["zlib", "punycode", "idna", "nothing", "utf-16"])
def test_a_charset_that_does_not_fit_is_told(local: TestClient, charset: str) -> None:
    headers = {"content-type": f"text/csv; charset={charset}"}
    answer = local.post(f"/v1/models/{OLD.id}/predict", content=b"nausea,fever\n1,1\n\xff", headers=headers)
    assert answer.status_code == 422


def test_columns_that_the_study_does_not_use_are_named(local: TestClient) -> None:
    names = [attribute.name for attribute in OLD.schema.attributes]
    body = ",".join([*names, "ward"]) + "\n" + ",".join(["1"] * (len(names) + 1)) + "\n"
    found = local.post(f"/v1/models/{OLD.id}/predict", content=body.encode(), headers=CSV).json()
    assert found["ignored_columns"] == ["ward"]


def test_a_name_answers_by_its_pinned_model_though_newer_ones_come(local: TestClient, house: House) -> None:
    asked = {"record": WELL}
    study = f"study:{OLD.manifest.study}"
    assert local.post(f"/v1/models/{study}/predict", json=asked).json()["model"] == NEW.id
    house.point(study)
    found = local.post(f"/v1/models/{study}/predict", json=asked).json()
    assert (found["model"], found["name"], found["role"]) == (OLD.id, study, "champion")
    assert [m["names"] for m in local.get("/v1/models").json()["models"]][1] == []
    assert local.get("/v1/names").json()["names"][0]["model"] == OLD.id
    assert local.get(f"/v1/names/{study}/history").json()["changes"][0]["by"] == "nurse"


def test_a_trial_answers_its_share_always_alike_and_compares_all(local: TestClient, house: House) -> None:
    house.point("ward-3", NEW.id, "1/4")
    keys = [f"request-{number}" for number in range(80)]

    def roles() -> list[str]:
        path = "/v1/models/ward-3/predict"
        found = [local.post(path, json={"record": WELL}, headers={"x-request-id": key}) for key in keys]
        assert all((r.json()["role"] == "candidate") == (r.json()["model"] == NEW.id) for r in found)
        return [answer.headers["x-model-role"] for answer in found]

    first = roles()
    assert 8 <= first.count("candidate") <= 35
    assert roles() == first
    trial = local.get("/v1/names").json()["names"][0]["trial"]
    assert (trial["records"], trial["differ"]) == (160, 160)
    assert trial["answers"][0]["candidate"] == "nephritis"
    by_record = {
        local.post("/v1/models/ward-3/predict", json={"record": WELL}).json()["model"] for _ in range(5)
    }
    assert len(by_record) == 1
    house.point("ward-3")
    assert "candidate" not in roles()


def test_no_single_answer_is_read_off_a_trial(local: TestClient, house: House) -> None:
    house.point("ward-4", NEW.id, "1/4")
    told = []
    for _ in range(41):
        local.post("/v1/models/ward-4/predict", json={"record": WELL})
        told.append(local.get("/v1/names").json()["names"][0]["trial"]["records"])
    assert told == [0] * 19 + [20] * 20 + [40] * 2


def test_a_candidate_that_cannot_answer_leaves_it_to_the_champion(local: TestClient, house: House) -> None:
    house.point("ward-3", NEW.id, "999/1000")
    house.desk.library.shelf.remove(NEW.id)
    for number in range(5):
        found = local.post(
            "/v1/models/ward-3/predict", json={"record": WELL}, headers={"x-request-id": str(number)}
        )
        assert (found.status_code, found.json()["role"]) == (200, "champion")


def test_a_candidate_with_another_tree_than_at_the_beginning_answers_nobody(
    local: TestClient, house: House
) -> None:
    for sha256, roles in ((NEW.tree.sha256, {"champion", "candidate"}), ("0" * 64, {"champion"})):
        trial = Change(
            int(house.now), "nurse", "trial", OLD.id, OLD.tree.sha256, NEW.id, "9/10", candidate_sha256=sha256
        )
        house.names.change("ward", trial)
        asked = [
            local.post(
                "/v1/models/ward/predict", json={"record": ILL}, headers={"x-request-id": f"request-{n}"}
            )
            for n in range(40)
        ]
        assert {answer.json()["role"] for answer in asked} == roles


def test_a_pinned_model_that_is_gone_or_changed_is_not_replaced_in_silence(
    local: TestClient, house: House
) -> None:
    house.point("ward-3", model=NEW.id)
    house.desk.library.shelf.put(replace(NEW, tree=Tree(Leaf(0, (1, 0, 0, 0)))), MEMBERS.identities["h1"])
    changed = local.post("/v1/models/ward-3/predict", json={"record": WELL})
    assert (changed.status_code, "another hash" in changed.json()["detail"]) == (422, True)
    house.desk.library.shelf.remove(NEW.id)
    gone = local.post("/v1/models/ward-3/predict", json={"record": WELL})
    assert (gone.status_code, "rollback" in gone.json()["remedy"]) == (422, True)


@pytest.mark.parametrize("name", ["latest", "abc", "0123", "Ward", "a" * 65, "study:", "../x", ""])
def test_a_name_can_be_told_from_an_id(house: House, name: str) -> None:
    with pytest.raises(InputError, match="no name of a model"):
        house.point(name)


def test_drift_is_counted_against_the_training_and_survives_a_restart(
    local: TestClient, house: House
) -> None:
    path = f"/v1/models/{OLD.id}"
    for _ in range(3):
        local.post(f"{path}/predict", json={"records": [ILL] * 100})
    drift = local.get(f"{path}/drift").json()
    assert (drift["records"], drift["state"]) == (300, "shifted")
    states = {gauge["name"]: gauge for gauge in drift["attributes"]}
    root = OLD.schema.attributes[OLD.tree.root.attribute].name
    assert states[root]["baseline"] == "training"
    other = next(gauge for name, gauge in states.items() if name != root)
    assert other["state"] == "gathering a baseline"
    house.desk.close()
    kept = house.new_desk().drift(OLD.id)
    assert {key: drift[key] for key in kept} == kept
    house.now += 60
    house.names.count_since(OLD.id, int(house.now))
    assert local.get(f"{path}/drift").json()["records"] == 0


def test_drift_is_quiet_about_the_training_distribution_itself(house: House) -> None:
    from tests.support.clinic import ROWS

    names = [attribute.name for attribute in OLD.schema.attributes]
    records = [
        {name: OLD.schema.attributes[i].values[row[i]] for i, name in enumerate(names)} for row in ROWS
    ]
    house.desk.ask(OLD.id, records * 3, caller="test")
    drift = house.desk.drift(OLD.id)
    told = {gauge["name"]: gauge["state"] for gauge in [drift["classes"], *drift["attributes"]]}
    assert "shifted" not in told.values()
    assert told[OLD.schema.class_name] == "stable"


def test_small_cells_are_not_told(local: TestClient) -> None:
    local.post(f"/v1/models/{OLD.id}/predict", json={"records": [ILL] * 4 + [WELL] * 96})
    drift = local.get(f"/v1/models/{OLD.id}/drift").json()
    found = {cell["records"] for gauge in drift["attributes"] for cell in gauge["cells"]}
    assert None in found
    assert not found & {0, 1, 2, 3, 4}
    for gauge in drift["attributes"]:
        assert sum(cell["records"] is None for cell in gauge["cells"]) != 1, gauge


def test_no_single_patient_is_read_off_the_counters(local: TestClient, house: House) -> None:
    def looked() -> list[list[int | None]]:
        drift = local.get(f"/v1/models/{OLD.id}/drift").json()
        gauges = [drift["classes"], *drift["attributes"]]
        return [[gauge["psi"], *(cell["records"] for cell in gauge["cells"])] for gauge in gauges]

    def asked(record: dict[str, int]) -> None:
        local.post(f"/v1/models/{OLD.id}/predict", json={"record": record})

    asked(ILL)
    assert {count for counts in looked() for count in counts} == {None}
    for _ in range(29):
        asked(WELL)
    before = looked()
    assert {20, 19} & {count for counts in before for count in counts}
    for _ in range(9):
        asked(ILL)
        assert looked() == before
    killed = house.new_desk().drift(OLD.id)
    gauges = [killed["classes"], *killed["attributes"]]
    assert [[gauge["psi"], *(cell["records"] for cell in gauge["cells"])] for gauge in gauges] == before
    asked(WELL)
    assert looked() != before
    house.now += 60
    house.names.count_since(OLD.id, int(house.now))
    asked(ILL)
    assert {count for counts in looked() for count in counts} == {None}


def test_the_card_tells_its_limits_as_json_and_as_a_page(local: TestClient, house: House) -> None:
    house.names.describe(OLD.id, "Second opinion on <adults> | only.")
    card = local.get(f"/v1/models/{OLD.id}/card").json()
    assert card["hospitals"] == ["h1", "h2", "h3"]
    assert card["rules"]["criterion"] == OLD.manifest.criterion
    assert card["intended_use"].startswith("Second opinion")
    page = local.get(f"/v1/models/{OLD.id}/card", headers={"accept": "text/markdown"})
    assert page.headers["content-type"].startswith("text/markdown")
    assert "&lt;adults>" in page.text
    assert "not certified" in page.text
    answer = local.post(f"/v1/models/{OLD.id}/predict", json={"record": ILL}).json()
    assert answer["intended_use"] == "Second opinion on <adults> | only."


def test_a_study_that_was_withdrawn_is_cautioned_about(house: House) -> None:
    desk = house.new_desk()
    desk.states = lambda: {OLD.manifest.study: "withdrawn"}
    found = desk.ask(OLD.id, [ILL], caller="test").document()
    assert "withdrawn its approval" in found["caution"]
    assert found["predictions"][0]["class"]


def test_the_log_says_who_and_how_many_and_rotates(local: TestClient, house: House) -> None:
    local.post(f"/v1/models/{OLD.id}/predict", json={"records": [ILL, WELL]})
    (entry,) = read_log(house.folder, 10)
    assert entry == {
        "time": 1000.0, "caller": "this machine", "model": OLD.id, "tree_sha256": OLD.tree.sha256,
        "role": "only", "records": 2,
    }  # fmt: skip
    log = PredictionsLog(house.folder, house.clock, file_bytes=2000)
    for number in range(60):
        log.note("ward", OLD.id, None, "only", number)
    log.close()
    files = sorted((house.folder / "serving").glob("predictions.jsonl*"))
    assert 2 <= len(files) <= 8
    assert all(file.stat().st_size <= 2000 and file.stat().st_mode & 0o077 == 0 for file in files)
    assert [entry["records"] for entry in read_log(house.folder, 5)] == [55, 56, 57, 58, 59]


def test_a_full_disk_loses_counts_but_answers_nothing_unnoted(
    local: TestClient, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked = f"/v1/models/{OLD.id}/predict", {"record": ILL}
    house.desk.log = PredictionsLog(house.folder, house.clock, file_bytes=200)
    descriptors = set(os.listdir("/proc/self/fd"))
    house.now = 2000.0
    with monkeypatch.context() as full:
        full.setattr(os, "open", _full)
        refused = [local.post(path, json=asked) for _ in range(3)]
    assert {answer.status_code for answer in refused} == {503}
    assert "No space left" in refused[0].json()["detail"]
    house.now = 3000.0
    assert [local.post(path, json=asked).status_code for _ in range(3)] == [200] * 3
    assert len(read_log(house.folder, 10)) == 3
    house.desk.close()
    assert read_counters(house.folder)["models"][OLD.id]["records"] == 6
    assert set(os.listdir("/proc/self/fd")) == descriptors


def _full(*_arguments: object, **_named: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("wait", ["-1", "61", "9" * 5000, "\u0663", "1.5"])
def test_a_wait_that_is_none_is_refused(local: TestClient, wait: str) -> None:
    answer = local.post(f"/v1/models/{OLD.id}/predict", params={"wait": wait}, json={"record": ILL})
    assert answer.status_code in (200, 400)  # nobody waits for a tree that is here
    assert local.get(f"/v1/predictions/{'0' * 32}", params={"wait": wait}).status_code == 400


def test_nothing_of_a_patient_stays_in_files_or_errors(local: TestClient, house: House) -> None:
    path = f"/v1/models/{OLD.id}/predict"
    bodies = [
        {"record": {**ILL, "nausea": MARKER}},
        {"record": {**ILL, "nausea": [MARKER]}},
        {"record": {"records": [MARKER]}, "x": MARKER},
        {"records": [ILL, {"nausea": {"a": MARKER}}]},
    ]
    answers = [local.post(path, json=body) for body in bodies]
    answers.append(local.post(path, content=f'{{"record": "{MARKER}'.encode(), headers=JSON))
    answers.append(local.post(path, content=f"nausea,lumbar pain\n{MARKER},1\n".encode(), headers=CSV))
    house.desk.close()
    assert all(MARKER not in answer.text for answer in answers)
    assert [answer.status_code for answer in answers] == [200, 422, 422, 422, 422, 200]
    files = [file for file in house.folder.rglob("*") if file.is_file()]
    assert (house.folder / "serving" / "counters.json") in files
    assert all(MARKER.encode() not in file.read_bytes() for file in files)


def test_the_counters_hold_no_more_than_numbers(house: House) -> None:
    house.desk.ask(OLD.id, [ILL, WELL], caller="test")
    house.desk.close()
    kept = read_counters(house.folder)["models"][OLD.id]
    assert kept["records"] == 2
    assert all(isinstance(count, int) for gauge in kept["gauges"].values() for count in gauge["counts"])
    (house.folder / "serving" / "counters.json").write_text("{")
    house.new_desk().ask(OLD.id, [ILL], caller="test")


def test_a_caller_that_asks_too_often_is_told_when_to_come_again(house: House) -> None:
    house.desk.rates = Rates(2.0, house.clock)
    app = create_app(house.desk.library, dict, None, desk=house.desk)
    with TestClient(app, base_url="http://127.0.0.1:8711") as client:
        found = [client.post("/predict", json={"record": ILL}) for _ in range(5)]
        assert [answer.status_code for answer in found] == [200] * 4 + [429]
        assert found[-1].headers["retry-after"] == "1"
        house.now += 1
        assert client.post("/predict", json={"record": ILL}).status_code == 200


@pytest.mark.parametrize("body", [b'{"record":{},"model":"\\ud800"}', b'{"record":{"\\ud800":1}}'])
def test_half_a_character_is_refused_in_words(local: TestClient, body: bytes) -> None:
    assert local.post("/predict", content=body, headers=JSON).status_code == 422


@pytest.mark.parametrize(
    "body",
    [b'{"record": {"nausea": 0, "nausea": 1}}', b'{"record": {"nausea": 0}, "record": {"nausea": 1}}'],
)
def test_a_patient_of_two_values_is_refused(local: TestClient, body: bytes) -> None:
    told = local.post(f"/v1/models/{OLD.id}/predict", content=body, headers=JSON)
    assert told.status_code == 400
    assert "a name stands twice" in told.json()["detail"]
    assert "nausea" not in told.text


def test_two_models_in_one_request_are_refused(local: TestClient) -> None:
    found = local.post(f"/v1/models/{OLD.id}/predict", json={"record": ILL, "model": NEW.id})
    assert (found.status_code, found.json()["code"]) == (400, "two_models")


def test_many_records_are_answered_in_order(local: TestClient) -> None:
    records = [ILL, WELL] * 2000
    found = local.post(f"/v1/models/{OLD.id}/predict", content=json.dumps({"records": records}), headers=JSON)
    classes = [prediction["class"] for prediction in found.json()["predictions"]]
    assert classes == classes[:2] * 2000
    too_many = local.post(f"/v1/models/{OLD.id}/predict", json={"records": [{}] * 10_001})
    assert too_many.status_code == 422


def _sent(url: str, *parts: bytes) -> bytes:
    """What a server says to bytes that come so, until it closes."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as caller:
        for part in parts:
            caller.sendall(part)
            time.sleep(0.05)
        found = b""
        while chunk := caller.recv(65536):
            found += chunk
    return found


def test_callers_that_dawdle_are_let_go(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limit in (("serving", "HEAD_SECONDS"), ("guards", "BODY_SECONDS")):
        monkeypatch.setattr(import_module(f"hospital_agent.local_api.{module}"), limit, 0.3)
    head = b"POST /v1/models/latest/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    app = create_app(house.desk.library, dict, None, desk=house.desk)
    with serving(app, LocalSection(port=0)) as url:
        began = time.monotonic()
        assert _sent(url) == b""
        assert _sent(url, head[:20]) == b""
        assert _sent(url, whole, whole[:10]).count(b"200 OK") == 1
        body = _sent(url, head + b"Connection: close\r\nContent-Length: 100\r\n\r\n", b"{")
        assert b"408" in body.split(b"\r\n", 1)[0]
        assert time.monotonic() - began < 5


def test_large_bodies_are_taken_few_at_a_time(house: House) -> None:
    head = (
        b"POST /v1/models/latest/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\nContent-Length: "
    )
    large, small = b"%d\r\n\r\n" % (2**20 + 1), b"2\r\n\r\n{}"
    app = create_app(house.desk.library, dict, None, desk=house.desk)
    with serving(app, LocalSection(port=0)) as url:
        port = int(url.rsplit(":", 1)[1])
        with ExitStack() as callers:
            for _ in range(LARGE_AT_ONCE):
                caller = callers.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
                caller.sendall(head + large + b"{")
            time.sleep(0.2)
            refused = _sent(url, head + large)
            assert refused.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 2" in refused
            assert _sent(url, head + small).startswith(b"HTTP/1.1 422")
        time.sleep(0.2)
        assert _sent(url, head + large + b" " * (2**20 + 1)).startswith(b"HTTP/1.1 422")
