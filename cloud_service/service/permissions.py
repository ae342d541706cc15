"""What people may do: roles, each a set of permissions, and the caller who has some of them.

Least privilege: who keeps the machines running reads no trees, who reads trees starts no jobs, and who speaks for a
hospital sees only what invites it. To guard a new endpoint name its permission (`cloud_service.api.caller.may`);
a permission that is missing here gets a line in `Permission` and in the roles that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cloud_service.service.refusals import ForbiddenError
from shared.errors import InputError
from shared.ids import is_valid_id


class Permission(StrEnum):
    """One thing that an endpoint lets people do."""

    HOSPITALS_READ = "hospitals:read"
    STUDIES_READ = "studies:read"
    STUDIES_WRITE = "studies:write"
    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    RESULTS_READ = "results:read"
    TREES_READ = "trees:read"
    LEDGER_READ = "ledger:read"
    AUDIT_READ = "audit:read"
    PEOPLE_READ = "people:read"
    OPERATIONS_READ = "operations:read"


class Role(StrEnum):
    """What somebody is to the federation."""

    OPERATOR = "operator"
    COORDINATOR = "coordinator"
    STEWARD = "steward"
    ANALYST = "analyst"
    AUDITOR = "auditor"


_P: Final = Permission
_LOOK: Final = frozenset({_P.HOSPITALS_READ, _P.STUDIES_READ, _P.JOBS_READ})
PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.OPERATOR: _LOOK | {_P.OPERATIONS_READ, _P.PEOPLE_READ},
    Role.COORDINATOR: _LOOK | {_P.STUDIES_WRITE, _P.JOBS_WRITE, _P.RESULTS_READ, _P.LEDGER_READ},
    Role.STEWARD: _LOOK | {_P.RESULTS_READ, _P.TREES_READ, _P.LEDGER_READ},
    Role.ANALYST: _LOOK | {_P.RESULTS_READ, _P.TREES_READ, _P.LEDGER_READ},
    Role.AUDITOR: _LOOK | {_P.RESULTS_READ, _P.LEDGER_READ, _P.AUDIT_READ, _P.PEOPLE_READ},
}
"""What each role may do."""

_WITH_A_STEWARD: Final = frozenset({Role.STEWARD, Role.ANALYST})
"""Who speaks for one hospital has no role that looks at all of them."""
_OF_ONE_HOSPITAL: Final = frozenset(
    permission for role in _WITH_A_STEWARD for permission in PERMISSIONS[role]
)
"""Nor a single permission of such a role: what it opens is not cut to one hospital."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `name` of a person, or label of a token; `hospital`: the one whose studies and jobs are all it sees."""

    name: str
    roles: frozenset[Role]
    permissions: frozenset[Permission]
    hospital: str | None = None

    def require(self, permission: Permission) -> None:
        """Raises: ForbiddenError: naming the permission and the roles that have it."""
        if permission not in self.permissions:
            roles = tuple(role.value for role in Role if permission in PERMISSIONS[role])
            told = f"this needs the permission {permission}, which these roles have: {', '.join(roles)}"
            raise ForbiddenError(told, permission=permission.value, roles=roles)


def caller_of(name: str, scopes: Iterable[str], hospital: str | None) -> Caller:
    """Who holds these scopes: names of roles, and of single permissions. Names of another version give nothing."""
    held = frozenset(scopes)
    roles = frozenset(role for role in Role if role in held)
    single = frozenset(permission for permission in Permission if permission in held)
    return Caller(name, roles, single.union(*(PERMISSIONS[role] for role in roles)), hospital)


def check_scopes(scopes: Iterable[str], hospital: str | None) -> None:
    """Whether these may be given out together.

    Raises: InputError: none or an unknown scope, a steward without a hospital, or a hospital's scopes that would look
        beyond it.
    """
    held = frozenset(scopes)
    unknown = held - set(Role) - set(Permission)
    if not held or unknown:
        raise InputError(
            "there is no such role or permission" if unknown else "no role was given",
            where="--role",
            remedy=f"Use {', '.join(Role)}, or a single permission: {', '.join(Permission)}.",
        )
    if hospital is not None and not is_valid_id(hospital):
        raise InputError(
            "a hospital's id has 1 to 64 of a-z, 0-9 and -",
            where="--hospital",
            remedy="Name it as it joined.",
        )
    if Role.STEWARD in held and hospital is None:
        raise InputError("a steward speaks for one hospital", where="--role", remedy="Add --hospital ID.")
    if hospital is not None and not held <= _WITH_A_STEWARD | _OF_ONE_HOSPITAL:
        raise InputError(
            "operator, coordinator, auditor and their permissions look at all hospitals",
            where="--hospital",
            remedy=f"Leave out --hospital, or give only steward, analyst, {', '.join(sorted(_OF_ONE_HOSPITAL))}.",
        )
