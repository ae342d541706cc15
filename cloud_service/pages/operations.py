"""How this cloud runs, in words: for those who keep it running. No word of a study, a job or a hospital."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastapi import Depends, Response
from prometheus_client.core import Metric

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word, code_in_words
from cloud_service.service.permissions import Permission
from cloud_service.service.vitals import Vitals
from cloud_service.store import schema
from shared.configuring import effective
from shared.protocol.expiry import NOTICE_SECONDS
from shared.texts import has_text, text

router = page_router()
_OLD_BACKUP_SECONDS: Final = 2 * 86_400
_DAY_SECONDS: Final = 86_400
_JOBS: Final = "privet_jobs"
_REFUSALS: Final = "privet_refusals"


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at, how it is, and the figure behind that."""

    name: str
    state: Word
    figure: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in force; a secret's value is hidden."""

    path: str
    value: str


@router.get("/operations")
def operations(page: Annotated[Page, Depends(page_may(Permission.OPERATIONS_READ))]) -> Response:
    """Health, figures and settings."""
    vitals: Vitals = page.request.app.state.vitals
    families = {family.name: family for family in vitals.collect()}
    return page.show(
        "operations.html",
        active="operations",
        version=version("privet"),
        signs=[*_readiness(page), *_signs(families)],
        figures=[(text(f"cloud.vital.{name}"), _number(family)) for name, family in _plain(families)],
        jobs=_by_label(families, _JOBS, "state", "cloud.state."),
        refusals=_refusals(families),
        settings=[
            Setting(one.path, _told(one.value))
            for one in effective(page.services.settings, [])
            if one.path != "folder"
        ],
    )


def _readiness(page: Page) -> Iterator[Sign]:
    is_stopping = page.services.notifier.is_draining
    is_usable = schema.state(page.services.database).is_usable
    yield _sign("serving", not is_stopping, "")
    yield _sign("tables", is_usable, "")


def _signs(families: dict[str, Metric]) -> Iterator[Sign]:
    yield _sign("database", _value(families, "privet_database_up") == 1, "")
    for name in ("privet_certificate_days_left", "privet_tls_certificate_days_left"):
        if (days := _value(families, name)) is not None:
            figure = text("cloud.operations.days", n=int(days))
            yield _sign(
                name.removeprefix("privet_"), days > 0, figure, is_soon=days * _DAY_SECONDS < NOTICE_SECONDS
            )
    age = _value(families, "privet_backup_age_seconds")
    if age is None:
        yield Sign(text("cloud.operations.backup"), Word(text("cloud.operations.never"), WAIT), "")
    else:
        figure = text("cloud.operations.days_ago", n=int(age // _DAY_SECONDS))
        yield _sign("backup", True, figure, is_soon=age > _OLD_BACKUP_SECONDS)


def _sign(name: str, is_good: bool, figure: str, *, is_soon: bool = False) -> Sign:
    word, kind = (
        ("well", GOOD) if is_good and not is_soon else ("look", WAIT) if is_good else ("not_well", BAD)
    )
    return Sign(text(f"cloud.operations.{name}"), Word(text(f"cloud.operations.{word}"), kind), figure)


def _plain(families: dict[str, Metric]) -> Iterator[tuple[str, Metric]]:
    """Figures of one number each that have a name in words."""
    for name, family in families.items():
        if has_text(f"cloud.vital.{name}"):
            yield name, family


def _by_label(families: dict[str, Metric], name: str, label: str, words: str) -> list[tuple[str, int]]:
    samples = families[name].samples if name in families else []
    return [(text(words + sample.labels[label]), int(sample.value)) for sample in samples if sample.value]


def _refusals(families: dict[str, Metric]) -> list[tuple[str, str, int]]:
    """By code, what it means, and how often since this process has started; the most frequent first."""
    samples = families[_REFUSALS].samples if _REFUSALS in families else []
    found = [(one.labels["code"], code_in_words(one.labels["code"]), int(one.value)) for one in samples]
    return sorted(found, key=lambda one: (-one[2], one[0]))


def _value(families: dict[str, Metric], name: str) -> float | None:
    return families[name].samples[0].value if name in families and families[name].samples else None


def _number(family: Metric) -> int:
    return round(sum(sample.value for sample in family.samples if not sample.name.endswith("_created")))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return text("common.yes") if value else text("common.no")
    if isinstance(value, list) and value:
        return ", ".join(map(str, value))
    return text("cloud.operations.not_set") if value in (None, "", [], {}) else str(value)
