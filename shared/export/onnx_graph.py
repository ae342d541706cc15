"""A graph of ONNX in the making: its operators, inputs and constants, under names that no attribute has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.export.subject import Subject


@dataclass(slots=True)
class Graph:
    """Nodes, inputs and constants as they are collected; names that no attribute has."""

    taken: set[str]
    prefix: str
    nodes: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    @classmethod
    def for_subject(cls, subject: Subject) -> Graph:
        """An empty graph. All tensors share one space of names with the attributes, which may be called anything."""
        names = {attribute.name for attribute in subject.schema.attributes}
        prefix = "/"
        while any(name.startswith(prefix) for name in names):
            prefix += "/"
        return cls(names, prefix)

    def inner(self, name: str) -> str:
        """A tensor's name within the graph."""
        return self.prefix + name

    def outer(self, name: str) -> str:
        """An output's name, lengthened where an attribute has it."""
        while name in self.taken:
            name += "_"
        return name

    @staticmethod
    def type(name: str) -> int:
        """The number of an element type."""
        from onnx import TensorProto

        return int(TensorProto.DataType.Value(name))

    def add(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        """One operator."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), list(outputs), **attributes))

    def value(self, name: str, element: str, shape: Sequence[str | int]) -> Any:
        """What an input or output is."""
        from onnx import helper

        return helper.make_tensor_value_info(name, self.type(element), list(shape))

    def constant(self, name: str, element: str, shape: Sequence[int], values: Sequence[Any]) -> str:
        """The name of a tensor that never changes."""
        from onnx import helper

        self.constants.append(helper.make_tensor(self.inner(name), self.type(element), list(shape), values))
        return self.inner(name)
