"""What evaluates exported trees: engines of others, and small readers made for the tests after the forms' descriptions.

Each takes the exported text or bytes and records, and tells (class or None, place, shares or None) a record.
"""

from __future__ import annotations

import json
import operator
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from shared.export.pmml import NAMESPACE
from shared.tree.schema import Schema
from tests.support.export_cases import Record

ROOT = Path(__file__).parents[2]
JPMML = ROOT / ".venv" / "jpmml"
JPMML_MISSING = "the outside evaluator of PMML is not here; fetch it with: make judges"

Told = tuple[str | None, int | None, tuple[float, ...] | None]


# PMML, by an own reading of the standard's three-valued logic


def read_pmml(text: str, records: Sequence[Record], schema: Schema) -> list[Told]:
    """PMML by the rules of its TreeModel chapter."""
    root = ET.fromstring(text)
    model = root.find(_tag("TreeModel"))
    assert model is not None
    last = model.get("missingValueStrategy") == "lastPrediction"
    node = model.find(_tag("Node"))
    assert node is not None
    numeric = {
        field.get("name") for field in root.iter(_tag("DataField")) if field.get("dataType") == "double"
    }
    found = []
    for record in records:
        fields = _typed(record, numeric)
        for field in root.iter(_tag("DerivedField")):
            fields[field.get("name", "")] = _computed(field[0], fields)
        label, place, shares = _walk(node, fields, schema, last=last)
        told = [
            fields[ref.get("field", "")]
            for ref in root.iterfind(f".//{_tag('OutputField')}/{_tag('FieldRef')}")
        ]
        found.append((label, place, tuple(told) or shares))
    return found


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "max": max, "sum": lambda *terms: sum(terms),
    "greaterOrEqual": operator.ge, "greaterThan": operator.gt, "lessOrEqual": operator.le,
}  # fmt: skip


def _computed(expression: ET.Element, fields: Mapping[str, Any]) -> Any:
    """An expression of derived fields; of the operators that have no answer for missing, none may meet it."""
    name, parts = expression.tag, list(expression)
    if name == _tag("Constant"):
        return float(expression.text or "")
    given = fields[expression.get("field", "")] if name != _tag("Apply") else None
    if name == _tag("FieldRef"):
        return given
    if name == _tag("NormDiscrete"):
        return float(given is not None and given == expression.get("value"))
    function = expression.get("function", "")
    if function == "isMissing":
        return _computed(parts[0], fields) is None
    if function == "if":
        return _computed(parts[1 if _computed(parts[0], fields) else 2], fields)
    return _FUNCTIONS[function](*(_computed(part, fields) for part in parts))


def _typed(record: Record, numeric: set[str | None]) -> dict[str, Any]:
    return {
        name: float(text) if name in numeric and text is not None else text for name, text in record.items()
    }


def _walk(node: ET.Element, record: Mapping[str, Any], schema: Schema, *, last: bool) -> Told:
    kids = node.findall(_tag("Node"))
    for kid in kids:
        held = _holds(_predicate(kid), record)
        if held is None:
            break
        if held:
            return _walk(kid, record, schema, last=last)
    shares = {
        each.get("value"): float(each.get("probability", "nan"))
        for each in node.findall(_tag("ScoreDistribution"))
    }
    label = node.get("score") if last or not kids else None
    return (
        label,
        place_of(node.get("id")),
        tuple(shares[name] for name in schema.classes) if shares else None,
    )


def _predicate(node: ET.Element) -> ET.Element:
    names = ("True", "False", "SimplePredicate", "CompoundPredicate")
    return next(part for part in node if part.tag in map(_tag, names))


def _holds(predicate: ET.Element, record: Mapping[str, Any]) -> bool | None:
    if predicate.tag == _tag("CompoundPredicate"):
        parts = [_holds(part, record) for part in predicate]
        decisive = predicate.get("booleanOperator") == "or"
        return decisive if decisive in parts else None if None in parts else not decisive
    if predicate.tag != _tag("SimplePredicate"):
        return predicate.tag == _tag("True")
    value, asked = record[predicate.get("field", "")], predicate.get("operator")
    if asked in ("isMissing", "isNotMissing"):
        return (value is None) == (asked == "isMissing")
    if value is None:
        return None
    bound: Any = predicate.get("value")
    if asked == "equal":
        return bool(value == (bound if isinstance(value, str) else float(bound)))
    return bool(value <= float(bound) if asked == "lessOrEqual" else value > float(bound))


def place_of(node: str | None) -> int:
    """The place of a node's id: `3`, or `3/1` where its branches voted for class 1."""
    return int((node or "-1").partition("/")[0])


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


