"""People's access on both databases: many at once, equal work for equal answers, and the chain of the log."""

from __future__ import annotations

import base64
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from argon2 import PasswordHasher
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import event, text

from cloud_service.service import people_log
from cloud_service.service.attempts import NAME_FREE
from cloud_service.service.people import People, build_people
from cloud_service.service.permissions import Permission, Role, caller_of, check_scopes
from cloud_service.service.rates import RateLimitedError, Rates
from cloud_service.service.refusals import NotSignedInError
from cloud_service.service.sessions import Sessions, SignedIn
from cloud_service.service.signing_in import Enrolment
from cloud_service.service.tokens import MAX_DAYS, Tokens
from cloud_service.settings import Settings
from cloud_service.store import people as store
from cloud_service.store import schema
from cloud_service.store.database import Database
from shared.crypto import passwords
from shared.crypto.identity import IdentityKey
from shared.errors import InputError
from shared.protocol.audit_log import link

PASSWORD = "correct horse battery staple"
NOW = 1_796_100_000
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
NOBODYS = QUICK.hash("nobody's")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    found = Database(database_url)
    schema.upgrade(found)
    yield found
    found.dispose()


@pytest.fixture
def people(database: Database, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> People:
    monkeypatch.setattr(passwords, "_HASHER", QUICK)
    monkeypatch.setattr(passwords, "_nobodys", lambda: NOBODYS)
    settings = Settings(folder=tmp_path)
    return build_people(settings, database, IdentityKey.generate(), Rates(1000), lambda: NOW)[2]


def at_once(work: Callable[[int], object], times: int) -> Counter[str]:
    """The kinds of what came of it in so many threads."""
    kinds: list[str] = []
    ready = threading.Barrier(times)

    def run(number: int) -> None:
        ready.wait()
        try:
            kinds.append(type(work(number)).__name__)
        except Exception as error:
            kinds.append(type(error).__name__)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(kinds)


def test_guesses_at_once_are_counted_before_they_are_tried(people: People) -> None:
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    found = at_once(lambda number: people.sign_in.sign_in("ana", f"guess {number}", "", "::1"), 16)
    assert found == {"NotSignedInError": NAME_FREE, "RateLimitedError": 16 - NAME_FREE}


def test_one_code_at_once_is_one_session(people: People) -> None:
    people.accounts.add("otto", PASSWORD, ["operator"], None)
    shown = people.sign_in.sign_in("otto", PASSWORD, "", "::1")
    assert isinstance(shown, Enrolment)
    secret = parse_qs(urlsplit(shown.address).query)["secret"][0]
    totp = TOTP(base64.b32decode(secret), 6, SHA1(), 30)
    first, code = totp.generate(NOW - 30).decode(), totp.generate(NOW).decode()
    assert isinstance(people.sign_in.sign_in("otto", PASSWORD, first, "::1"), SignedIn)
    found = at_once(lambda _: people.sign_in.sign_in("otto", PASSWORD, code, "::1"), NAME_FREE)
    assert (found["SignedIn"], found["NotSignedInError"]) == (1, NAME_FREE - 1)


def test_the_log_is_one_chain_whoever_appends(database: Database) -> None:
    def append(number: int) -> None:
        with database.write() as connection:
            people_log.record(connection, f"p{number}", "tried", "it", NOW)

    assert at_once(append, 12) == {"NoneType": 12}
    with database.read() as connection:
        entries = store.records(connection, after=-1, limit=100)
    head = people_log.START
    for number, entry in enumerate(entries):
        head = link(head, entry.record)
        assert (entry.number, entry.hash) == (number, head)
    assert len(entries) == 12


def test_equal_answers_take_equal_work(
    people: People, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes, codes and statements are counted: a clock would only measure this machine."""
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    people.accounts.add("gone", PASSWORD, ["analyst"], None)
    people.accounts.disable("gone")
    people.accounts.add("otto", PASSWORD, ["operator"], None)
    people.sign_in.sign_in("otto", PASSWORD, "", "::1")
    done: Counter[str] = Counter()
    verify, generate = PasswordHasher.verify, TOTP.generate
    monkeypatch.setattr(PasswordHasher, "verify", lambda *a: (done.update(["hash"]), verify(*a))[1])
    monkeypatch.setattr(TOTP, "generate", lambda *a: (done.update(["code"]), generate(*a))[1])
    event.listen(database.engine, "before_cursor_execute", lambda *_: done.update(["statement"]))
    counts = []
    for name, password, code in (
        ("nobody", PASSWORD, "123456"),
        ("ana", "wrong", "123456"),
        ("otto", "wrong", "000000"),
    ):
        done.clear()
        with pytest.raises(NotSignedInError):
            people.sign_in.sign_in(name, password, code, "::1")
        counts.append(dict(done))
    assert counts[0] == counts[1] == counts[2]
    assert (counts[0]["hash"], counts[0]["code"]) == (1, 3)
    for name, password, code in (("otto", PASSWORD, "000000"), ("gone", PASSWORD, "")):
        done.clear()
        with pytest.raises(NotSignedInError):
            people.sign_in.sign_in(name, password, code, "::1")
        assert (done["hash"], done["code"]) == (1, 3)
        assert done["statement"] <= counts[0]["statement"] + 1  # who knows the password is read once more


def test_success_forgives_a_name_and_not_an_address(people: People) -> None:
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    for _ in range(4):
        with pytest.raises(NotSignedInError):
            people.sign_in.sign_in("ana", "wrong", "", "192.0.2.7")
    assert isinstance(people.sign_in.sign_in("ana", PASSWORD, "", "192.0.2.7"), SignedIn)
    with people.database.read() as connection:
        kept = sorted(connection.scalars(text("SELECT failed FROM sign_in_attempts")))
    assert kept == [0, 4]


def test_a_name_that_waits_has_to_wait_from_everywhere(people: People) -> None:
    for number in range(NAME_FREE):
        with pytest.raises(NotSignedInError):
            people.sign_in.sign_in("nobody", "wrong", "", f"192.0.2.{number}")
    with pytest.raises(RateLimitedError) as waits:
        people.sign_in.sign_in("nobody", "wrong", "", "198.51.100.1")
    assert waits.value.retry_after_seconds == 1


BAD_SCOPES: list[tuple[list[str], str | None]] = [
    ([], None),
    (["emperor"], None),
    (["steward"], None),
    (["steward"], "H 1"),
    (["steward", "operator"], "h1"),
    (["steward", "coordinator"], "h1"),
    (["steward", "auditor"], "h1"),
    (["auditor"], "h1"),
]


@pytest.mark.parametrize(("scopes", "hospital"), BAD_SCOPES)
def test_scopes_that_do_not_go_together(scopes: list[str], hospital: str | None) -> None:
    with pytest.raises(InputError):
        check_scopes(scopes, hospital)


def test_scopes_that_go_together() -> None:
    check_scopes(["steward", "analyst"], "h1")
    check_scopes(["operator", "coordinator"], None)
    check_scopes(["jobs:read"], "h1")
    robot = caller_of("robot", ["jobs:read", "analyst"], None)
    assert robot.roles == {Role.ANALYST}
    assert Permission.TREES_READ in robot.permissions


def test_an_account_is_of_roles_not_of_permissions(people: People) -> None:
    with pytest.raises(InputError, match="no such role"):
        people.accounts.add("ana", PASSWORD, ["jobs:read"], None)
    with pytest.raises(InputError, match="1 to 64"):
        people.accounts.add("Ana Maria", PASSWORD, ["analyst"], None)
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    with pytest.raises(InputError, match="there is, or was"):
        people.accounts.add("ana", PASSWORD, ["analyst"], None)
    with pytest.raises(InputError, match="no person of this name"):
        people.accounts.disable("ben")
    for days in (0, MAX_DAYS + 1):
        with pytest.raises(InputError, match="1 to 366 days"):
            Tokens(people.database, lambda: NOW).create("x", days=days)


@pytest.mark.parametrize("permission", Permission)
def test_who_sees_one_hospital_has_no_permission_that_looks_beyond_it(permission: Permission) -> None:
    cut = {"hospitals:read", "studies:read", "jobs:read", "results:read", "trees:read", "ledger:read"}
    check_scopes([permission], None)
    if permission in cut:
        check_scopes([permission, "steward"], "h1")
    else:
        with pytest.raises(InputError, match="look at all hospitals"):
            check_scopes([permission], "h1")


def test_who_is_disabled_while_signing_in_has_no_session(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    is_checked, open_session = threading.Event(), Sessions.open

    def slowly(*arguments: Any) -> SignedIn:
        is_checked.set()
        time.sleep(0.5)  # for whoever does not wait for this transaction
        return open_session(*arguments)

    monkeypatch.setattr(Sessions, "open", slowly)

    def disable() -> None:
        assert is_checked.wait(30)
        people.accounts.disable("ana")

    thread = threading.Thread(target=disable)
    thread.start()
    found = people.sign_in.sign_in("ana", PASSWORD, "", "::1")
    thread.join()
    assert isinstance(found, SignedIn)
    assert people.sign_in.sessions.find(found.token) is None


@pytest.mark.parametrize("change", ["password", "second factor"])
def test_what_the_operator_resets_meanwhile_stays_reset(
    people: People, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Who knows the old password is a moment too late."""
    people.accounts.add("ana", PASSWORD, ["analyst"], None)
    is_password, reset = passwords.is_password, "another four words in a row"

    def meanwhile(kept: str | None, password: str) -> bool:
        right = is_password(kept, password)
        monkeypatch.setattr(passwords, "is_password", is_password)
        people.accounts.reset_password("ana", reset)
        return right

    monkeypatch.setattr(passwords, "is_password", meanwhile)
    attempts: dict[str, Callable[[str], object]] = {
        "password": partial(people.sign_in.change_password, "ana", PASSWORD, "words of the attacker"),
        "second factor": partial(people.sign_in.add_second_factor, "ana", PASSWORD),
    }
    with pytest.raises(NotSignedInError, match="changed meanwhile"):
        attempts[change]("::1")
    assert isinstance(people.sign_in.sign_in("ana", reset, "", "::1"), SignedIn)


@pytest.mark.parametrize("name", ["operator", "cloud", "all", "Ana", ""])
def test_names_that_mean_somebody_else_in_logs_are_refused(people: People, name: str) -> None:
    with pytest.raises(InputError, match="and is not operator"):
        people.accounts.add(name, PASSWORD, ["analyst"], None)
