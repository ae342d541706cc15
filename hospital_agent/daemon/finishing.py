"""From a finished job to the model that this hospital keeps of it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hospital_agent.models import Model
from hospital_agent.models.tallies import TallyResult, cabinet_of
from shared.errors import InternalError
from shared.protocol.participation import Participation
from shared.tree.model import Tree
from shared.tree.tallying import TallyGrowth
from shared.wire.envelope import SignedEnvelope

if TYPE_CHECKING:
    from hospital_agent.daemon.office import Office


def model_of(
    after: Participation, certificates: Sequence[str], statements: tuple[SignedEnvelope, ...]
) -> Model:
    """The tree, if this hospital may see it, with what proves where it came from.

    Args: certificates: of all who joined, base64url, in the order of `after.members`.
    """
    by_id = {peer.id: text for peer, text in zip(after.members, certificates, strict=True)}
    return Model(
        manifest=after.manifest,
        mh=after.mh,
        agent=after.own,
        tree=_tree_of(after),
        state=str((after.statement or {})["state"]),
        statements=statements,
        certificates=tuple(by_id[agent] for agent in after.roster),
        saved=int(time.time()),
        record_sha256=None if after.result is None else after.result.sha256,
    )


def keep(office: Office, after: Participation, model: Model) -> str:
    """Put what a job came to where people find it: a tree on the shelf, a tally's counts in the cabinet.

    Returns: a few words on it.
    """
    signer = office.keyring.identity
    if not isinstance(after.growth, TallyGrowth):
        office.shelf.put(model, signer)
        return model.told
    if after.growth.tables is None:
        raise InternalError("a tally is complete without its tables")
    cabinet = cabinet_of(office.folder, signer.public, office.keyring.hospital_trust().root)
    cabinet.put(TallyResult(model, after.growth.tables), signer)
    return f"the counts are here: `privet agent evaluation {office.folder} {model.id[:8]}`"


def _tree_of(after: Participation) -> Tree | None:
    """The finished tree; None where a secret job does not show it to this hospital."""
    if after.result is None:
        return after.growth.tree
    return None if after.result.tree is None else Tree.from_json(json.loads(after.result.tree))
