"""What the advisor says of a study that is being written, or of a job under one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from pydantic import ValidationError

from cloud_service.pages.frame import Page
from cloud_service.pages.study_form import Reading, Values, whole_number
from cloud_service.pages.typed_schema import Described
from cloud_service.pages.wording import BAD, GOOD, WAIT
from cloud_service.service.services import Services
from shared.advice.advising import Advice, Offer, advise
from shared.advice.case import Line, case_of
from shared.advice.fitting import Mode, Wishes
from shared.advice.words import duration_text, entry_text, number_text, party_text, size_text
from shared.errors import InputError
from shared.protocol.disclosure import Entry
from shared.wire.contract import ContractAttribute, DataContract
from shared.wire.manifest import SchemaSpec
from shared.wire.quality import QualityKind

_LEAST_KEY_BITS: Final = 2048
_KINDS: Final = {"fits": GOOD, "unwished": WAIT, "impossible": BAD}


@dataclass(frozen=True, slots=True)
class AttributeLine:
    """An attribute as a person reads it back. `kind`: name of a text. The rest is of its data contract."""

    name: str
    kind: str
    values: str
    unit: str = ""
    meaning: str = ""
    columns: str = ""


def attributes_of(described: Described | None) -> list[AttributeLine]:
    """Attributes, the class last; none where nothing can be read yet."""
    schema = _schema(described)
    if schema is None:
        return []
    told = {one.name: one for one in _contracted(described)}
    lines = []
    for one in schema.attributes:
        if one.numeric is not None:
            kind, values = "numeric", f"{one.numeric.minimum} … {one.numeric.maximum}"
        else:
            ordered = one.cuts is not None or one.treat_as == "ordered"
            kind, values = "ordered" if ordered else "listed", "; ".join(one.values)
        of_contract = told.get(one.name)
        if of_contract is None:
            lines.append(AttributeLine(one.name, kind, values))
            continue
        columns = ", ".join(of_contract.columns)
        lines.append(
            AttributeLine(one.name, kind, values, of_contract.unit, of_contract.description, columns)
        )
    return [*lines, AttributeLine(schema.class_.name, "class", "; ".join(schema.class_.labels))]


def _contracted(described: Described | None) -> Sequence[ContractAttribute]:
    """Attributes of the contract; none where there is none, or none that could be read."""
    if described is None or described.contract is None:
        return ()
    try:
        return DataContract.model_validate(described.contract).attributes
    except ValidationError:  # told beside the field, when the step is saved
        return ()


@dataclass(frozen=True, slots=True)
class OfferView:
    """A mode as a card shows it; figures are texts, empty where the mode cannot be. `mind`: for and against alike."""

    mode: Mode
    rank: str
    kind: str
    time: str
    sent: str
    rounds: str
    powers: str
    forbids: tuple[str, ...]
    against: tuple[str, ...]
    mind: tuple[str, ...]
    learned: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class AdviceView:
    """The modes side by side. `best`: None where each is against a wish or cannot be."""

    best: Mode | None
    offers: tuple[OfferView, ...]
    round_trip_ms: int
    megabits: int

    def offer(self, mode: str) -> OfferView:
        """One of them."""
        return next(offer for offer in self.offers if offer.mode == mode)


def shown(advice: Advice) -> AdviceView:
    """An advice as cards show it."""
    line = advice.case.line
    offers = tuple(_offer(offer) for offer in advice.offers)
    return AdviceView(advice.best, offers, round(line.round_trip_ms), round(line.megabits))


def _offer(offer: Offer) -> OfferView:
    costs = offer.costs
    return OfferView(
        mode=offer.mode,
        rank=offer.fit.rank,
        kind=_KINDS[offer.fit.rank],
        time="" if costs is None else duration_text(costs.seconds),
        sent="" if costs is None else size_text(costs.sent_bytes),
        rounds="" if costs is None else number_text(costs.rounds),
        powers="" if costs is None or not costs.exponentiations else number_text(costs.exponentiations),
        forbids=offer.fit.forbids,
        against=offer.fit.against,
        mind=offer.fit.speaks_for + offer.fit.mind,
        learned=learned_of(offer.entries),
    )


def learned_of(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Who learns what at most, in words."""
    told: dict[str, list[str]] = {}
    for entry in entries:
        who = party_text(entry)
        told.setdefault(f"{who[0].upper()}{who[1:]}", []).append(entry_text(entry))
    return told


def advice_of(page: Page, values: Values, reading: Reading) -> AdviceView | None:
    """The modes side by side; None while schema, hospitals or records are not known."""
    schema = _schema(reading.described)
    if schema is None:
        return None
    bits, threshold = key_of(page.services)
    try:
        case = case_of(
            schema,
            hospitals=len(values.values("members")),
            records=whole(values.value("records")),
            max_depth=whole(values.value("max_depth")) or None,
            min_node=whole(values.value("min_node")) or 1,
            key_bits=bits,
            threshold=threshold,
            line=Line(_real(values.value("round_trip_ms"), 30.0), _real(values.value("megabits"), 50.0)),
            figures=[kind for kind in get_args(QualityKind) if values.has("quality", kind)],
        )
    except InputError:
        return None
    wishes = Wishes(not values.has("hide_sums"), not values.has("distrust"), not values.has("hide_tree"))
    return shown(advise(case, wishes))


def key_of(services: Services) -> tuple[int, int | None]:
    """Bits of the federation's key, and how many open a sum together where it is in shares."""
    federation = services.membership.current().federation
    threshold = None if federation.threshold is None else federation.threshold.threshold
    return max(_LEAST_KEY_BITS, federation.key_bits), threshold


def _schema(described: Described | None) -> SchemaSpec | None:
    try:
        return None if described is None else SchemaSpec.model_validate(described.schema)
    except ValidationError:
        return None


def whole(said: str) -> int:
    """A number as a person types it; 0 for none."""
    return whole_number(said) or 0


def _real(said: str, otherwise: float) -> float:
    try:
        found = float(said)
    except ValueError:
        return otherwise
    return found if 0 < found < 1e6 else otherwise
