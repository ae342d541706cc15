"""Bundles, written from what the vault holds now; and who was ever given the current key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine.files import PUBLIC, write_file
from shared.ids import AgentId
from shared.protocol.enrolment import seal_bundle
from shared.protocol.key_shares import holders_of
from shared.wire.base import encode_base64url
from shared.wire.enrolment import (
    CloudBundle,
    DealtSecrets,
    Federation,
    FederationSecrets,
    Member,
    ShareSecrets,
    SignedFederation,
)
from trusted_authority.vault import Vault


@dataclass(frozen=True, slots=True)
class Written:
    """What a step wrote to hand out: the new federation, and the files by member id."""

    federation: Federation
    bundles: Mapping[str, Path]
    document: Path


def bundle_path(out: Path, member_id: str) -> Path:
    """Where a member's bundle stands in a folder."""
    return out / f"{member_id}.bundle"


def write_bundles(vault: Vault, ids: Iterable[str], *, out: Path) -> Written:
    """The bundles of those of `ids` that are members, and the document, from what the vault holds now."""
    document = vault.document()
    federation = document.federation
    wanted = set(ids)
    members = [member for member in federation.members if member.id in wanted]
    shareless = without_share(federation)
    agents = [member for member in members if member.role == "agent" and member.id not in shareless]
    _add_holders(vault, federation.epoch, [member.id for member in agents])
    contents = {
        member.id: _cloud_bundle(vault, member, document) for member in members if member.role == "cloud"
    }
    contents |= _agent_bundles(vault, agents, document)
    out.mkdir(parents=True, exist_ok=True)
    paths = {member_id: bundle_path(out, member_id) for member_id in sorted(contents)}
    for member_id, path in paths.items():
        write_file(path, contents[member_id], mode=PUBLIC)
    write_file(out / "federation.json", document.canonical(), mode=PUBLIC)
    return Written(federation, paths, out / "federation.json")


def former_holders(vault: Vault, federation: Federation) -> list[str]:
    """Agents that hold the current key and are no longer members: the reason to rotate."""
    present = {member.id for member in federation.members}
    return sorted(set(vault.epoch_record(federation.epoch).holders) - present)


def without_share(federation: Federation) -> list[str]:
    """Key mode threshold: agents that were certified after the dealing and hold no share; the reason to rotate."""
    if federation.threshold is None:
        return []
    holders = {holder.id for holder in federation.threshold.holders}
    return sorted(
        member.id for member in federation.members if member.role == "agent" and member.id not in holders
    )


def _agent_bundles(vault: Vault, agents: Sequence[Member], document: SignedFederation) -> dict[str, bytes]:
    if not agents:
        return {}
    root = vault.root_key()
    secrets = vault.current_secrets(document.federation)
    return {
        member.id: seal_bundle(
            root, vault.certificate(member), document, _secrets_for(member, document.federation, secrets)
        ).canonical()
        for member in agents
    }


def _secrets_for(
    member: Member, federation: Federation, secrets: FederationSecrets | DealtSecrets
) -> FederationSecrets | ShareSecrets:
    """What one agent gets: the whole key, or its own share."""
    if isinstance(secrets, FederationSecrets):
        return secrets
    index = holders_of(federation)[AgentId(member.id)]
    share = secrets.shares[member.id]
    return ShareSecrets(share=share, index=index, g=secrets.g, key_id=secrets.key_id, epoch=secrets.epoch)


def _cloud_bundle(vault: Vault, member: Member, document: SignedFederation) -> bytes:
    certificate = encode_base64url(vault.certificate(member).der)
    return CloudBundle(certificate=certificate, federation=document).canonical()


def _add_holders(vault: Vault, epoch: int, ids: Iterable[str]) -> None:
    record = vault.epoch_record(epoch)
    holders = sorted({*record.holders, *ids})
    if holders != record.holders:
        vault.write_epoch_record(record.model_copy(update={"holders": holders}))