# IF-THEN rules, by their own grammar

_PIECE = re.compile(
    r"\s*(AND|OR|IN|IS NOT MISSING|IS MISSING|THEN|IF|TRUE|FALSE|OF|SECTION|<=|>|=|\(|\)|,|#|-?[0-9./]+)"
)


def read_rules(text: str, records: Sequence[Record], classes: Sequence[str] = ()) -> list[Told]:
    """The first rule that holds. Args: classes: in order, where rules may send records to sections."""
    sections: dict[int, list[_Rule]] = {0: []}
    here = sections[0]
    for line in text.splitlines():
        if line.startswith("SECTION "):
            here = sections[int(line.partition(" ")[2])] = []
        elif not line.startswith("#"):
            here.append(_Rule(line))
    return [_by_rules(sections, record, classes) for record in records]


def _by_rules(sections: Mapping[int, Sequence[_Rule]], record: Record, classes: Sequence[str]) -> Told:
    rule = _first(sections[0], record)
    if rule is None:
        return None, None, None
    if not rule.sections:
        return rule.label, rule.node, None
    votes, pending = dict.fromkeys(classes, Fraction(0)), [(Fraction(1), rule)]
    while pending:
        share, reached = pending.pop()
        for part, section in reached.sections:
            following = _first(sections[section], record)
            assert following is not None
            pending.append((share * part, following))
        for label, part in ({} if reached.sections else reached.shares()).items():
            votes[label] += share * part
    best = max(votes.values())
    return next(label for label in classes if votes[label] == best), rule.node, (float(best),)


def _first(rules: Sequence[_Rule], record: Record) -> _Rule | None:
    return next((rule for rule in rules if rule.holds(record)), None)


class _Rule:
    def __init__(self, line: str) -> None:
        *self.pieces, remark = _pieces(line)
        told = self.pieces[self.pieces.index("THEN") + 1 :]
        self.label = json.loads(told[-1]) if "OF" not in told else None
        self.node = int(remark.removeprefix("# node ").partition(",")[0])
        self.sections = [
            (Fraction(told[at - 1]), int(told[at + 2])) for at, word in enumerate(told) if word == "OF"
        ]
        self._remark = remark

    def shares(self) -> dict[str, Fraction]:
        """Of the classes among the records there, which the remark names in quotes; else all for the rule's own."""
        found: dict[str, Fraction] = {}
        at = self._remark.find('"')
        while at >= 0:
            label, end = json.JSONDecoder().raw_decode(self._remark, at)
            count, at = self._remark[end + 1 :].partition(",")[0], self._remark.find('"', end)
            found[label] = Fraction(count)
        whole = sum(found.values(), start=Fraction(0))
        return {label: count / whole for label, count in found.items()} or {str(self.label): Fraction(1)}

    def holds(self, record: Record) -> bool:
        end = len(self.pieces) - 1 - self.pieces[::-1].index("THEN")
        return self._any_or_all(self.pieces[1:end], record)

    def _any_or_all(self, pieces: list[str], record: Record) -> bool:
        if pieces == ["TRUE"]:
            return True
        for word, join in (("OR", any), ("AND", all)):
            parts = _split(pieces, word)
            if len(parts) > 1:
                return join(self._any_or_all(part, record) for part in parts)
        if pieces[0] == "(":
            return self._any_or_all(pieces[1:-1], record)
        return pieces != ["FALSE"] and _test(pieces, record)


