"""Every English sentence of a page is in one file: none is missing, none left over, and every place is filled."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from cloud_service.api.problems import TITLES
from cloud_service.service.permissions import Permission, Role
from shared.errors import ErrorCode, JobCode
from shared.protocol.states import CloudState
from shared.texts import has_text, text, texts

ROOT = Path(__file__).resolve().parents[4]
ROOMS = (ROOT / "shared" / "web", ROOT / "cloud_service" / "pages", ROOT / "hospital_agent" / "pages")
TEMPLATES = sorted(path for room in ROOMS for path in room.rglob("templates/*.html"))
PROGRAMS = ("shared", "machine", "cloud_service", "hospital_agent", "privet", "trusted_authority")
MODULES = {
    path: source
    for program in PROGRAMS
    for path in sorted((ROOT / program).rglob("*.py"))
    if "shared.texts" in (source := path.read_text("utf-8")) or any(room in path.parents for room in ROOMS)
}
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
ADDRESS = re.compile(r"/[a-z/]+\?|\b[a-z]+=(?=\s|$)")
"""Parts of an address that a macro puts together."""
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
    found += [one for source in MODULES.values() for one in names_in_module(source)]
    found += [(call.name, call.begins) for call in CALLS]
    pages = [path.read_text("utf-8") for path in (*TEMPLATES, *SCRIPTS)]
    pages += [source for source in MODULES.values() if "{{" in source]  # templates in a module
    for source in pages:  # names that are handed on: to a macro, or to a script
        found += [(name, name.endswith(".")) for name in QUOTED.findall(source) if "." in name]
    return (
        frozenset(name for name, begins in found if not begins),
        frozenset(name for name, begins in found if begins),
    )


def words_outside(source: str) -> list[str]:
    """English in a template that is in no text: between tags, or in an attribute that people read or hear."""
    plain = JINJA.sub(" ", source)
    shown = " ".join(SHOWN_ATTRIBUTES.findall(plain))
    between = TAG.sub(" ", ATTRIBUTE.sub(" ", COMMAND.sub(" ", ENTITY.sub(" ", plain))))
    between = ADDRESS.sub(" ", between)
    return WORD.findall(between) + WORD.findall(shown)


def test_there_are_templates_of_every_room() -> None:
    assert len(TEMPLATES) > 20
    assert all(any(room in path.parents for path in TEMPLATES) for room in ROOMS)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_asks_for_texts_that_exist(path: Path) -> None:
    for name, begins in names_in_template(path.read_text("utf-8")):
        there = any(one.startswith(name) for one in texts()) if begins else name in texts()
        assert there, f"{path.name} asks for {name}, which is not in english.toml"


@dataclass(frozen=True)
class Asked:
    """A call of `text` in a module. `name`: whole, or how it begins. `places`: None where they are not spelled out."""

    where: str
    name: str
    begins: bool
    places: frozenset[str] | None


def calls_in(path: Path, source: str) -> Iterator[Asked]:
    """Calls whose name can be read off the source."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Named":
            table, names = (ast.literal_eval(argument) for argument in call.args)
            for name in names:
                yield Asked(f"{path.name}:{call.lineno}", f"{table}.{name}", begins=False, places=None)
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "text"):
            continue
        spelled = [keyword.arg for keyword in call.keywords]
        places = None if None in spelled else frozenset(name for name in spelled if name)
        for name, begins in _names(call.args[0]) if call.args else ():
            yield Asked(f"{path.name}:{call.lineno}", name, begins, places)


def _names(node: ast.expr) -> Iterator[tuple[str, bool]]:
    """What an expression can be the name of: a constant, one of two, or whatever begins so."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, False
    elif isinstance(node, ast.IfExp):
        yield from (*_names(node.body), *_names(node.orelse))
    elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        yield str(node.values[0].value), True


CALLS = [call for path, source in MODULES.items() for call in calls_in(path, source)]


def places_of(name: str) -> frozenset[str]:
    """The places that a text has to be filled."""
    return frozenset(place for _, place, _, _ in Formatter().parse(texts()[name]) if place)


def wrong_calls(calls: Iterable[Asked]) -> list[str]:
    """What is asked for and is not there, and places that a call leaves open or fills for nothing."""
    found = []
    for call in calls:
        named = [one for one in texts() if one.startswith(call.name)] if call.begins else [call.name]
        known = [one for one in named if one in texts()]
        if not known:
            found.append(f"{call.where}: no text {call.name}")
        elif call.places is not None:
            wanted = [places_of(one) for one in known]
            # Of a name that is put together, each text that it may come to has places of its own.
            open_places = frozenset() if call.begins else wanted[0] - call.places
            spare = call.places - frozenset().union(*wanted)
            if open_places or spare:
                found.append(f"{call.where}: {call.name} open {sorted(open_places)} spare {sorted(spare)}")
    return found


def test_modules_ask_for_texts_that_exist_and_fill_their_places() -> None:
    assert len(CALLS) > 300
    assert wrong_calls(CALLS) == []


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
    planted = """
text("study.nowhere")
text("study.depth")
text("study.any_depth", n=1)
text(f"span.{x}", n=1)
text(f"span.{x}", count=1)
text("study.depth" if x else "study.elsewhere", n=1)
"""
    assert [line.split(": ")[1] for line in wrong_calls(calls_in(Path("planted"), planted))] == [
        "no text study.nowhere",
        "study.depth open ['n'] spare []",
        "study.any_depth open [] spare ['n']",
        "span. open [] spare ['count']",
        "no text study.elsewhere",
    ]


def test_every_state_role_and_code_has_its_words() -> None:
    for state in [*CloudState, "PAUSED"]:
        assert text(f"cloud.state.{state}")
    for role in Role:
        assert text(f"cloud.role.{role}")
    for permission in Permission:
        assert text(f"cloud.permission.{permission.replace(':', '_')}")
    for code in [*ErrorCode, *JobCode, *TITLES]:
        assert text(f"cloud.code.{code}")


def test_tables_that_are_read_one_by_one_are_those_of_the_file() -> None:
    whole = tomllib.loads(files("shared.texts").joinpath("english.toml").read_text("utf-8"))
    found = dict(texts())
    assert found
    for name, said in flat(whole):
        assert found.pop(name) == said
    assert found == {}


def flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        yield from flat(value, f"{before}{key}.") if isinstance(value, dict) else [(f"{before}{key}", value)]


def test_what_is_not_there_is_told() -> None:
    assert has_text("waiting.here")
    assert not has_text("waiting.nowhere")
    assert not has_text("nowhere.at.all")
    with pytest.raises(KeyError):
        text("nowhere.at.all")
    with pytest.raises(KeyError, match="n"):
        text("study.depth")


def test_texts_have_no_open_places_by_accident() -> None:
    for name in texts():
        assert all(place.isidentifier() for place in places_of(name)), name
