"""From three hospitals' differing files over one data contract to the tree of the pooled records, by the commands."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus, Journal, studies
from privet.__main__ import run
from privet.client import Client
from shared.contract.files import contract_of
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation
from tests.support.reference_data import DATA, SKIP_REASON

HOSPITALS = ("h1", "h2", "h3")
LOOSE = GrowthRules(min_node=1, min_child=1, max_depth=None)
HEART = DATA / "heart-disease"
HEART_NAMES = "age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak,slope,ca,thal,num"
HEART_CUTS = {"age": ["50", "60"], "trestbps": ["120", "140"], "chol": ["200", "250"]}
HEART_CUTS |= {"thalach": ["130", "150"], "oldpeak": ["0.5", "1.5"]}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("contracted"), HOSPITALS) as running:
        yield running


def data(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """A command of `privet data` with `--json`; its document."""
    capsys.readouterr()
    assert run(["data", *map(str, words), "--json"]) == code, capsys.readouterr().out
    return json.loads(capsys.readouterr().out)


def grown(schema: Schema, rows: Sequence[Sequence[int]]) -> str:
    """The fingerprint of the pooled tree."""
    codes = [tuple(row) for row in rows]
    return grow(schema, LOOSE, lambda queries: count_rows(codes, queries, schema)).tree.sha256


def run_job(federation: LocalFederation, contract: Path, files: dict[str, Path], name: str) -> set[str]:
    """A job of a study with this contract; the fingerprints of its trees."""
    from shared.contract.schema import schema_of_contract

    document = json.loads(contract.read_text())
    schema = schema_of_contract(contract_of(document, "contract"))
    for hospital, path in files.items():
        federation.hospitals[hospital].configure(path)
    study = federation.cloud.study(schema.to_json(), name=name, contract=document)
    rules = {"invited": list(files), "min_node": 1, "min_child": 1, "max_depth": None}
    job = federation.cloud.job(study, **rules)
    entries = federation.wait(job, list(files))
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, [
        entry.reason for entry in entries.values()
    ]
    return {federation.hospitals[hospital].model(job).shown_tree.sha256 for hospital in files}


def test_one_contract_over_files_of_three_spellings(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Codes: fever (<= 38, > 38, missing), sex (f, m), stage (1, 2, 3); class (no, yes)."""
    rows = [(n // 3 % 3, n // 9 % 2, n // 4 % 3, int(n // 3 % 3 == 1 or n // 4 % 5 == 0)) for n in range(180)]
    dealt = {name: rows[index::3] for index, name in enumerate(HOSPITALS)}
    files = {
        "h1": written(tmp_path / "h1.csv", dealt["h1"], "fever,sex,stage,ill", ",", ("37.5", "39.1", "?"), ("f", "m"), "{}.0", ("no", "yes")),  # noqa: E501
        "h2": written(tmp_path / "h2.csv", dealt["h2"], "Temperatur;sex;stage;ill", ";", ("36,9", "38,2", ""), ("F", "M"), "{}", ("No", "Yes")),  # noqa: E501
        "h3": written(tmp_path / "h3.tsv", dealt["h3"], "stage\tsex\till\tfever", "\t", ("38", "40", "-9"), ("female", "male"), "{}", ("0", "1"), (2, 1, 3, 0)),  # noqa: E501
    }  # fmt: skip
    common = (
        "--class",
        "ill",
        "--name",
        "fever",
        "--missing",
        "?",
        "--missing",
        "-9",
        "--missing-policy",
        "category",
    )
    folded = ("--spelling", "sex=folded", "--spelling", "ill=folded")
    own = {
        "h1": (*common, *folded, "--cuts", "fever=38"),
        "h2": (*common, *folded, "--cuts", "Temperatur=38", "--names", "fever,sex,stage,ill"),
        "h3": (*common, *folded, "--cuts", "fever=38", "--recode", "sex:female=f", "--recode", "sex:male=m", "--recode", "ill:0=no", "--recode", "ill:1=yes"),  # noqa: E501
    }  # fmt: skip
    drafts = []
    for name, path in files.items():
        drafts.append(tmp_path / f"{name}.json")
        data(capsys, "draft", path, *own[name], "-o", drafts[-1])
    contract = tmp_path / "contract.json"
    data(capsys, "merge", *drafts, "-o", contract)
    other_way = tmp_path / "other-way.json"
    data(capsys, "merge", *reversed(drafts), "-o", other_way)
    assert other_way.read_bytes() == contract.read_bytes()
    for path in files.values():
        assert data(capsys, "check", contract, path)["fits"]
    unfit = data(capsys, "check", drafts[0], files["h3"], code=1)
    assert [(fault["column"], fault["rule"]) for fault in unfit["faults"]] == [
        ("sex", "unknown-value"),
        ("ill", "unknown-value"),
    ]
    schema = Schema.from_json(schema_of(contract))
    assert [attribute.values for attribute in schema.attributes] == [
        ("<= 38", "> 38", "missing"),
        ("F", "M", "missing"),
        ("1", "2", "3", "missing"),
    ]
    assert run_job(federation, contract, files, "fever") == {grown(schema, rows)}


def written(
    path: Path,
    rows: Sequence[Sequence[int]],
    header: str,
    mark: str,
    fever: Sequence[str],
    sex: Sequence[str],
    stage: str,
    ill: Sequence[str],
    order: Sequence[int] = (0, 1, 2, 3),
) -> Path:
    """A hospital's file: its own words for each code, its own order of columns."""
    lines = [header]
    for row in rows:
        fields = (fever[row[0]], sex[row[1]], stage.format(row[2] + 1), ill[row[3]])
        lines.append(mark.join(fields[place] for place in order))
    path.write_text("\n".join(lines) + "\n")
    return path


def schema_of(contract: Path) -> dict[str, Any]:
    from shared.contract.files import contract_of
    from shared.contract.schema import schema_of_contract

    return schema_of_contract(contract_of(json.loads(contract.read_text()), "contract")).to_json()


@pytest.mark.long
@pytest.mark.skipif(not HEART.is_dir(), reason=SKIP_REASON)
def test_the_heart_files_of_two_hospitals(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cleveland writes 1.0 and Hungary 1; Cleveland's file is dealt to two hospitals."""
    cleveland = (HEART / "processed.cleveland.data").read_text().splitlines(keepends=True)
    files = {name: tmp_path / f"{name}.data" for name in HOSPITALS}
    files["h1"].write_text("".join(cleveland[::2]))
    files["h2"].write_text("".join(cleveland[1::2]))
    files["h3"].write_bytes((HEART / "processed.hungarian.data").read_bytes())
    words = [
        "--class",
        "14",
        "--name",
        "heart",
        "--names",
        HEART_NAMES,
        "--missing",
        "?",
        "--values",
        "7=0,1,2",
    ]
    names = HEART_NAMES.split(",")
    for name, cuts in HEART_CUTS.items():
        words += ["--cuts", f"{names.index(name) + 1}={','.join(cuts)}"]
    for grade in "01234":
        words += ["--recode", f"14:{grade}={'no' if grade == '0' else 'disease'}"]
    words += ["--missing-policy", "category"]
    drafts = [tmp_path / f"{name}.json" for name in HOSPITALS]
    for name, draft in zip(HOSPITALS, drafts, strict=True):
        data(capsys, "draft", files[name], *words, "-o", draft)
    contract = tmp_path / "heart.json"
    data(capsys, "merge", *drafts, "-o", contract)
    assert all(data(capsys, "check", contract, path)["fits"] for path in files.values())
    schema = Schema.from_json(schema_of(contract))
    pooled = [row for path in files.values() for row in csv.reader(path.read_text().splitlines())]
    rows = [heart_codes(schema, dict(zip(names, row, strict=True))) for row in pooled]
    assert len(rows) == 597
    assert run_job(federation, contract, files, "heart") == {grown(schema, rows)}


def heart_codes(schema: Schema, row: dict[str, str]) -> tuple[int, ...]:
    """A row's codes, worked out without the contract."""
    fields = {name: "" if text == "?" else text for name, text in row.items()}
    codes = []
    for attribute in schema.attributes:
        text = fields[attribute.name]
        whole = text and not attribute.is_numeric
        codes.append(attribute.code_of(str(int(float(text))) if whole else text))
    return (*codes, schema.class_code("no" if float(fields["num"]) == 0 else "disease"))


@pytest.mark.long
def test_cut_points_from_one_encrypted_histogram(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A draft without cuts, a public grid, a job that only counts, and the pooled records' quartiles on that grid."""
    numbers = {
        name: [36 + (7 * n * n + 13 * k) % 61 / 10 for n in range(40)] for k, name in enumerate(HOSPITALS)
    }
    files, drafts = {}, []
    for name, temperatures in numbers.items():
        files[name] = tmp_path / f"{name}.csv"
        rows = [f"{number:.1f},{'yes' if number > 39 else 'no'}" for number in temperatures]
        files[name].write_text("\n".join(["temperature,ill", *rows]) + "\n")
        drafts.append(tmp_path / f"{name}.json")
        data(capsys, "draft", files[name], "--class", "ill", "--name", "fever", "-o", drafts[-1])
    contract, gridded, final = (tmp_path / f"{name}.json" for name in ("merged", "gridded", "final"))
    data(capsys, "merge", *drafts, "-o", contract)
    edges = data(capsys, "grid", contract, "--edges", "20", "-o", gridded)["cuts"]["temperature"]
    document = json.loads(gridded.read_text())
    for hospital, path in files.items():
        federation.hospitals[hospital].configure(path)
    study = federation.cloud.study(
        schema_of(gridded), name="grid", contract=document, tallies=["histogram"], synthetic=True
    )
    job = federation.cloud.job(study, invited=list(HOSPITALS), tally={"kind": "histogram"})
    federation.wait(job, HOSPITALS)
    capsys.readouterr()
    assert run(["agent", "evaluation", str(federation.hospitals["h2"].folder), job, "--json"]) == 0
    histogram = tmp_path / "histogram.json"
    histogram.write_text(capsys.readouterr().out)
    cuts = data(capsys, "cuts", gridded, histogram, "--parts", "4", "--least", "5", "-o", final)["cuts"]
    pooled = sorted(number for temperatures in numbers.values() for number in temperatures)
    quartiles = [pooled[-(-k * len(pooled) // 4) - 1] for k in (1, 2, 3)]
    expected = [next(edge for edge in edges if float(edge) >= quartile - 1e-9) for quartile in quartiles]
    assert cuts == {"temperature": expected}
    pooled_rows = [(number, number > 39) for temperatures in numbers.values() for number in temperatures]
    final_schema = Schema.from_json(schema_of(final))
    coded = [(final_schema.attributes[0].code_of(f"{number:.1f}"), int(ill)) for number, ill in pooled_rows]
    assert run_job(federation, final, files, "quartiles") == {grown(final_schema, coded)}
    wrong = data(capsys, "cuts", final, histogram, "-o", tmp_path / "no.json", code=3)
    assert "other edges" in wrong["detail"]


def small_contract(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "small.json"
    document = {
        "name": "small",
        "attributes": [{"name": "sex", "kind": "category", "values": [{"value": "f"}, {"value": "m"}]}],
        "class": {"name": "ill", "values": [{"value": "no"}, {"value": "yes"}]},
    }
    path.write_text(json.dumps({**document, **changes}))
    return path


def test_a_hospital_signs_a_draft_and_another_sees_who_did(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract, signed = small_contract(tmp_path), tmp_path / "signed.json"
    made = data(capsys, "sign", contract, "--agent", federation.hospitals["h1"].folder, "-o", signed)
    seen = data(capsys, "sign", signed, "--verify", "--agent", federation.hospitals["h2"].folder)
    assert (seen["hospital"], seen["sha256"]) == ("h1", made["sha256"])
    data(capsys, "sign", contract, "--agent", federation.hospitals["h2"].folder, "-o", signed, code=3)
    data(capsys, "merge", signed, contract, "-o", tmp_path / "merged.json")
    assert "h1" not in (tmp_path / "merged.json").read_text()
    document = json.loads(signed.read_text())
    for change in ({"hospital": "h3"}, {"contract": {**document["contract"], "title": "another"}}):
        signed.write_text(json.dumps({**document, **change}))
        data(capsys, "sign", signed, "--verify", "--agent", federation.hospitals["h2"].folder, code=4)
    data(capsys, "sign", contract, "--verify", "--agent", federation.hospitals["h2"].folder, code=3)


def test_a_mixer_takes_drafts_that_other_members_signed(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract, key, folders = small_contract(tmp_path), tmp_path / "key", federation.hospitals
    data(capsys, "merger-key", "-o", key)
    sealed = {}
    for name in HOSPITALS:
        sealed[name] = tmp_path / f"{name}.sealed"
        made = data(
            capsys,
            "seal",
            contract,
            "--to",
            f"{key}.pub",
            "--agent",
            folders[name].folder,
            "-o",
            sealed[name],
        )
        assert made["hospital"] == name
    mixer = ("--agent", folders["h2"].folder, "-o")
    batch, merged = tmp_path / "batch.json", tmp_path / "merged.json"
    assert data(capsys, "mix", *sealed.values(), *mixer, batch)["signatures_checked"]
    assert not any(f'"{name}"' in batch.read_text() for name in HOSPITALS)
    data(capsys, "merge", "--sealed", batch, "--key", key, "-o", merged)
    plain = tmp_path / "plain.json"
    data(capsys, "merge", *[contract] * 3, "-o", plain)
    assert merged.read_bytes() == plain.read_bytes()
    again, document = tmp_path / "again.sealed", json.loads(sealed["h1"].read_text())
    data(capsys, "seal", contract, "--to", f"{key}.pub", "--agent", folders["h1"].folder, "-o", again)
    data(capsys, "mix", *sealed.values(), again, *mixer, tmp_path / "no.json", code=3)
    unsigned = {name: value for name, value in document.items() if name != "sender"}
    stolen = {**document, "sender": {**document["sender"], "hospital": "h2"}}
    for change in (unsigned, stolen, {**document, "blocks": document["blocks"][::-1]}):
        again.write_text(json.dumps(change))
        others = (sealed["h2"], sealed["h3"])
        refused = data(capsys, "mix", again, *others, *mixer, tmp_path / "no.json", code=4)
        assert "again.sealed" in refused["detail"]


def test_the_cloud_takes_no_study_whose_schema_is_not_its_contracts(
    federation: LocalFederation, tmp_path: Path
) -> None:
    document = json.loads(small_contract(tmp_path).read_text())
    schema = schema_of(small_contract(tmp_path))
    other = {**schema, "class": {"name": "ill", "labels": ["yes", "no"]}}
    body = {"id": "other", "question": "does it hold?", "synthetic": True, "contract": document}
    answer = federation.cloud.people.post("/v1/studies", json={**body, "schema": other})
    assert (answer.status_code, "data contract" in answer.text) == (422, True), answer.text
    assert federation.cloud.people.post("/v1/studies", json={**body, "schema": schema}).status_code == 201
    with Client.from_token(federation.cloud.base_url, federation.cloud.token) as client:
        shown = client.study("other").document  # what `FederatedTreeClassifier` takes the contract from
    assert contract_of((shown or {})["contract"], "study") == contract_of(document, "file")


@pytest.mark.long
def test_an_agent_checks_its_records_against_a_study_it_was_shown(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(small_contract(tmp_path).read_text())
    study = federation.cloud.study(schema_of(small_contract(tmp_path)), name="shown", contract=document)
    hospital = federation.hospitals["h1"]
    path = tmp_path / "records.csv"
    path.write_text("sex,ill\nf,no\nm,yes\n" * 1 + "x,no\n")
    hospital.configure(path)

    def was_shown() -> bool:
        with Journal.open(hospital.folder) as journal:
            return studies.study(journal, study) is not None

    federation.until(was_shown)
    found = data(capsys, "check", study, "--agent", hospital.folder, code=1)
    assert [(fault["column"], fault["rule"], fault["first"]) for fault in found["faults"]] == [
        ("sex", "unknown-value", "line 4")
    ]
    path.write_text("sex,ill\nf,no\nm,yes\n")
    assert data(capsys, "check", study, "--agent", hospital.folder)["fits"]


@pytest.mark.long
def test_a_finished_tree_is_asked_in_a_hospitals_own_words(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command and by exported files; the contract knows `Geschlecht` and `weiblich`."""
    pd = pytest.importorskip("pandas")
    from privet.estimator import PrivetTreeClassifier

    attribute = {
        "name": "sex",
        "columns": ["Geschlecht"],
        "kind": "category",
        "spelling": "folded",
        "values": [{"value": "f", "texts": ["weiblich"]}, {"value": "m"}],
    }
    contract = small_contract(tmp_path, attributes=[attribute])
    files = {name: tmp_path / f"{name}.csv" for name in HOSPITALS}
    for path in files.values():
        path.write_text("sex,ill\n" + "f,no\nm,yes\n" * 10)
    assert len(run_job(federation, contract, files, "asked")) == 1
    folder = federation.hospitals["h1"].folder
    for words, answer in {"Geschlecht=Weiblich": "no", "sex=M": "yes", "sex=f": "no"}.items():
        capsys.readouterr()
        assert run(["agent", "predict", str(folder), "--set", words, "--json"]) == 0
        (prediction,) = json.loads(capsys.readouterr().out)["predictions"]
        assert (prediction["class"], prediction["stop_reason"]) == (answer, None)
    asked = tmp_path / "asked.csv"
    asked.write_text("Geschlecht,note\nWEIBLICH,x\nM,y\ndivers,z\n")
    assert run(["agent", "predict", str(folder), "--file", str(asked), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["class"] for one in found["predictions"][:2]] == ["no", "yes"]
    assert found["predictions"][2]["stop_reason"] == "unseen"
    assert found["ignored_columns"] == ["note"]
    written, rules = tmp_path / "tree.json", tmp_path / "tree.txt"
    for path in (written, rules):
        form = "json" if path is written else "rules"
        export = ["agent", "export", str(folder), found["model"], "--format", form, "-o", str(path)]
        assert run(export) == 0
    told = PrivetTreeClassifier.load(written).predict(pd.DataFrame({"Geschlecht": ["WEIBLICH", "M"]}))
    assert told.tolist() == ["no", "yes"]
    command = f"privet data recode {found['study']} FILE --agent DIR --out records.csv"
    assert command in rules.read_text()
    assert command in capsys.readouterr().out
    data(capsys, "recode", found["study"], asked, "--agent", folder, "-o", tmp_path / "no.csv", code=1)
    asked.write_text("Geschlecht,note\nWEIBLICH,x\nM,y\n")
    data(capsys, "recode", found["study"], asked, "--agent", folder, "-o", tmp_path / "read.csv")
    assert (tmp_path / "read.csv").read_text() == "sex\nf\nm\n"


@pytest.mark.long
def test_missing_values_in_parts_by_the_contract(federation: LocalFederation, tmp_path: Path) -> None:
    """`missing_policy: fractional` reaches the schema, and the job that grows by it ends with one tree, another one."""
    files = {name: tmp_path / f"{name}.csv" for name in HOSPITALS}
    rows = [
        (("f", "m", "?")[n % 3], str(n % 2), "yes" if n % 3 == 0 or n % 4 == 1 else "no") for n in range(60)
    ]
    for start, path in enumerate(files.values()):
        path.write_text("sex,smoker,ill\n" + "".join(",".join(row) + "\n" for row in rows[start::2]))
    trees = {}
    for policy in ("fractional", "category"):
        sex = {"name": "sex", "kind": "category", "values": [{"value": "f"}, {"value": "m"}]}
        sex |= {"missing_codes": ["?"], "missing_policy": policy}
        smoker = {"name": "smoker", "kind": "category", "values": [{"value": "0"}, {"value": "1"}]}
        contract = small_contract(tmp_path, attributes=[sex, smoker])
        for hospital in federation.hospitals.values():
            hospital.allow(f"{OPEN_POLICY}allow_fractional = true\n")
        assert schema_of(contract)["attributes"][0].get("missing") == (
            policy if policy == "fractional" else None
        )
        trees[policy] = run_job(federation, contract, files, policy)
    assert [len(found) for found in trees.values()] == [1, 1]
    assert trees["fractional"] != trees["category"]