def _split(pieces: list[str], word: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        if piece == word and not depth:
            parts.append([])
        else:
            parts[-1].append(piece)
    return parts


def _test(pieces: list[str], record: Record) -> bool:
    value, asked = record[json.loads(pieces[0])], pieces[1]
    if asked in ("IS MISSING", "IS NOT MISSING"):
        return (value is None) == (asked == "IS MISSING")
    if value is None:
        return False
    if asked in ("=", "IN"):
        return value in [json.loads(piece) for piece in pieces[2:] if piece.startswith('"')]
    return Decimal(value) <= Decimal(pieces[2]) if asked == "<=" else Decimal(value) > Decimal(pieces[2])


def _pieces(line: str) -> Iterator[str]:
    """Words, signs, numbers and JSON strings, and the remark as one."""
    at = 0
    while at < len(line):
        if line[at] == '"':
            _, end = json.JSONDecoder().raw_decode(line, at)
            yield line[at:end]
            at = end
            continue
        if line[at] == " ":
            at += 1
            continue
        found = _PIECE.match(line, at)
        assert found is not None, line[at:]
        if found[1] == "#":
            yield line[found.start(1) :]
            return
        yield found[1]
        at = found.end()


# One file of Python


def run_python(source: str, records: Sequence[Record]) -> list[Told]:
    """The file's `predict`, in this process."""
    scope: dict[str, Any] = {"__name__": "standalone"}
    exec(compile(source, "standalone", "exec"), scope)
    return [_python_answer(scope, record) for record in records]


def _python_answer(scope: Mapping[str, Any], record: Record) -> Told:
    try:
        found = scope["predict"](record)
    except ValueError as error:
        return (None, None, None) if "keeps no class" in str(error) else (str(error), None, None)
    return found["class"], found["node"], None if found["share"] is None else (found["share"],)


def run_python_file(path: Path, csv_text: str) -> subprocess.CompletedProcess[str]:
    """The file as a program, without this project on its path."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(path)],
        input=csv_text, capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip


# ONNX


def run_onnx(raw: bytes, records: Sequence[Record], *, reference: bool = False) -> list[Told]:
    """onnxruntime, or onnx's own reference evaluator; the checker looks at all of the graph first."""
    import numpy as np
    import onnx
    import onnxruntime

    model = onnx.load_model_from_string(raw)
    onnx.checker.check_model(model, full_check=True)
    feed: dict[str, Any] = {}
    for put in model.graph.input:
        texts = [record[put.name] for record in records]
        if put.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            feed[put.name] = np.array([["" if text is None else text] for text in texts], object)
        else:
            feed[put.name] = np.array([[np.nan if text is None else float(text)] for text in texts])
    if reference:
        from onnx.reference import ReferenceEvaluator

        outputs = ReferenceEvaluator(model).run(None, feed)
    else:
        session = onnxruntime.InferenceSession(raw, providers=["CPUExecutionProvider"])
        outputs = session.run(None, feed)
    labels, nodes = [str(text) for text in outputs[0]], [int(number) for number in outputs[-1]]
    shares = [None] * len(labels) if len(outputs) == 2 else [tuple(map(float, row)) for row in outputs[1]]
    return [
        (None if label.startswith("(no answer)") else label, node, share)
        for label, node, share in zip(labels, nodes, shares, strict=True)
    ]


# PMML engines of others


def run_pypmml(text: str, records: Sequence[Record], schema: Schema) -> list[Told]:
    """PMML4S by way of pypmml, one Java process for all."""
    from pypmml import Model

    model = Model.fromString(text)
    numeric = {attribute.name for attribute in schema.attributes if attribute.is_numeric}
    label, node, *shares = [field.name for field in model.outputFields]
    found = []
    for record in records:
        result = model.predict(_typed(record, set(numeric)))
        values = tuple(result.get(name) for name in shares)
        found.append((result.get(label), place_of(result.get(node)), values or None))
    return found


@cache
def _jpmml() -> Any:
    sys.path.insert(0, str(JPMML))
    try:
        from jpmml_evaluator import _classpath, make_evaluator
        from jpmml_evaluator.py4j import Py4JBackend
        from py4j.java_gateway import JavaGateway

        # Its own way to start Java leaves the process behind.
        gateway = JavaGateway.launch_gateway(classpath=os.pathsep.join(_classpath([])), die_on_exit=True)
        return make_evaluator, Py4JBackend(gateway)
    finally:
        sys.path.remove(str(JPMML))


def run_jpmml(path: Path, records: Sequence[Record], schema: Schema) -> list[Told]:
    """JPMML-Evaluator, one Java process for all. Args: path: of the PMML file."""
    make_evaluator, backend = _jpmml()
    evaluator = make_evaluator(str(path), backend=backend)
    numeric = {attribute.name for attribute in schema.attributes if attribute.is_numeric}
    label, node, *shares = [field.getName() for field in evaluator.getOutputFields()]
    found = []
    for record in records:
        result = evaluator.evaluate(_typed(record, set(numeric)))
        values = tuple(result.get(name) for name in shares)
        found.append((result.get(label), place_of(result.get(node)), values or None))
    return found


@cache
def pmml_schema() -> Any:
    """The XML schema of PMML 4.4, as JPMML-Model carries it, without the additions (`x-`) that it allows itself."""
    import lxml.etree

    (jar,) = (JPMML / "jpmml_evaluator" / "dependencies").glob("pmml-model-[0-9]*.jar")
    with zipfile.ZipFile(jar) as archive:
        document = lxml.etree.fromstring(archive.read("pmml.xsd"))
    for added in document.xpath("//*[starts-with(@name, 'x-') or starts-with(@value, 'x-')]"):
        added.getparent().remove(added)
    return lxml.etree.XMLSchema(document)
