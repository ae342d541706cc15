"""Why a job ended, in the words of its page."""

from __future__ import annotations

from cloud_service.pages.job_view import view_of
from cloud_service.store.jobs import StoredJob
from shared.errors import JobCode
from shared.ids import CLOUD, StudyId
from shared.protocol.envelopes import Address, Chain, seal
from shared.protocol.joining import decline
from shared.wire.envelope import MessageType
from tests.protocol.test_simulation import NAMES, world


def test_a_job_that_hospitals_declined_is_not_said_to_have_run_out_of_time() -> None:
    built = world(1)
    job = built.cloud.job
    for name in NAMES[:2]:
        address = Address(MessageType.JOB_DECLINE, job.manifest.job, job.mh, 0, 0, name, CLOUD)
        body = decline(job.manifest, "data")
        built.cloud.post(seal(built.parties.identities[name], address, Chain(), body).raw, built.now)
    assert built.cloud.job.failure is JobCode.DEADLINE
    view = view_of(StoredJob(built.cloud.job, StudyId("study"), 0, 1, None, 2), (), ())
    assert (
        view.outcome
        == f"Ended without a result: too few hospitals took part. Declined: {', '.join(NAMES[:2])}."
    )
    assert "time" not in view.next_step
