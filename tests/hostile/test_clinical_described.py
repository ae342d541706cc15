"""CDS Hooks as its description says, for requests drawn from it; a real agent, killed between two questions."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from hospital_agent import clinical
from hospital_agent.clinical_settings import ClinicalSection
from hospital_agent.keyring import Keyring
from hospital_agent.local_api import Library, create_app, serving
from hospital_agent.models import Shelf, shelf_of
from hospital_agent.settings import LocalSection
from tests.support import described, ward
from tests.support.models import model_of, parties
from tests.support.programs import LEASH
from tests.unit.hospital_agent.test_keyring import PARTIES, ROOT, bundle_file, folder_of

pytestmark = pytest.mark.long

SERVICE = "/cds-services/bladder-patient-view"


def test_clinical_systems_are_answered_as_it_is_described(tmp_path: Path) -> None:
    members = parties()
    model = model_of(members)
    shelf = Shelf(tmp_path / "models", members.identities["h1"].public, members.root)
    shelf.put(model, members.identities["h1"])
    app = create_app(Library(shelf), dict, None)
    path = ward.services_file(tmp_path, model.id, model.manifest.study)
    clinical.install(app, tmp_path, ClinicalSection(services=path), pages=False)
    with serving(app, LocalSection(port=0)) as url:
        found = described.check(
            tmp_path / "drawn",
            url,
            parameters={"path.service_id": "bladder-patient-view"},
            beyond_schema=["/cds-services/{service_id}", "/predict"],
            phases="examples,coverage,fuzzing",
            examples=60,
        )
        assert httpx2.get(f"{url}/cds-services").status_code == 200
    # The other paths have a test of their own, with what they need.
    assert [fault for fault in found.faults if "cds-services" in fault] == [], found.text
    assert found.requests > 100


@contextlib.contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A real agent, and where it answers."""
    url = "http://127.0.0.1:8723"
    program = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), sys.executable, "-m", "privet"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*program, "agent", "run", str(folder)], stdout=subprocess.DEVNULL, stderr=log
        )
    try:
        for _ in range(300):
            with contextlib.suppress(httpx2.HTTPError):
                if httpx2.get(f"{url}/cds-services").status_code == 200:
                    break
            time.sleep(0.1)
        yield process, url
    finally:
        process.kill()
        process.wait()


def test_a_token_is_used_once_even_if_the_agent_is_killed_and_nothing_of_a_patient_is_logged(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    ring = Keyring.open(folder)
    ring.join(bundle_file(folder), ROOT, "h1")
    model = model_of(PARTIES)
    shelf_of(folder, ring.identity.public, PARTIES.root).put(model, ring.identity)
    ward.services_file(folder, f"study:{model.manifest.study}", model.manifest.study, clients=True)
    (folder / "agent.toml").write_text(
        'id = "h1"\ncloud = "http://127.0.0.1:1"\n[local]\nport = 8723\n'
        '[clinical]\nservices = "services.toml"\npublic_url = "https://a.example"\n'
    )
    audience = f"https://a.example{SERVICE}"
    headers = {"authorization": f"Bearer {ward.token(audience, int(time.time()))}"}
    with running(folder) as (process, url):
        answer = httpx2.post(url + SERVICE, json=ward.question(), headers=headers)
        assert answer.status_code == 200, answer.text
        os.kill(process.pid, signal.SIGKILL)
    with running(folder) as (_, url):
        assert httpx2.post(url + SERVICE, json=ward.question(), headers=headers).status_code == 401
        fresh = {"authorization": f"Bearer {ward.token(audience, int(time.time()))}"}
        card = httpx2.post(url + SERVICE, json=ward.question(), headers=fresh).json()["cards"][0]
        entry = {"card": card["uuid"], "outcome": "accepted"}
        fresh = {"authorization": f"Bearer {ward.token(audience + '/feedback', int(time.time()))}"}
        told = httpx2.post(f"{url}{SERVICE}/feedback", json={"feedback": [entry]}, headers=fresh)
        assert told.status_code == 200, told.text
    kept = b"".join(
        path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "mapping.json"
    )
    for marker in (ward.PATIENT, "Practitioner/9", "urology|2", "R11.2", "279039007"):
        assert marker.encode() not in kept, marker
    assert json.loads((folder / "log").read_text().splitlines()[0])["agent"] == "h1"
