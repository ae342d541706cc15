"""The commands of `privet authority`; each returns a report, `privet.__main__` prints it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer
from pydantic import TypeAdapter, ValidationError

from shared.crypto.paillier import KEY_BITS
from shared.errors import InputError
from shared.reports import Report
from shared.wire.enrolment import FederationName, KeyBits
from shared.wire.manifest import KeyMode
from trusted_authority import ceremony, describing, passphrases
from trusted_authority.bundles import write_bundles
from trusted_authority.requests import Request, read_requests
from trusted_authority.vault import Vault

app = typer.Typer(
    help="Found a federation, certify its members, deal its keys. Works on files only: keep it offline.",
    no_args_is_help=True,
    add_completion=False,
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The authority's folder of keys.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where bundles go; DIR/out by default.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: the fingerprints were compared already.")]


@app.command()
def init(
    folder: Folder,
    name: Annotated[str, typer.Option("--name", help="The federation's name, as its certificates show it.")],
    key_bits: Annotated[int, typer.Option("--key-bits", help="Paillier key: 2048, 3072 or 4096.")] = 3072,
    passphrase: Annotated[
        bool,
        typer.Option(
            "--passphrase",
            help=f"Put the private files under a passphrase (asked, or {passphrases.VARIABLE}).",
        ),
    ] = False,
) -> Report:
    """Found a federation: root key, Paillier key and federation secret, in a new folder."""
    bits, name = _key_bits(key_bits), _federation_name(name)
    chosen = passphrases.choose(asked_for=passphrase)
    vault, federation = ceremony.found(folder, name=name, key_bits=bits, passphrase=chosen, now=_now())
    return describing.founded(vault, federation, _now())


@app.command()
def certify(
    folder: Folder,
    requests: Annotated[
        list[Path], typer.Argument(metavar="REQUEST...", help="Certificate requests (.csr).")
    ],
    out: Out = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Allow new keys for a member that is already certified.")
    ] = False,
    yes: Yes = False,
) -> Report:
    """Certify members from their requests and write their bundles."""
    vault = Vault.open(folder)
    checked = read_requests(vault, requests, replace=replace)
    confirmed = checked if yes else _confirmed(checked)
    if not confirmed:
        raise InputError(
            "no request was confirmed, so nothing was certified", remedy="Run the command again."
        )
    written = ceremony.certify(vault, confirmed, out=out or vault.out, now=_now())
    headline = describing.headline([request.subject.id for request in confirmed], "Certified")
    return describing.handed_out(vault, written, _now(), headline=headline)


@app.command()
def remove(
    folder: Folder,
    member: Annotated[str, typer.Argument(metavar="ID")],
    out: Out = None,
    rotate_key: Annotated[
        bool,
        typer.Option("--rotate", help="Also make the new key that its leaving demands, for those who stay."),
    ] = False,
) -> Report:
    """Drop a member from the federation's list; certify its request again to take that back."""
    vault = Vault.open(folder)
    written = ceremony.remove(vault, member, out=out or vault.out, now=_now())
    meaning = ""
    if rotate_key:
        # Killed in between, the member is out and `rotate` alone does the rest, as the warnings of `show` say.
        written = ceremony.rotate(vault, key_bits=None, out=out or vault.out, now=_now())
        meaning = (
            f"Epoch {written.federation.epoch}: a new key for those who stay.\n"
            "Jobs that run under the old key among them go on; what the old key has closed stays readable to its "
            "holders, so to the one that left too: its own old studies.\n"
        )
    headline = describing.headline([member], "Removed", meaning)
    return describing.handed_out(vault, written, _now(), headline=headline)


@app.command()
def rotate(
    folder: Folder,
    key_bits: Annotated[
        int | None, typer.Option("--key-bits", help="2048, 3072 or 4096; the present size by default.")
    ] = None,
    key_mode: Annotated[
        str | None,
        typer.Option(
            "--key-mode",
            help="shared: every agent holds the whole key. threshold: each holds a share, and a sum opens only when "
            "so many agents have seen what it is made of. The present one by default.",
        ),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            "--threshold",
            help="Of key mode threshold: how many agents open a sum together. All of them by default; fewer let a job "
            "go on without a silent one, and keep the promise only while fewer than 2 T - H of the H agents work "
            "against the others.",
        ),
    ] = None,
    out: Out = None,
) -> Report:
    """Make a new Paillier key and federation secret, with new bundles for every member."""
    bits = None if key_bits is None else _key_bits(key_bits)
    vault = Vault.open(folder)
    written = ceremony.rotate(
        vault,
        key_bits=bits,
        out=out or vault.out,
        now=_now(),
        key_mode=None if key_mode is None else _key_mode(key_mode),
        threshold=threshold,
    )
    headline = describing.headline(
        list(written.bundles) or ["no member"], f"Epoch {written.federation.epoch}: new key for"
    )
    return describing.handed_out(vault, written, _now(), headline=headline)


@app.command()
def bundles(
    folder: Folder,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="All members by default.")
    ] = None,
    out: Out = None,
) -> Report:
    """Write bundles again, for instance when one got lost."""
    vault = Vault.open(folder)
    federation = vault.federation()
    wanted = ids or [member.id for member in federation.members]
    unknown = [member for member in wanted if federation.member(member) is None]
    if unknown:
        raise InputError(
            "no member of that id", where=unknown[0], remedy="List the members with `privet authority show`."
        )
    written = write_bundles(vault, wanted, out=out or vault.out)
    return describing.handed_out(
        vault, written, _now(), headline=describing.headline(wanted, "Bundles again for")
    )


@app.command()
def show(folder: Folder) -> Report:
    """Members, fingerprints, epoch and age of the key, and what should be done soon."""
    vault = Vault.open(folder)
    return describing.shown(vault, vault.federation(), _now())


def _confirmed(requests: Sequence[Request]) -> list[Request]:
    if not sys.stdin.isatty():
        raise InputError(
            "each request's fingerprint must be compared by a person, and there is no terminal to ask at",
            remedy="Run the command in a terminal, or add --yes if the fingerprints were compared already.",
        )
    return [request for request in requests if typer.confirm(describing.question(request), err=True)]


def _key_bits(bits: int) -> KeyBits:
    if bits not in KEY_BITS:
        raise InputError(
            "a Paillier key has 2048, 3072 or 4096 bits", where="--key-bits", remedy="Choose one of these."
        )
    return cast(Literal[2048, 3072, 4096], bits)


def _key_mode(name: str) -> KeyMode:
    if name not in get_args(KeyMode):
        raise InputError(
            "a key mode is shared or threshold", where="--key-mode", remedy="Choose one of these."
        )
    return cast(KeyMode, name)


def _federation_name(name: str) -> str:
    try:
        return TypeAdapter[str](FederationName).validate_python(name)
    except ValidationError:
        raise InputError(
            "a federation's name has 1 to 63 letters, digits, blanks, dots, hyphens or underscores",
            where="--name",
            remedy="Choose such a name; it begins with a letter or a digit.",
        ) from None


def _now() -> datetime:
    return datetime.now(UTC)
