"""Every English word of a page is in one file: none is missing, none is left over, and none stands elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cloud_service.api.problems import TITLES
from cloud_service.service.permissions import Permission, Role
from shared.errors import ErrorCode, JobCode
from shared.protocol.states import CloudState
from shared.texts import text, texts

ROOT = Path(__file__).resolve().parents[4]
ROOMS = (ROOT / "shared" / "web", ROOT / "cloud_service" / "pages", ROOT / "hospital_agent" / "pages")
TEMPLATES = sorted(path for room in ROOMS for path in room.rglob("templates/*.html"))
MODULES = sorted(path for room in ROOMS for path in room.rglob("*.py"))
SCRIPTS = sorted((ROOT / "shared" / "web" / "static").glob("*.js"))

CALL = re.compile(r"""\btext\(\s*(?P<quote>["'])(?P<name>[^"']+)(?P=quote)\s*(?P<more>~)?""")
QUOTED = re.compile(r"""["']([a-z_]+(?:\.[A-Za-z0-9_-]+)*\.?)["']""")
JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
SHOWN_ATTRIBUTES = re.compile(
    r"""\b(?:title|aria-label|alt|placeholder|aria-description|summary|label)\s*=\s*"([^"]*)\""""
)
COMMAND = re.compile(r"<code>.*?</code>", re.DOTALL)
"""What is typed as it stands is in no language."""
ENTITY = re.compile(r"&[a-z]+;")
ATTRIBUTE = re.compile(r"""\b[a-z-]+="[^"]*\"""")
"""Of a tag, or of a macro that makes a part of one; those that people read are looked at by themselves."""
TAG = re.compile(r"<[^>]*>", re.DOTALL)
WORD = re.compile(r"[A-Za-z]{2,}")


def names_in_template(source: str) -> Iterator[tuple[str, bool]]:
    """Names of texts that a template asks for; whether it is only how they begin."""
    for match in CALL.finditer(source):
        yield match["name"], bool(match["more"])


def names_in_module(source: str) -> Iterator[tuple[str, bool]]:
    """Every constant that may name a text, and how names begin that are put together."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            if isinstance(first, ast.Constant) and "." in str(first.value):
                yield str(first.value), True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            yield node.value, node.value.endswith(".")


@cache
def asked() -> tuple[frozenset[str], frozenset[str]]:
    """All names that pages ask for, and all beginnings of such."""
    found = [one for path in TEMPLATES for one in names_in_template(path.read_text("utf-8"))]
    found += [one for path in MODULES for one in names_in_module(path.read_text("utf-8"))]
    for path in (*TEMPLATES, *SCRIPTS):  # names that are handed on: to a macro, or to a script
        found += [
            (name, name.endswith(".")) for name in QUOTED.findall(path.read_text("utf-8")) if "." in name
        ]
    return (
        frozenset(name for name, begins in found if not begins),
        frozenset(name for name, begins in found if begins),
    )


def words_outside(source: str) -> list[str]:
    """English in a template that is in no text: between tags, or in an attribute that people read or hear."""
    plain = JINJA.sub(" ", source)
    shown = " ".join(SHOWN_ATTRIBUTES.findall(plain))
    between = TAG.sub(" ", ATTRIBUTE.sub(" ", COMMAND.sub(" ", ENTITY.sub(" ", plain))))
    return WORD.findall(between) + WORD.findall(shown)


def test_there_are_templates_of_every_room() -> None:
    assert len(TEMPLATES) > 20
    assert all(any(room in path.parents for path in TEMPLATES) for room in ROOMS)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_asks_for_texts_that_exist(path: Path) -> None:
    for name, begins in names_in_template(path.read_text("utf-8")):
        there = any(one.startswith(name) for one in texts()) if begins else name in texts()
        assert there, f"{path.name} asks for {name}, which is not in english.toml"


def test_modules_ask_for_texts_that_exist() -> None:
    for path in MODULES:
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id == "text"
                and call.args
            ):
                first = call.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    assert first.value in texts(), (
                        f"{path.name} asks for {first.value}, which is not in english.toml"
                    )


def test_every_text_is_used() -> None:
    whole, begun = asked()
    left = [name for name in texts() if name not in whole and not any(name.startswith(one) for one in begun)]
    assert left == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_english_stands_in_a_template(path: Path) -> None:
    assert words_outside(path.read_text("utf-8")) == []


def test_these_tests_can_fail() -> None:
    assert words_outside('<p class="quiet">{{ text("a.b") }} left over</p>') == ["left", "over"]
    assert words_outside('<input aria-label="Search here" value="{{ x }}">') == ["Search", "here"]
    assert list(names_in_template('{{ text("a.b") }}{{ text("c.d." ~ x) }}')) == [
        ("a.b", False),
        ("c.d.", True),
    ]
    assert ("cloud.state.", True) in names_in_module('text(f"cloud.state.{x}")')


def test_every_state_role_and_code_has_its_words() -> None:
    for state in [*CloudState, "PAUSED"]:
        assert text(f"cloud.state.{state}")
    for role in Role:
        assert text(f"cloud.role.{role}")
    for permission in Permission:
        assert text(f"cloud.permission.{permission.replace(':', '_')}")
    for code in [*ErrorCode, *JobCode, *TITLES]:
        assert text(f"cloud.code.{code}")


def test_texts_have_no_open_places_by_accident() -> None:
    for name, said in texts().items():
        places = re.findall(r"\{([^{}]*)\}", said.replace("{{", "").replace("}}", ""))
        assert all(place.isidentifier() for place in places), name
