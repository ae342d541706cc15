"""ONNX: a graph that takes the fields as they are and gives class, shares of the classes and place.

Inputs, one an attribute that the tree asks, each of shape [N, 1]: text for listed values, double for numbers. Missing
is the empty text, or NaN. Outputs: `label` text [N], `probabilities` double [N, classes] where the study shows them,
`node` [N]. A name that an attribute has already is lengthened by `_`.

Three steps: fields become small codes (compiled); a TreeEnsembleRegressor finds the number of the place by them, in
whose chains of questions a record without a usable code ends at the split's own number; tables give the answers of the
place, and `onnx_votes` that of its branches where all of them answer in parts. The ensemble's own vote is not asked for
classes: it would answer with the most frequent class, and a tree that was grown with class weights, or shows no counts,
answers with another (docs/adr/0034). Place numbers are exact in the ensemble's single precision up to 2^24.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.errors import InputError
from shared.export.compiled import Coding, Question, coding_of, float_bound, question_of
from shared.export.onnx_graph import Graph
from shared.export.onnx_votes import Ballot, ballot
from shared.export.subject import Subject
from shared.export.votes import IN_PARTS

if TYPE_CHECKING:
    import onnx

NO_ANSWER: Final = "(no answer)"
"""The label where a tree keeps no class for a record without a usable value; lengthened if a class is called so."""

_OPSET: Final = 17
_ML_OPSET: Final = 3
_IR_VERSION: Final = 8
_MAX_PLACES: Final = 2**24


def to_onnx(subject: Subject) -> bytes:
    """The serialized model. Raises: InputError: the library `onnx` is not installed, or the tree is too large."""
    if len(subject.places) > _MAX_PLACES:
        raise InputError(f"ONNX export takes trees of up to {_MAX_PLACES} nodes", where="export")
    return bytes(_model(subject).SerializeToString())


def _model(subject: Subject) -> onnx.ModelProto:
    try:
        from onnx import helper
    except ImportError:
        raise InputError(
            "the library onnx is not installed", where="export", remedy="Run: pip install 'privet[export]'."
        ) from None
    graph = Graph.for_subject(subject)
    codings = [coding_of(subject, attribute) for attribute in subject.asked or (0,)]
    columns = [_coded(graph, subject, coding, place) for place, coding in enumerate(codings)]
    graph.add("Concat", columns, [graph.inner("codes")], axis=1)
    ensemble = _ensemble(subject, {coding.attribute: n for n, coding in enumerate(codings)}, codings)
    place, number = graph.inner("place"), graph.inner("number")
    graph.add("TreeEnsembleRegressor", [graph.inner("codes")], [place], domain="ai.onnx.ml", **ensemble)
    graph.add("Cast", [place], [number], to=graph.type("INT64"))
    node = graph.outer("node")
    graph.add("Reshape", [number, graph.constant("flat", "INT64", [1], [-1])], [node])
    votes = ballot(graph, subject, codings, node) if subject.votes else None
    outputs = [*_answers(graph, subject, node, votes), graph.value(node, "INT64", ["N"])]
    made = helper.make_graph(
        graph.nodes,
        "privet_tree",
        graph.inputs,
        outputs,
        initializer=graph.constants,
        doc_string=subject.origin.notice,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    model = helper.make_model(
        made,
        opset_imports=opsets,
        ir_version=_IR_VERSION,
        producer_name="privet",
        producer_version=subject.origin.version,
        doc_string=subject.origin.notice,
    )
    helper.set_model_props(model, dict(subject.header))
    return model


def _coded(graph: Graph, subject: Subject, coding: Coding, place: int) -> str:
    """The name of the column of codes of an attribute, float [N, 1]; below 0 where a field has none."""
    attribute = subject.schema.attributes[coding.attribute]
    out = graph.inner(f"code_{place}")
    absent_code = IN_PARTS if coding.in_parts else -1
    missing = absent_code if coding.missing is None else coding.missing
    if coding.points is None:
        graph.inputs.append(graph.value(attribute.name, "STRING", ["N", 1]))
        codes = {"": missing} | {value: code for code, value in enumerate(attribute.values)}
        if coding.in_parts:  # the last value stands for an empty field
            codes[attribute.values[-1]] = missing
        graph.add(
            "LabelEncoder",
            [attribute.name],
            [out],
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_floats=[float(code) for code in codes.values()],
            default_float=-1.0,
        )
        return out
    graph.inputs.append(graph.value(attribute.name, "DOUBLE", ["N", 1]))
    bounds = [float_bound(point) for point in coding.points]
    stands_for = graph.constant(f"missing_{place}", "FLOAT", [1, 1], [float(missing)])
    points = graph.constant(f"bounds_{place}", "DOUBLE", [1, len(bounds)], bounds)
    axis = graph.constant(f"axis_{place}", "INT64", [1], [1])
    above, steps, rank, absent = (
        graph.inner(f"{name}_{place}") for name in ("above", "steps", "rank", "absent")
    )
    graph.add("Greater", [attribute.name, points], [above])
    graph.add("Cast", [above], [steps], to=graph.type("FLOAT"))
    graph.add("ReduceSum", [steps, axis], [rank], keepdims=1)
    graph.add("IsNaN", [attribute.name], [absent])
    graph.add("Where", [absent, stands_for, rank], [out])
    return out


def _answers(graph: Graph, subject: Subject, node: str, votes: Ballot | None) -> list[Any]:
    """The outputs that tables give for the place, whose number is the tensor `node`, or its branches by vote."""
    classes = subject.schema.classes
    none = NO_ANSWER
    while none in classes:
        none += "_"
    numbers = [len(classes) if place.label is None else place.label for place in subject.places]
    winner, label = graph.inner("winner"), graph.outer("label")
    graph.add("Gather", [graph.constant("winners", "INT64", [len(numbers)], numbers), node], [winner], axis=0)
    if votes is not None:
        winner = votes.instead(graph, winner, votes.winner, is_table=False)
    names = [text.encode() for text in (*classes, none)]
    graph.add("Gather", [graph.constant("labels", "STRING", [len(names)], names), winner], [label], axis=0)
    outputs = [graph.value(label, "STRING", ["N"])]
    distributions = subject.distributions()
    if distributions is not None:
        shares = [share for each in distributions for share in each]
        table = graph.constant("shares", "DOUBLE", [len(distributions), len(classes)], shares)
        probabilities = graph.outer("probabilities")
        found = probabilities if votes is None else graph.inner("shares_there")
        graph.add("Gather", [table, node], [found], axis=0)
        if votes is not None:
            votes.instead(graph, found, votes.shares, is_table=True, out=probabilities)
        outputs.append(graph.value(probabilities, "DOUBLE", ["N", len(classes)]))
    return outputs


@dataclass(slots=True)
class _Ensemble:
    """The attributes of a TreeEnsembleRegressor of one tree whose leaves give numbers of places."""

    features: list[int] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    leaves: list[tuple[int, int]] = field(default_factory=list)

    def question(self, feature: int, mode: str, value: float) -> int:
        """A new inner node, whose two ways are not known yet."""
        self.features.append(feature)
        self.modes.append(mode)
        self.values.append(value)
        self.true.append(0)
        self.false.append(0)
        return len(self.modes) - 1

    def leaf(self, place: int) -> int:
        """A new end that gives the number of a place."""
        node = self.question(0, "LEAF", 0.0)
        self.leaves.append((node, place))
        return node

    def attributes(self) -> dict[str, Any]:
        """As the operator takes them."""
        count, ends = len(self.modes), len(self.leaves)
        return {
            "n_targets": 1,
            "nodes_treeids": [0] * count,
            "nodes_nodeids": list(range(count)),
            "nodes_featureids": self.features,
            "nodes_modes": self.modes,
            "nodes_values": self.values,
            "nodes_truenodeids": self.true,
            "nodes_falsenodeids": self.false,
            "nodes_hitrates": [1.0] * count,
            "nodes_missing_value_tracks_true": [0] * count,
            "target_treeids": [0] * ends,
            "target_nodeids": [node for node, _ in self.leaves],
            "target_ids": [0] * ends,
            "target_weights": [float(place) for _, place in self.leaves],
        }


def _ensemble(subject: Subject, feature_of: dict[int, int], codings: Sequence[Coding]) -> dict[str, Any]:
    """The tree over codes, each split a chain of questions with two ways."""
    made = _Ensemble()
    # A place is built where its parent's chain points to: (place, list of ways, node whose way it is).
    pending: list[tuple[int, list[int], int]] = []
    if subject.places[0].is_leaf:
        # An engine may refuse a tree that is one end; both ways of this question lead to the same place.
        root = made.question(0, "BRANCH_LEQ", 0.0)
        made.true[root], made.false[root] = made.leaf(0), made.leaf(0)
        return made.attributes()
    holder = [0]
    pending.append((0, holder, 0))
    while pending:
        number, ways, at = pending.pop()
        place = subject.places[number]
        if place.attribute is None:
            ways[at] = made.leaf(number)
            continue
        feature = feature_of[place.attribute]
        question = question_of(place, codings[feature])
        ways[at] = _chain(made, question, feature, number, place.kids, pending)
    return made.attributes()


def _chain(
    made: _Ensemble,
    question: Question,
    feature: int,
    number: int,
    kids: Sequence[int],
    pending: list[tuple[int, list[int], int]],
) -> int:
    """The questions of one split. Returns: the first. A code below 0 ends at the split's own number."""
    if question.kind == "each":
        nodes = [made.question(feature, "BRANCH_EQ", float(code)) for code in range(len(kids))]
        for node, following, kid in zip(nodes, [*nodes[1:], made.leaf(number)], kids, strict=True):
            made.false[node] = following
            pending.append((kid, made.true, node))
        return nodes[0]
    guard = made.question(feature, "BRANCH_LT", 0.0)
    mode = "BRANCH_LEQ" if question.kind == "up_to" else "BRANCH_EQ"
    node = made.question(feature, mode, float(question.rank))
    made.true[guard], made.false[guard] = made.leaf(number), node
    left, right = kids
    pending.append((left, made.true if question.kind == "up_to" else made.false, node))
    pending.append((right, made.false if question.kind == "up_to" else made.true, node))
    return guard
