"""`privet cloud person` and `privet cloud token`: who may use the API, kept at the cloud's own machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloud_service.places import Folder
from machine.terminal import new_password
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.service.accounts import Account, Accounts
    from cloud_service.service.tokens import Tokens

tokens = typer.Typer(help="Programs' access to the API.", no_args_is_help=True, add_completion=False)
people = typer.Typer(
    help="People's accounts: names, roles, passwords.", no_args_is_help=True, add_completion=False
)


class RoleName(StrEnum):
    """What somebody is to the federation."""

    OPERATOR = "operator"
    COORDINATOR = "coordinator"
    STEWARD = "steward"
    ANALYST = "analyst"
    AUDITOR = "auditor"


Label = Annotated[str, typer.Option("--label", help="A name for the token, 1 to 64 of a-z, 0-9 and -.")]
Name = Annotated[str, typer.Option("--name", help="The person's name, 1 to 64 of a-z, 0-9 and -.")]
Hospital = Annotated[
    str | None, typer.Option("--hospital", help="Sees only studies and jobs that invite it; of stewards.")
]
Roles = Annotated[list[RoleName], typer.Option("--role", help="May be given several times.")]
FromInput = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
]


@tokens.command("create")
def create_token(
    folder: Folder,
    label: Label,
    role: Annotated[
        list[RoleName] | None,
        typer.Option("--role", help="What it may do; may be given several times."),
    ] = None,
    permission: Annotated[
        list[str] | None,
        typer.Option(
            "--permission", help="A single one, such as jobs:read, beside roles or in place of them."
        ),
    ] = None,
    hospital: Hospital = None,
    days: Annotated[int, typer.Option("--days", help="How long it lives, 1 to 366 days.")] = 90,
) -> Report:
    """Make a token for a program or a person; it is shown once."""
    scopes = sorted({*(name.value for name in role or ()), *(permission or ())})
    if not scopes:
        raise InputError(
            "expected what the token may do, and nothing came",
            where="--role",
            remedy=f"Give a role ({', '.join(RoleName)}), or --permission for a single one.",
        )
    with _tokens_of(folder) as kept:
        token = kept.create(label, scopes, hospital=hospital, days=days)
    return Report(
        document={"label": label, "token": token, "scopes": scopes, "hospital": hospital, "days": days},
        text=(
            f"Token {label}: {token}\n"
            f"It may act as {', '.join(scopes)} for {days} days.\n"
            "It is shown only now. Send it as: Authorization: Bearer TOKEN"
        ),
    )


@tokens.command("list")
def list_tokens(folder: Folder) -> Report:
    """Labels, scopes and times of all tokens."""
    from cloud_service.service.tokens import ends

    with _tokens_of(folder) as kept:
        rows = kept.all()
    document = {
        "tokens": [
            {
                "label": row.label,
                "scopes": row.scopes.split(),
                "hospital": row.hospital,
                "created": row.created,
                "expires": ends(row),
                "revoked": row.revoked,
            }
            for row in rows
        ]
    }
    lines = [
        f"{row.label}: {', '.join(row.scopes.split())}{_of(row.hospital)}; made {_day(row.created)}, "
        f"ends {_day(ends(row))}{_since('revoked', row.revoked)}"
        for row in rows
    ]
    return Report(document=document, text="\n".join(lines) or "No tokens yet.")


@tokens.command("revoke")
def revoke_token(
    folder: Folder,
    given: Annotated[str | None, typer.Argument(help="The token's label.", metavar="LABEL")] = None,
    label: Annotated[str | None, typer.Option("--label", help="The same.")] = None,
) -> Report:
    """End a token's life at once."""
    which = given or label
    if which is None:
        raise InputError("which token?", where="LABEL", remedy="Name it: privet cloud token list FOLDER")
    with _tokens_of(folder) as kept:
        kept.revoke(which)
    return Report(document={"label": which, "revoked": True}, text=f"Token {which} is revoked.")


