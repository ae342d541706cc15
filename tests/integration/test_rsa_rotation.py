"""The RSA key is changed while jobs run: each ends under the key it began with, and nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_service.service import folder as folders
from cloud_service.service import rsa_rotation
from cloud_service.service.federation import Membership
from cloud_service.service.folder import CloudKeyPair, load_keys
from cloud_service.service.rsa_rotation import Clearing, look
from cloud_service.service.services import unix_time
from cloud_service.store.database import Database
from hospital_agent.journal import JobStatus
from shared.errors import TemporaryError
from tests.support.clinic import SCHEMA
from tests.support.programs import Founded, RealFederation, command, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files


def start(federation: RealFederation) -> str:
    records = federation.folder / "records"
    records.mkdir(exist_ok=True)
    return federation.start_job(SCHEMA, write_files(records, tuple(federation.agents)))


def certify_and_join(federation: RealFederation) -> None:
    certified = command(
        "authority",
        "certify",
        federation.folder / "authority",
        federation.cloud_folder / "cloud.csr",
        "--yes",
    )
    command("cloud", "join", federation.cloud_folder, "--bundle", certified["bundles"]["cloud"])


def check_tree(federation: RealFederation, job: str) -> None:
    federation.wait_until_done(job)
    for name in federation.agents:
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        assert federation.model(name, job).tree.sha256 == pooled_tree(tuple(federation.agents)).sha256


def manifest_key(federation: RealFederation, job: str) -> str:
    with federation.people() as people:
        assert people.get(f"/v1/jobs/{job}").status_code == 200
    row = federation.tables.rows("SELECT manifest FROM jobs WHERE id = :job", job=job)[0]
    return str(bytes(row[0]))


@pytest.mark.long
def test_a_job_runs_across_the_switch(founded_federation: Founded, tmp_path: Path) -> None:
    with real_federation(founded_federation, tmp_path) as federation:
        old = set(folders.rsa_keys(federation.cloud_folder))
        job = start(federation)
        federation.wait_for(job, "accepted", 1)
        federation.agents["h1"].kill()  # so that the job waits, whatever its pace
        made = command("cloud", "rotate-rsa", federation.cloud_folder)
        assert command("cloud", "rotate-rsa", federation.cloud_folder)["rsa_sha256"] == made["rsa_sha256"]
        certify_and_join(federation)
        assert set(folders.rsa_keys(federation.cloud_folder)) == old | {made["rsa_sha256"]}
        federation.agents["h1"].start()
        check_tree(federation, job)
        second = start(federation)
        check_tree(federation, second)
        assert manifest_key(federation, job) != manifest_key(federation, second)
        clear(federation, later=0)
        assert set(folders.rsa_keys(federation.cloud_folder)) == old | {made["rsa_sha256"]}, "too soon"
        clear(federation, later=3600)
        assert set(folders.rsa_keys(federation.cloud_folder)) == {made["rsa_sha256"]}
        federation.cloud.kill()
        federation.cloud.start()
        federation.wait_for_cloud()
        check_tree(federation, start(federation))


def clear(federation: RealFederation, later: int) -> None:
    """What the cloud does each minute, at a later time."""
    keys, database = load_keys(federation.cloud_folder), Database(federation.tables.url)
    Clearing(database, keys, Membership(database, keys), lambda: unix_time() + later).clear()
    database.dispose()


@pytest.fixture
def joined(founded_federation: Founded, tmp_path: Path) -> Path:
    """A cloud's folder that has joined, with nobody serving, and the authority's beside it."""
    import shutil

    work = tmp_path / "federation"
    shutil.copytree(founded_federation.folder, work)
    bundle = founded_federation.cloud_bundle
    command(
        "cloud", "join", work / "cloud", "--bundle", bundle, "--root-sha256", founded_federation.root_sha256
    )
    return work


def stand(cloud: Path) -> tuple[Database, CloudKeyPair, Membership]:
    keys, database = load_keys(cloud), Database(f"sqlite:///{cloud / 'cloud.db'}")
    return database, keys, Membership(database, keys)


@pytest.mark.long
def test_interrupted_at_every_step(joined: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = joined / "cloud"
    database, keys, membership = stand(cloud)
    before = look(database, keys, membership)
    assert (before.pending, before.retired) == ((), ())

    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # the key is on disk, the request is not
        patch.setattr(rsa_rotation.folder, "write_request", killed)
        with pytest.raises(KeyboardInterrupt):
            rsa_rotation.begin(database, keys, membership, unix_time())
    (pending,) = look(database, keys, membership).pending
    membership.check_keys()
    assert rsa_rotation.begin(database, keys, membership, unix_time()).second_key == pending
    assert Clearing(database, keys, membership, lambda: unix_time() + 3600).clear() == []
    certified = command("authority", "certify", joined / "authority", cloud / "cloud.csr", "--yes")
    membership.check_keys()  # certified and not joined: the old key is in force
    assert look(database, keys, membership).current == before.current
    command("cloud", "join", cloud, "--bundle", certified["bundles"]["cloud"])
    database.dispose()
    database, keys, membership = stand(cloud)
    after = look(database, keys, membership)
    assert (after.current, after.retired) == (pending, (before.current,))
    assert membership.unwrapping().public.fingerprint == pending
    assert Clearing(database, keys, membership, lambda: unix_time() + 3600).clear() == ["rsa.pem"]
    database.dispose()
    database, keys, membership = stand(cloud)
    membership.check_keys()
    database.dispose()


def test_a_replica_without_the_key_says_later(joined: Path, tmp_path: Path) -> None:
    cloud, other = joined / "cloud", tmp_path / "replica"
    other.mkdir(mode=0o700)
    for name in ("identity.pem", "rsa.pem", "cloud.toml"):
        (other / name).write_bytes((cloud / name).read_bytes())
        (other / name).chmod(0o600)
    database = Database(f"sqlite:///{cloud / 'cloud.db'}")
    replica = Membership(database, load_keys(other))
    assert replica.unwrapping().public.fingerprint in folders.rsa_keys(cloud)
    made = command("cloud", "rotate-rsa", cloud)
    certified = command("authority", "certify", joined / "authority", cloud / "cloud.csr", "--yes")
    command("cloud", "join", cloud, "--bundle", certified["bundles"]["cloud"])
    replica._looked = float("-inf")
    with pytest.raises(TemporaryError, match="not on this replica"):
        replica.unwrapping()
    (other / made["key_file"]).write_bytes((cloud / made["key_file"]).read_bytes())
    (other / made["key_file"]).chmod(0o600)
    assert replica.unwrapping().public.fingerprint == made["rsa_sha256"], "found without a restart"
    database.dispose()
