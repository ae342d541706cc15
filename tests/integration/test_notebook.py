"""The notebook from zero to a tree's picture: it runs, shows what it promises, and is kept without outputs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from privet.client import Client

nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs/notebooks/first_tree.ipynb"


def cells(kind: str = "code") -> list[Any]:
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == kind]


def calls_of(name: str, source: str) -> set[str]:
    """Methods that are called on a variable."""
    return {
        node.func.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    }


def test_it_is_kept_without_outputs_and_calls_what_there_is() -> None:
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
    assert [cell for cell in cells() if cell.outputs or cell.execution_count is not None] == []
    called = calls_of("client", "\n".join(cell.source for cell in cells()))
    assert {"create_study", "start_job", "ledger"} <= called
    assert {name for name in called if not hasattr(Client, name)} == set()
    assert len(cells("markdown")) > 5


@pytest.mark.long
def test_it_runs_from_zero_to_the_picture(tmp_path: Path) -> None:
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    runner = client.NotebookClient(
        notebook, timeout=280, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    runner.execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output.data["image/svg+xml"] for output in shown if "image/svg+xml" in output.get("data", {})]
    assert len(pictures) == 1
    assert "lumbar pain" in pictures[0]
    said = "".join(output.text for output in shown if output.output_type == "stream")
    assert "right about 1.0" in said
    assert "contributed: hospital h2" in said
    assert "- Accuracy " in said
    assert "THEN" in said