@people.command("add")
def add_person(
    folder: Folder, name: Name, role: Roles, hospital: Hospital = None, password_stdin: FromInput = False
) -> Report:
    """Make an account. The person signs in with name, password and, where the role needs it, a code."""
    with _accounts_of(folder) as kept:
        account = kept.add(
            name, new_password(from_input=password_stdin), [one.value for one in role], hospital
        )
        doubt = _doubt(kept, hospital)
    return _told(
        account,
        f"{name} is added.",
        "Next: sign in at this cloud's address. A role that needs a second factor is shown it at the first sign-in.",
        *doubt,
    )


@people.command("list")
def list_people(folder: Folder) -> Report:
    """Every account with its roles."""
    with _accounts_of(folder) as kept:
        accounts = kept.all()
    lines = [_line(account) for account in accounts]
    return Report(
        document={"people": [_document(account) for account in accounts]},
        text="\n".join(lines) or "No accounts yet.",
    )


@people.command("change")
def change_person(folder: Folder, name: Name, role: Roles, hospital: Hospital = None) -> Report:
    """Give other roles in place of those of before; the person is signed out."""
    with _accounts_of(folder) as kept:
        account = kept.change(name, [one.value for one in role], hospital)
    return _told(account, f"{name} has other roles.")


@people.command("disable")
def disable_person(folder: Folder, name: Name) -> Report:
    """Let somebody in no more, from now on; the name stays taken."""
    with _accounts_of(folder) as kept:
        account = kept.disable(name)
    return _told(
        account, f"{name} is let in no more.", f"Undo: privet cloud person enable {folder} --name {name}"
    )


@people.command("enable")
def enable_person(folder: Folder, name: Name) -> Report:
    """Let somebody in again, with the password and second factor of before."""
    with _accounts_of(folder) as kept:
        account = kept.enable(name)
    return _told(account, f"{name} is let in again.")


@people.command("reset-password")
def reset_password(folder: Folder, name: Name, password_stdin: FromInput = False) -> Report:
    """Give another password; the person is signed out."""
    with _accounts_of(folder) as kept:
        kept.get(name)
        account = kept.reset_password(name, new_password(from_input=password_stdin))
    return _told(account, f"{name} has another password.")


@people.command("reset-second-factor")
def reset_second_factor(folder: Folder, name: Name) -> Report:
    """Forget somebody's second factor; the next sign-in shows a new one."""
    with _accounts_of(folder) as kept:
        account = kept.reset_second_factor(name)
    return _told(account, f"{name} has no second factor now; the next sign-in shows a new one.")


@contextmanager
def _tokens_of(folder: Path) -> Iterator[Tokens]:
    from cloud_service.service.opened import open_people

    with open_people(folder) as (kept, _):
        yield kept


@contextmanager
def _accounts_of(folder: Path) -> Iterator[Accounts]:
    from cloud_service.service.opened import open_people

    with open_people(folder) as (_, kept):
        yield kept


def _document(account: Account) -> dict[str, object]:
    return {
        "name": account.name,
        "roles": list(account.roles),
        "hospital": account.hospital,
        "has_second_factor": account.has_second_factor,
        "created": account.created,
        "disabled": account.disabled,
    }


def _line(account: Account) -> str:
    factor = "second factor" if account.has_second_factor else "no second factor yet"
    return (
        f"{account.name}: {', '.join(account.roles)}{_of(account.hospital)}; {factor}, "
        f"made {_day(account.created)}{_since('disabled', account.disabled)}"
    )


def _told(account: Account, *sentences: str) -> Report:
    return Report(document=_document(account), text="\n".join((*sentences, _line(account))))


def _doubt(kept: Accounts, hospital: str | None) -> list[str]:
    """A mistyped hospital makes an account that sees nothing; one that is still to come is nothing wrong."""
    from cloud_service.store import directory

    if hospital is None:
        return []
    with kept.database.read() as connection:
        if directory.hospital(connection, hospital) is not None:
            return []
    return [
        f"Note: no hospital {hospital} has registered here so far; until one does, this person sees nothing."
    ]


def _of(hospital: str | None) -> str:
    return "" if hospital is None else f" of {hospital}"


def _day(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _since(word: str, time: int | None) -> str:
    return "" if time is None else f", {word} {_day(time)}"
