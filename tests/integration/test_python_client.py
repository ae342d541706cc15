"""A person's program at a real cloud: `Client`, `AsyncClient` and `FederatedTreeClassifier` over HTTP."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cloud_service.service.services import unix_time
from privet.client import (
    AsyncClient,
    Client,
    ConflictError,
    Event,
    ForbiddenError,
    InvalidInputError,
    JobFailedError,
    JobTimeoutError,
    NotFoundError,
    NotPublishedError,
    NotSignedInError,
    OutcomeUnknownError,
    SecondFactorError,
    UnreachableError,
)
from privet.client.carrying import Patience
from shared.errors import InputError
from shared.tree.schema import Schema
from tests.integration.test_sign_in import PASSWORD, code_of
from tests.support.background import in_background
from tests.support.certificates import self_signed
from tests.support.clinic import NAMES, ROWS, SCHEMA, dealt
from tests.support.clinic_frames import frames_of
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together
from tests.support.middlebox import middlebox
from tests.support.proxies import fault_proxy

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402

from privet.federated import FederatedTreeClassifier  # noqa: E402

THREE = ("h1", "h2", "h3")
LOOSE: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": None}
PATIENT = dict(zip(NAMES, ("1", 1, "0", "1", 0), strict=True))
QUICK = Patience(total_seconds=0.5, most_seconds=0.1, answer_seconds=5)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("cloud"), bits=512) as running:
        running.study(SCHEMA, name="open", publish_tree=True)
        running.study(SCHEMA, name="kept")
        yield running


@pytest.fixture
def client(cloud: CloudUnderTest) -> Iterator[Client]:
    with Client.from_token(cloud.base_url, cloud.token, patience=QUICK) as found:
        yield found


def test_the_hospitals_tree_is_the_pooled_tree(cloud: CloudUnderTest, client: Client) -> None:
    told: list[Event] = []
    estimator = FederatedTreeClassifier(client, "open", timeout=60, progress=told.append, **LOOSE)
    hospitals = in_background(cloud, dealt(*THREE))
    assert estimator.fit() is estimator
    hospitals.join(10)
    frames = frames_of(dealt(*THREE))
    pooled = clone(estimator).set_params(progress=None).simulate(frames)
    assert estimator.tree_.tree_sha256 == pooled.tree_.tree_sha256
    assert estimator.get_depth() == pooled.get_depth() > 1
    everyone = pd.concat(frames)
    records, labels = everyone[list(NAMES)], everyone["diagnosis"]
    assert estimator.predict(records).tolist() == pooled.predict(records).tolist() == labels.tolist()
    assert estimator.score(records, labels) == 1.0
    assert list(estimator.feature_names_in_) == list(NAMES)
    assert not hasattr(estimator, "predict_proba")
    assert pooled.predict_proba(records).shape == (len(ROWS), 4)
    assert [event.kind for event in told].count("attested") == 3
    assert [event.id for event in told] == sorted({event.id for event in told})
    assert "accepted: hospital h1" in "\n".join(map(str, told))
    header = dict(estimator.tree_.header)
    assert (header["study"], header["job"], header["hospitals"]) == ("open", estimator.job_, "h1, h2, h3")
    assert estimator.plot()._repr_svg_().startswith("<svg")
    assert estimator._repr_mimebundle_()["text/html"] == estimator.plot().element
    assert b"lumbar pain" in estimator.export("rules")
    again = FederatedTreeClassifier(client).attach(estimator.job_)
    assert again.tree_.tree_sha256 == estimator.tree_.tree_sha256
    raw = pickle.dumps(estimator)
    assert cloud.token.encode() not in raw
    assert pickle.loads(raw).predict(records).tolist() == labels.tolist()
    with pytest.raises(ValueError, match="feature names"):
        FederatedTreeClassifier(client).attach(estimator.job_).predict(
            records.rename(columns={"nausea": "x"})
        )


def test_both_clients_say_the_same(cloud: CloudUnderTest, client: Client) -> None:
    hospitals = in_background(cloud, dealt(*THREE))
    job = client.start_job("open", **LOOSE)

    async def all_of_it() -> list[Any]:
        async with AsyncClient.from_token(cloud.base_url, cloud.token, patience=QUICK) as other:
            result = await other.wait_for_result(job.id, timeout=60)
            return [
                result,
                await other.me(),
                await other.hospitals(),
                await other.studies(),
                await other.study("open"),
                await other.jobs(study="open"),
                await other.job(job.id),
                [event async for event in other.events(job.id)],
                await other.tree(job.id),
                await other.predict(job.id, PATIENT),
                await other.predict_many(job.id, [PATIENT, PATIENT]),
                await other.model_card(job.id),
                await other.evaluation(job.id),
                await other.ledger(job.id),
                (await other.audit(job.id))[:20],
                (await other.dossier("open"))["study"],
                await other.wait(job.id),
                await other.create_study("open", "does it work?", SCHEMA, synthetic=True, publish_tree=True),
            ]

    found = asyncio.run(all_of_it())
    hospitals.join(10)
    assert found == [
        client.result(job.id),
        client.me(),
        client.hospitals(),
        client.studies(),
        client.study("open"),
        client.jobs(study="open"),
        client.job(job.id),
        list(client.events(job.id)),
        client.tree(job.id),
        client.predict(job.id, PATIENT),
        client.predict_many(job.id, [PATIENT, PATIENT]),
        client.model_card(job.id),
        client.evaluation(job.id),
        client.ledger(job.id),
        client.audit(job.id)[:20],
        client.dossier("open")["study"],
        client.wait(job.id),
        client.create_study(
            "open", "does it work?", Schema.from_json(SCHEMA), synthetic=True, publish_tree=True
        ),
    ]
    assert found[0].missing == ()
    assert [answer.answer for answer in found[4].answers] == ["pending"] * 3


def test_refusals_are_classes_with_the_problem_and_the_next_step(
    cloud: CloudUnderTest, client: Client
) -> None:
    with (
        Client.from_token(cloud.base_url, "wrong", patience=QUICK) as stranger,
        pytest.raises(NotSignedInError, match="PRIVET_TOKEN") as wrong,
    ):
        stranger.me()
    assert (wrong.value.status, wrong.value.code) == (401, "not_signed_in")
    with pytest.raises(NotFoundError) as unknown:
        client.study("no-such-study")
    assert unknown.value.title == "Not found"
    with pytest.raises(NotFoundError):
        client.job("../studies/open")
    with pytest.raises(NotFoundError):
        client.start_job("no-such-study")
    with pytest.raises(InvalidInputError, match="min_node"):
        client.start_job("open", min_node=0)
    analyst = cloud.services.tokens.create("ana", ("analyst",))
    with Client.from_token(cloud.base_url, analyst, patience=QUICK) as reading:
        with pytest.raises(ForbiddenError, match="jobs:write"):
            reading.start_job("open")
        with pytest.raises(InputError, match="lacks jobs:write"):
            FederatedTreeClassifier(reading, "open").fit()
    assert client.close_study(client.create_study("shut", "?", SCHEMA).id).closed is not None
    with pytest.raises(ConflictError, match="clos"):
        client.start_job("shut")


def test_a_tree_that_is_not_published_costs_no_job(client: Client) -> None:
    with pytest.raises(InputError, match="does not publish its tree"):
        FederatedTreeClassifier(client, "kept").fit()
    assert client.jobs(study="kept") == ()


@pytest.mark.long
def test_a_kept_tree_is_named_by_its_hash_alone(cloud: CloudUnderTest, client: Client) -> None:
    hospitals = in_background(cloud, dealt(*THREE))
    job = client.start_job("kept", **LOOSE)
    result = client.wait_for_result(job.id, timeout=60)
    hospitals.join(10)
    pooled = FederatedTreeClassifier(**LOOSE).simulate(frames_of(dealt(*THREE)), SCHEMA)
    assert result.tree_sha256 == pooled.tree_.tree_sha256
    with pytest.raises(NotPublishedError, match="privet agent export") as kept:
        FederatedTreeClassifier(client).attach(job.id)
    assert kept.value.status == 403


def test_a_job_that_ends_without_a_tree(cloud: CloudUnderTest, client: Client) -> None:
    estimator = FederatedTreeClassifier(client, "open", timeout=0.3, **LOOSE)
    with pytest.raises(JobTimeoutError, match="it waits for h1, h2, h3") as late:
        estimator.fit()
    assert isinstance(late.value, TimeoutError)
    assert late.value.job.id == estimator.job_
    with pytest.raises(NotFittedError):
        estimator.predict([["1"] * len(NAMES)])
    with pytest.raises(JobTimeoutError):
        asyncio.run(wait_shortly(cloud, estimator.job_))
    assert client.cancel(estimator.job_).state == "CANCELLED"
    assert client.cancel(estimator.job_).state == "CANCELLED"
    with pytest.raises(JobFailedError, match="cancelled") as failed:
        estimator.attach(estimator.job_)
    assert failed.value.job.failure == "cancelled"
    assert [event.kind for event in client.events(estimator.job_)][-1] == "ended"
    assert client.jobs(study="open", state="CANCELLED")[0].id == estimator.job_


async def wait_shortly(cloud: CloudUnderTest, job: str) -> None:
    async with AsyncClient.from_token(cloud.base_url, cloud.token, patience=QUICK) as client:
        await client.wait(job, timeout=0.2)


@pytest.mark.long
def test_a_cloud_that_goes_and_comes_back_in_the_middle(tmp_path: Path) -> None:
    patient = Patience(total_seconds=20, most_seconds=0.2, answer_seconds=5)
    with running_cloud(tmp_path, bits=512) as cloud, middlebox(port_of(cloud)) as box:
        cloud.study(SCHEMA, name="open", publish_tree=True)
        with hospitals_of(cloud, dealt(*THREE)) as hospitals:
            client = Client.from_token(box.url, cloud.token, patience=patient)
            job = client.start_job("open", **LOOSE)
            watch = ThreadPoolExecutor(1).submit(client.wait_for_result, job.id, timeout=60)
            for hospital in hospitals:
                hospital.fetch(wait=5)
                hospital.send_all()
            box.cut()
            cloud.restart()
            box.port = port_of(cloud)
            for hospital in hospitals:
                hospital.reconnect()
            run_together(hospitals)
            assert watch.result(60).missing == ()
            client.close()


def test_no_cloud_at_all() -> None:
    with (
        Client.from_token("http://127.0.0.1:9", "token", patience=Patience(total_seconds=0.05)) as client,
        pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:9 cannot be reached: Connection refused"),
    ):
        client.me()


@pytest.mark.long
def test_a_proxy_that_cuts_every_long_poll(cloud: CloudUnderTest, client: Client) -> None:
    over = threading.Event()
    job = client.start_job("open", **LOOSE)
    with middlebox(port_of(cloud)) as box:

        def cut() -> None:
            while not over.wait(0.3):
                box.cut()

        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            with (
                Client.from_token(box.url, cloud.token, patience=Patience(total_seconds=1)) as other,
                pytest.raises(JobTimeoutError),
            ):
                other.wait(job.id, timeout=3)
        finally:
            over.set()
            cutter.join()
            client.cancel(job.id)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_way_that_mistreats_every_second_request(cloud: CloudUnderTest, client: Client, seed: int) -> None:
    told: list[int] = []
    hospitals = in_background(cloud, dealt(*THREE))
    job = client.start_job("open", **LOOSE)
    with fault_proxy(port_of(cloud), seed) as way:
        patient = Patience(total_seconds=30, most_seconds=0.05, answer_seconds=5)
        with Client.from_token(way.url, cloud.token, patience=patient) as other:
            result = other.wait_for_result(job.id, timeout=60, progress=lambda event: told.append(event.id))
            assert result == client.result(job.id)
            assert other.tree(job.id) == client.tree(job.id)
            assert other.jobs(study="open") == client.jobs(study="open")
    hospitals.join(20)
    assert told == sorted(set(told))
    assert len(told) >= len(list(client.events(job.id)))
    assert sum(way.done.values()) - way.done["none"] >= 3


@pytest.mark.long
def test_one_call_starts_one_job_at_most_on_such_a_way(cloud: CloudUnderTest, client: Client) -> None:
    begun = len(client.jobs(study="open"))
    calls, answered, unknown = 12, 0, 0
    with fault_proxy(port_of(cloud), 7) as way:
        patient = Patience(total_seconds=10, most_seconds=0.02, answer_seconds=5)
        with Client.from_token(way.url, cloud.token, patience=patient) as other:
            for _ in range(calls):
                try:
                    other.start_job("open", **LOOSE)
                    answered += 1
                except OutcomeUnknownError:
                    unknown += 1
    # What the network itself sends twice is two jobs: the API has no key that would tell.
    made = len(client.jobs(study="open")) - begun - way.done["duplicate"]
    assert answered + unknown == calls
    assert answered <= made <= calls
    assert unknown > 0
    for job in client.jobs(study="open", state="INVITING"):
        client.cancel(job.id)


def port_of(cloud: CloudUnderTest) -> int:
    return int(cloud.base_url.rpartition(":")[2])


@pytest.mark.long
def test_it_stands_in_a_pipeline_and_records_of_another_form_cost_no_job(
    cloud: CloudUnderTest, client: Client
) -> None:
    everyone = pd.concat(frames_of(dealt(*THREE)))
    records, labels = everyone[list(NAMES)], everyone["diagnosis"]
    estimator = FederatedTreeClassifier(client, "open", timeout=60, **LOOSE)
    before = client.jobs()
    for wrong in (records.iloc[:, ::-1], records.to_numpy()[:, 1:], [["1"]], []):
        with pytest.raises(ValueError, match=r"expected the study's columns .* no job was started"):
            estimator.fit(wrong)
    assert client.jobs() == before
    hospitals = in_background(cloud, dealt(*THREE))
    line = make_pipeline(FunctionTransformer(), estimator).fit(records, labels)
    hospitals.join(20)
    assert line.score(records, labels) == 1.0
    assert len(client.jobs()) == len(before) + 1


@pytest.mark.long
def test_a_private_authority_is_trusted_where_it_is_named(tmp_path: Path) -> None:
    authority = self_signed(tmp_path)
    tls = {"tls_certificate": Path("tls.crt"), "tls_key": Path("tls.key")}
    with running_cloud(tmp_path, bits=512, **tls) as cloud:
        with Client.from_token(cloud.base_url, cloud.token, ca_file=authority, patience=QUICK) as client:
            assert len(client.hospitals()) == 3
        with (
            Client.from_token(cloud.base_url, cloud.token, patience=QUICK) as stranger,
            pytest.raises(UnreachableError, match="not trusted here; ca_file") as refused,
        ):
            stranger.start_job("open")
        assert (refused.value.was_sent, refused.value.may_pass) == (False, False)


@pytest.mark.long
def test_people_sign_in_with_password_and_second_factor(cloud: CloudUnderTest) -> None:
    add = cloud.services.people.accounts.add
    add("ana", PASSWORD, ["analyst"], None)
    add("olga", PASSWORD, ["coordinator"], None)
    with Client.sign_in(cloud.base_url, "ana", PASSWORD, patience=QUICK) as ana:
        assert ana.me().roles == ("analyst",)
        ana.sign_out()
        with pytest.raises(NotSignedInError):
            ana.me()
    with pytest.raises(NotSignedInError):
        Client.sign_in(cloud.base_url, "ana", "wrong", patience=QUICK)
    with pytest.raises(SecondFactorError) as first:
        Client.sign_in(cloud.base_url, "olga", PASSWORD, patience=QUICK)
    assert first.value.address.startswith("otpauth://")
    assert first.value.address not in str(first.value)

    async def come_and_go() -> str:
        code = code_of(first.value.address, unix_time())
        client = await AsyncClient.sign_in(cloud.base_url, "olga", PASSWORD, code, patience=QUICK)
        async with client:
            name = (await client.me()).name
            await client.sign_out()
            return name

    assert asyncio.run(come_and_go()) == "olga"
    with (
        Client.from_token(cloud.base_url, cloud.token, patience=QUICK) as client,
        pytest.raises(ConflictError),
    ):
        client.sign_out()
