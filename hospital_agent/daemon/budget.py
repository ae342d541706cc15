"""The privacy budget at work: held against offers, against each round before it is counted, spent with its bytes.

What a round costs is written in the transaction that journals its contribution, so nothing is sent that was not paid
for, and what was paid for is sent again as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Final

from hospital_agent.daemon.office import Office
from hospital_agent.journal.budget import Ledger, Spending, total
from hospital_agent.noise import forecast, is_installed, over_budget
from hospital_agent.policy import DECLINED, Policy, Refusal, load_policy
from shared.errors import InputError, InternalError, JobCode, JobFailure
from shared.protocol.participation import Participation
from shared.secure_tree.privacy import changed_cells, level_cost
from shared.wire.manifest import Manifest

_NOT_INSTALLED: Final = (
    "The job adds noise for differential privacy, and this agent cannot: the library opendp is missing. "
    "Install the extra dp (pip install 'privet[dp]') and restart the agent."
)


def refuse_offer(
    office: Office, manifest: Manifest, identity: str, running: Mapping[str, tuple[str | None, Manifest]]
) -> Refusal | None:
    """Why a job with noise is declined, or None: no library, or its worst case does not fit beside what is promised.

    Args: identity: of the records. running: accepted jobs with the identity of their records.
    """
    if manifest.noise is None:
        return None
    if not is_installed():
        return Refusal(DECLINED, _NOT_INSTALLED)
    scope = _scope(office.policy, identity)
    lines = Ledger(office.journal.connection).lines(scope)
    promised = Fraction(0)
    for job, (records, other) in running.items():
        if scope in (None, records):
            left = forecast(other) - total(line for line in lines if line.job == job)
            promised += max(left, Fraction(0))
    reason = over_budget(
        office.policy.privacy_limit, spent=total(lines), promised=promised, wanted=forecast(manifest)
    )
    return None if reason is None else Refusal(JobCode.BUDGET_EXHAUSTED, reason)


def check_round(office: Office, participation: Participation, identity: str | None) -> None:
    """Whether the open round may be paid for, by the policy as its file stands now.

    Raises: JobFailure: `budget_exhausted`.
    """
    noise = participation.manifest.noise
    if noise is None:
        return
    if identity is None:
        raise InternalError("a job with noise over records without identity")
    with suppress(InputError):  # a file that cannot be read changes no rule
        office.policy = load_policy(office.settings.policy)
    spent = total(Ledger(office.journal.connection).lines(_scope(office.policy, identity)))
    wanted = level_cost(noise, participation.growth.queries)
    reason = over_budget(office.policy.privacy_limit, spent=spent, promised=Fraction(0), wanted=wanted)
    if reason is not None:
        raise JobFailure(JobCode.BUDGET_EXHAUSTED, reason)


def spend_round(office: Office, participation: Participation, identity: str | None) -> None:
    """Inside the transaction that journals the contribution of the open round: write down what it costs."""
    noise = participation.manifest.noise
    if noise is None:
        return
    if identity is None:
        raise InternalError("a job with noise over records without identity")
    spending = Spending(
        records_identity=identity,
        job=participation.manifest.job,
        study=participation.manifest.study,
        round=participation.round,
        attempt=participation.attempt,
        cells=changed_cells(participation.growth.queries),
        sigma_squared=noise.sigma_squared,
        time=int(office.clock()),
    )
    Ledger(office.journal.connection).spend(spending)


def _scope(policy: Policy, identity: str) -> str | None:
    """Whose lines count: of these records, or of all."""
    return identity if policy.budget_for == "snapshot" else None
