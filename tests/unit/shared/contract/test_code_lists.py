"""Published lists of codes: as a table or a resource of FHIR, and what of them cannot be taken."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from shared.contract import merging
from shared.contract.code_lists import Code, read_code_list
from shared.errors import InputError
from shared.protocol.contract_words import contract_words
from shared.wire.contract import CodeListSource, ContractAttribute, ContractClass, ContractValue, DataContract

URL = "http://hl7.org/fhir/ValueSet/administrative-gender"


def value_set(**parts: Any) -> bytes:
    return json.dumps(
        {"resourceType": "ValueSet", "status": "active", "url": URL, "version": "4.0.1", **parts}
    ).encode()


def test_a_table_gives_codes_with_their_meanings_in_its_order() -> None:
    raw = '\ufeffCode;Display;System;Version\nI21;"Infarction; acute";urn:icd;2026\nI20;Angina;urn:icd;2026\n'.encode()
    found = read_code_list(raw, "list.csv")
    assert found.codes == (Code("I21", "Infarction; acute", "urn:icd"), Code("I20", "Angina", "urn:icd"))
    digest = hashlib.sha256(raw).hexdigest()
    assert found.source == CodeListSource(version="2026", systems=["urn:icd"], file_sha256=digest)
    assert read_code_list(b"code\n1\n01\n", "one.csv").codes == (Code("1"), Code("01"))


@pytest.mark.parametrize(
    "parts",
    [
        {"expansion": {"total": 4, "contains": [
            {"abstract": True, "display": "any", "contains": [{"system": "s", "code": "male", "display": "Male"}]},
            {"system": "s", "code": "gone", "inactive": True},
            {"system": "s", "code": "female", "display": "Female"}]}},
        {"compose": {
            "include": [{"system": "s", "concept": [
                {"code": "male", "display": "Male"}, {"code": "x"}, {"code": "female", "display": "Female"}]}],
            "exclude": [{"system": "s", "concept": [{"code": "x"}]}]}},
    ],
)  # fmt: skip
def test_a_value_set_gives_what_may_be_chosen(parts: Any) -> None:
    found = read_code_list(value_set(**parts), "set.json")
    assert found.codes == (Code("male", "Male", "s"), Code("female", "Female", "s"))
    assert (found.source.url, found.source.version) == (URL, "4.0.1")


def test_a_whole_code_system_gives_its_concepts() -> None:
    system = {"resourceType": "CodeSystem", "status": "active", "url": "s", "content": "complete"}
    raw = json.dumps(
        {**system, "concept": [{"code": "a", "concept": [{"code": "b"}]}, {"code": "c"}]}
    ).encode()
    assert [code.code for code in read_code_list(raw, "system.json").codes] == ["a", "b", "c"]
    with pytest.raises(InputError, match=r"does not hold all of its codes.*\$expand"):
        read_code_list(json.dumps({**system, "content": "fragment"}).encode(), "system.json")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            value_set(compose={"include": [{"system": "s", "filter": [{"property": "is-a"}]}]}),
            r"filters.*\$expand",
        ),
        (value_set(compose={"include": [{"system": "s"}]}), "a whole code system"),
        (value_set(expansion={"total": 9, "contains": [{"code": "a"}]}), "not whole"),
        (value_set(), "no code"),
        (b'{"resourceType": "Patient"}', "expected a ValueSet"),
        (b'{"resourceType"', "not JSON"),
        (b"name,display\na,b\n", "no column code"),
        (b"code,display\na,first\na,second\n", "'a' stands there twice"),
        (b"code,version\na,1\nb,2\n", "expected one version"),
        (b"code\n" + b"".join(b"%d\n" % n for n in range(300)), "at most 256 codes, found 300.*--prefix"),
        (b"code\n\xff\n", "not UTF-8"),
    ],
)
def test_what_is_no_list_of_codes_is_refused_with_the_way_on(raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_code_list(raw, "--code-list list")


def contract(source: CodeListSource | None, *values: str) -> DataContract:
    listed = [ContractValue(value=value) for value in values]
    attribute = ContractAttribute(name="sex", kind="category", values=listed, code_list=source)
    labels = [ContractValue(value="0"), ContractValue(value="1")]
    return DataContract(name="c", attributes=[attribute], class_=ContractClass(name="ill", values=labels))


def test_drafts_keep_their_list_and_must_have_the_same() -> None:
    source = CodeListSource(url=URL, version="4.0.1", file_sha256="a" * 64)
    merged = merging.merge([contract(source, "male", "female"), contract(source, "male", "female")])
    assert merged.attributes[0].code_list == source
    (words,) = contract_words(merged)
    assert f"sex has the 2 values of a code list: {URL} 4.0.1 (file {'a' * 16})." in words
    with pytest.raises(InputError, match=r"different code lists.*4\.0\.1.*none in draft 2.*--code-list"):
        merging.merge([contract(source, "male"), contract(None, "male")])
    assert b"code_list" not in contract(None, "male").canonical()
