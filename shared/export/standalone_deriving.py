"""What a standalone file needs where the study makes attributes of several columns: tables, and the program for them.

The program reads and makes as `shared.contract.deriving` does; it is a text because it runs without Privet, under
Python 3.8 as well. Files of studies that derive nothing have `NOTHING` in its place.
"""

from __future__ import annotations

from typing import Any, Final

from shared.contract.derivation_rules import in_one_form
from shared.contract.deriving import date_patterns, source_of, spellings_of, truth_texts
from shared.export.subject import Subject
from shared.wire.contract import ContractAttribute, ContractInput, DataContract
from shared.wire.contract_derived import AnyOf, Combination, Derivation, Product

Row = tuple[Any, ...]

NOTHING: Final = '''
def derive(given):
    """The record as it is: the study makes no attribute of several columns."""
    return given


def derived_too(names):
    """Columns of a file, and what can be made of them."""
    return names
'''

DERIVING: Final = r'''
def derive(given):
    """The record with what the study makes of several columns, where it names all of them; else as it is."""
    found = {name: value for name, value in given.items() if name not in SPARE}
    for name, make, sources, rule in DERIVED:
        if all(source[0] in given for source in sources):
            fields = [source_text(name, given[source[0]], *source) for source in sources]
            found[name] = MAKERS[make](name, fields, *rule)
    return found


def derived_too(names):
    """Columns of a file, and what can be made of them."""
    made = {name for name, _, sources, _ in DERIVED if all(source[0] in names for source in sources)}
    return names | made


def source_text(name, value, column, kind, spelling, missing, listing, bounds, patterns, truth):
    """A field as the contract reads it for a derived value, a blank text where it is missing."""
    if value is None:
        return ""
    text = truth[0 if value else 1] if isinstance(value, bool) else str(value)
    if spelled(text, spelling) in {""} | {spelled(code, spelling) for code in missing}:
        return ""
    if kind == "date":
        return date_text(name, column, text.strip(), patterns)
    if kind == "number":
        text, (low, high, places) = text.strip(), bounds
        if NUMBER.fullmatch(text) is None:
            raise ValueError("derived %a: its column %a: expected a number such as 37.5" % (name, column))
        number = Decimal(text)
        if (low is not None and number < Decimal(low)) or (high is not None and number > Decimal(high)):
            raise ValueError("derived %a: its column %a: a number outside %s to %s" % (name, column, low, high))
        if places is not None and (Fraction(number) * 10**places).denominator != 1:
            raise ValueError("derived %a: its column %a: a number with too many decimals" % (name, column))
        return text
    texts, prefixes, rest = listing
    if not texts:
        return spelled(text, spelling)
    listed = {spelled(each, spelling): meant for each, meant in texts.items()}
    begun = {as_code(each, spelling): meant for each, meant in prefixes.items()}
    found = as_listed(text, spelling, (), listed, begun, rest)
    if found not in texts.values():
        raise ValueError("derived %a: its column %a: a value that the contract does not list" % (name, column))
    return found


def date_text(name, column, text, patterns):
    """A date as YYYY-MM-DD."""
    for pattern in patterns:
        found = re.fullmatch(pattern, text)
        if found is not None:
            try:
                return date(int(found["y"]), int(found["m"]), int(found["d"])).isoformat()
            except ValueError:
                break
    raise ValueError("derived %a: its column %a: no date as the contract expects it" % (name, column))


def combination(name, fields, cases, otherwise):
    """The value of the first case that fits."""
    for when, value in cases:
        if all(text is None or text == field for text, field in zip(when, fields)):
            return value
    if "" in fields:
        return ""
    if otherwise is None:
        raise ValueError("derived %a: a combination that the contract does not list" % name)
    return otherwise


def any_of(_name, fields, wanted, value, otherwise):
    """One value where a column has one of its texts, another where none has."""
    if any(field != "" and field in texts for field, texts in zip(fields, wanted)):
        return value
    return "" if "" in fields else otherwise


def days(_name, fields):
    """Whole days from the first date to the second."""
    if "" in fields:
        return ""
    first, second = map(date.fromisoformat, fields)
    return str((second - first).days)


def product(name, fields, powers, times, decimals, half_up):
    """The product of powers, rounded once, at the end."""
    if "" in fields:
        return ""
    whole = Fraction(times)
    for text, power in zip(fields, powers):
        number = Fraction(Decimal(text))
        if number == 0 and power < 0:
            raise ValueError("derived %a: a division by 0" % name)
        whole *= number**power
    if abs(whole) >= 10**64:
        raise ValueError("derived %a: a number of more than 64 digits" % name)
    scaled, left = divmod(abs(whole) * 10**decimals, 1)
    half = Fraction(1, 2)
    scaled = int(scaled) + (left > half or (left == half and (half_up or scaled % 2 == 1)))
    digits = str(scaled).rjust(decimals + 1, "0")
    text = "%s.%s0" % (digits[: len(digits) - decimals], digits[len(digits) - decimals :])
    return spelled(("-" if whole < 0 and scaled else "") + text, "number")


MAKERS = {"combination": combination, "any": any_of, "days": days, "product": product}
'''


def derived_tables(subject: Subject) -> dict[str, Any]:
    """The tables of `DERIVING`: what is made of the attributes that the tree asks, and what is read for it alone."""
    contract = subject.contract
    if contract is None or not contract.derived:
        return {}
    asked = {subject.schema.attributes[attribute].name for attribute in subject.asked}
    made = [_made(contract, one) for one in contract.derived if one.name in asked]
    return {"SPARE": [one.name for one in contract.inputs], "DERIVED": made}


def _made(contract: DataContract, derivation: Derivation) -> Row:
    sources = [source_of(contract, name, f"derived {derivation.name!r}") for name in derivation.columns]
    return (
        derivation.name,
        derivation.kind,
        [_source(derivation, one) for one in sources],
        _rule(derivation, sources),
    )


def _source(derivation: Derivation, source: ContractInput | ContractAttribute) -> Row:
    """The arguments of `source_text` behind the value, its column first."""
    texts = {text: entry.value for entry in source.values for text in (entry.value, *entry.texts)}
    prefixes = {prefix: entry.value for entry in source.values for prefix in entry.prefixes}
    rest = next((entry.value for entry in source.values if entry.other), None)
    spelling = "number" if source.kind == "number" else source.spelling
    patterns = date_patterns(source.formats) if isinstance(source, ContractInput) else []
    places = source.decimals if isinstance(source, ContractAttribute) else None
    read = (spelling, list(source.missing_codes), (texts, prefixes, rest))
    bounds = (source.minimum, source.maximum, places)
    return (source.name, source.kind, *read, bounds, patterns, truth_texts(derivation, source))


def _rule(derivation: Derivation, sources: list[ContractInput | ContractAttribute]) -> Row:
    """The arguments of the maker behind the fields."""
    spellings = spellings_of(sources)
    if isinstance(derivation, Combination):
        cases = [(in_one_form(case.when, spellings), case.value) for case in derivation.cases]
        return (cases, derivation.otherwise)
    if isinstance(derivation, AnyOf):
        wanted = [in_one_form(derivation.texts, [rule] * len(derivation.texts)) for rule in spellings]
        return (wanted, derivation.value, derivation.otherwise)
    if isinstance(derivation, Product):
        half_up = derivation.rounding == "half-up"
        return (derivation.powers, derivation.times, derivation.decimals, half_up)
    return ()
