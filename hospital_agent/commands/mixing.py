"""`privet data merger-key`, `seal`, `mix`: drafts on their way to who merges, who sees no value's hospital."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hospital_agent.commands.contracting import Out, read_contract
from hospital_agent.commands.merger_keys import passphrase_for_new, read_key, read_secret, secret_file
from machine.files import read_file, write_new
from shared.errors import InputError, PeerError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.wire.base import Model
    from shared.wire.contract import DataContract
    from shared.wire.contract_sealed import MergerSecret, SealedBatch, SealedDraft

_SEALED: Final = "Name a file that privet data seal wrote; with --through, mix needs --key."
_ENVELOPED: Final = "Name a file that privet data seal --through wrote; of others leave --key away."
_UNSAFE: Final = (
    ", never to whoever merges: they could open it, as could who takes it from the mail. Sealed --through the mixer's "
    "key, it is safe."
)
_BATCH: Final = "Name a file that privet data mix wrote."
_UNCHECKED: Final = (
    "N.B. Nobody's signature was checked: see that each draft is from another hospital (privet data seal --agent, then "
    "privet data mix --agent). Drafts made up by whoever merges would leave a hospital alone among them."
)


def merger_key(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The private key to write; the public one is FILE.pub."
        ),
    ],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase to keep the private key under.")
    ] = False,
) -> Report:
    """A key for whoever merges sealed drafts, or mixes them: FILE stays there, FILE.pub goes to all hospitals.

    Exit codes: 0 written; 2 wrong usage; 3 a file is there already or cannot be written, or no passphrase was given.
    """
    from shared.contract.mixing import fingerprint, new_merger_secret, public_key

    public = out.with_name(f"{out.name}.pub")
    if public.exists():
        raise InputError("it exists already", where=str(public), remedy="Name another file.")
    chosen = passphrase_for_new(asked_for=passphrase)
    secret = new_merger_secret()
    key = public_key(secret)
    write_new(out, secret_file(secret, chosen))
    write_new(public, key.model_dump_json(indent=1).encode() + b"\n")
    text = (
        f"Private key: {out}. Keep it; without it no batch can be merged.\n"
        f"Public key for all hospitals: {public}. Fingerprint, to be read aloud: {fingerprint(key)}\n"
        f"Next, at each hospital: privet data seal DRAFT --to {public.name} -o FILE "
        f"(a mixer's own key: --through {public.name})"
    )
    document = {
        "private": str(out),
        "public": str(public),
        "fingerprint": fingerprint(key),
        "passphrase": chosen is not None,
    }
    return Report(document, text)


def seal(
    draft: Annotated[Path, typer.Argument(metavar="DRAFT", help="This hospital's draft, signed or not.")],
    to: Annotated[Path, typer.Option("--to", metavar="KEY.pub", help="The merger's public key.")],
    out: Out,
    agent: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The agent that signs it, for the mixer alone.", file_okay=False),
    ] = None,
    through: Annotated[
        Path | None,
        typer.Option(
            metavar="MIXER.pub", help="The mixer's own public key: nobody else opens the file on its way."
        ),
    ] = None,
) -> Report:
    """This hospital's draft for the mixer: each value sealed by itself to whoever merges, without a hospital's name.

    Exit codes: 0 written; 2 wrong usage; 3 no draft, no key, or a draft too long.
    """
    from shared.contract.mixing import fingerprint, into_envelope, seal_draft

    key = read_key(to)
    mixer = None if through is None else read_key(through)
    contract = read_contract(draft)
    sealed = seal_draft(contract, key)
    if agent is not None:
        sealed = _signed(sealed, agent)
    document = sealed if mixer is None else into_envelope(sealed, mixer)
    write_new(out, document.canonical() + b"\n")
    remarks = _own_orders(contract)
    rest = _UNSAFE if mixer is None else "."
    text = (
        f"Sealed {draft} as {out}: {len(sealed.blocks)} blocks of one length, for key {fingerprint(key)}.\n"
        f"See that whoever merges read you the same fingerprint. Give the file to whoever mixes{rest}"
    )
    told = {
        "sealed": str(out),
        "contract": contract.name,
        "merger": sealed.merger,
        "blocks": len(sealed.blocks),
        "hospital": None if sealed.sender is None else sealed.sender.hospital,
        "mixer": None if mixer is None else fingerprint(mixer),
        "remarks": remarks,
    }
    return Report(told, "\n".join([*remarks, text]))


def mix(
    drafts: Annotated[
        list[Path],
        typer.Argument(metavar="SEALED...", help="One sealed draft for each hospital, three or more."),
    ],
    out: Out,
    agent: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The agent by whose federation all signatures are checked.", file_okay=False
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="The mixer's private key, where hospitals sealed --through it."),
    ] = None,
) -> Report:
    """All hospitals' sealed drafts in one batch and a fresh random order. Run by somebody who does not merge.

    Exit codes: 0 written; 2 wrong usage; 3 fewer than three, or a file that is no sealed draft or another contract's;
    4 with --agent: a draft that no present member signed.
    """
    from shared.contract.mixing import mix as mixed

    secret = None if key is None else read_secret(key)
    sealed = [_sealed_draft(path, secret) for path in drafts]
    remarks = [] if agent is not None else [_UNCHECKED]
    if agent is not None:
        _check_senders(drafts, sealed, agent)
    batch = mixed(sealed)
    write_new(out, batch.canonical() + b"\n")
    text = (
        f"Mixed {batch.hospitals} hospitals' drafts of {batch.name} as {out}: {len(batch.blocks)} blocks in a random "
        f"order, for key {batch.merger}.\nDelete the sealed drafts and tell nobody which was whose. Next, by whoever "
        f"holds the key: privet data merge --sealed {out} --key KEY -o CONTRACT"
    )
    document = {
        "batch": str(out),
        "contract": batch.name,
        "merger": batch.merger,
        "hospitals": batch.hospitals,
        "blocks": len(batch.blocks),
        "signatures_checked": agent is not None,
        "remarks": remarks,
    }
    return Report(document, "\n".join([*remarks, text]))


def _sealed_draft(path: Path, mixer: MergerSecret | None) -> SealedDraft:
    """A file of `privet data seal`, out of its envelope. Args: mixer: who opens envelopes; None: there are none."""
    from shared.contract.mixing import out_of_envelope
    from shared.wire.contract_sealed import (
        MAX_ENVELOPE_BYTES,
        MAX_SEALED_BYTES,
        EnvelopedDraft,
        SealedDraft,
    )

    if mixer is None:
        return read_sealed(SealedDraft, path, MAX_SEALED_BYTES, _SEALED)
    envelope = read_sealed(EnvelopedDraft, path, MAX_ENVELOPE_BYTES, _ENVELOPED)
    return out_of_envelope(envelope, mixer, str(path))


def opened_batch(path: Path, key: Path) -> list[DataContract]:
    """What a batch holds, as drafts of no hospital. Raises: InputError: no batch, no key for it, or not whole."""
    from shared.contract.mixing import open_batch

    batch, secret = read_batch(path), read_secret(key)
    blocks = len(batch.blocks)
    with typer.progressbar(
        length=blocks,
        label=f"Opening {blocks} blocks",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        update_min_steps=256,
    ) as bar:
        return open_batch(batch, secret, bar.update)


def read_batch(path: Path) -> SealedBatch:
    """A file of `privet data mix`. Raises: InputError: it is none."""
    from shared.wire.contract_sealed import MAX_BATCH_BYTES, SealedBatch

    return read_sealed(SealedBatch, path, MAX_BATCH_BYTES, _BATCH)


def read_sealed(model: type[Model], path: Path, max_bytes: int, remedy: str) -> Model:
    """A file of one sealed document. Raises: InputError: it is none, or too long."""
    raw = read_file(path, max_bytes=max_bytes, remedy=remedy)
    try:
        return model.parse(raw, what=path.name, max_bytes=max_bytes)
    except PeerError as error:
        raise InputError(str(error), where=str(path), remedy=remedy) from None


def _signed(sealed: SealedDraft, agent: Path) -> SealedDraft:
    """Raises: InputError: no agent, or it has not joined."""
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import load_settings
    from shared.protocol.sealed_signing import sign_sealed

    keyring = Keyring.open(agent)
    if keyring.certificate is None:
        raise InputError("this agent has no certificate yet", remedy="Join first: privet agent join DIR.")
    return sign_sealed(sealed, load_settings(agent).id, keyring.identity, keyring.certificate.der)


def _check_senders(files: Sequence[Path], drafts: Sequence[SealedDraft], agent: Path) -> None:
    """Raises: PeerError: one that no present member signed, with its file."""
    from hospital_agent.keyring import Keyring
    from shared.protocol.sealed_signing import verify_sealed

    trust = Keyring.open(agent).hospital_trust()
    for path, draft in zip(files, drafts, strict=True):
        try:
            verify_sealed(draft, trust)
        except PeerError as error:
            raise PeerError(error.code, f"{path}: {error}") from None


def _own_orders(contract: DataContract) -> Sequence[str]:
    """A remark on lists whose order says something, since then each value is told with its place."""
    from shared.contract.statements import has_own_order
    from shared.wire.contract import owners_of

    names = [owner.name for owner in owners_of(contract) if has_own_order(owner.values)]
    remark = (
        f"N.B. {', '.join(names)}: the list has an order of its own, so whoever merges sees each value with its place. "
        "Where that list is not public, sort it (numbers by size, then texts)."
    )
    return [remark] if names else []
