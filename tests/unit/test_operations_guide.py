"""Every command line in the documents that people type from can be typed, and every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from privet.__main__ import app

ROOT = Path(__file__).parents[2]
OPERATORS = ("docs/operations.md", "deploy/README.md")
GUIDES = (
    *OPERATORS,
    "README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/guides/*.md")),
)
LINKED = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("docs/*.md", "docs/guides/*.md", "docs/recipes/*.md", "deploy/README.md", "*.md")
    for path in ROOT.glob(pattern)
)
COMMAND = re.compile(r"(?<![\w-])privet ([a-z].*?)(?=; *privet |$)")
SHELL_USERS = re.compile(r"(sudo -u|chown|chgrp) privet ")
END_OF_COMMAND = frozenset({"|", "||", "&&", ";", ">", "&"})


def code_lines(text: str) -> list[str]:
    """The lines of code blocks, one each, and the words between backticks."""
    text = re.sub(r"\\\n\s*", " ", text)
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"^ {4}(.*)$", rest, re.MULTILINE)
    prose = re.sub(r"^ {4}.*$", "", rest, flags=re.MULTILINE)
    inline = [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", prose)]
    return [line for block in fenced for line in block.splitlines()] + indented + inline


def commands(text: str) -> list[list[str]]:
    """The arguments of each `privet ...` in a document's code, without comments and what a shell does with it."""
    found = []
    for line in code_lines(text):
        for written in COMMAND.findall(SHELL_USERS.sub("", line)):
            words = shlex.split(written.split(" #")[0])
            end = next((n for n, word in enumerate(words) if word in END_OF_COMMAND), len(words))
            found.append(words[:end])
    return found


@cache
def program(name: str) -> tuple[Any, Any]:
    """The parser of `privet NAME` and its context; built once, which takes a while."""
    root: Any = get_command(app)
    context = root.context_class(root, info_name="privet")
    command = root.get_command(context, name)
    return command, command and command.context_class(command, info_name=name, parent=context)


def fault(arguments: list[str]) -> str:
    """What a command's parser refuses of these words; empty if nothing. Runs no command and opens no file."""
    command, context = program(arguments[0])
    if command is None:
        return f"no program {arguments[0]}"
    left = list(arguments[1:])
    while isinstance(command, TyperGroup):
        if not left:
            return ""  # a group by its name, such as `privet cloud`
        name = left.pop(0)
        inner: Any = command.get_command(context, name)
        if inner is None:
            return f"no command {name}"
        command, context = inner, inner.context_class(inner, info_name=name, parent=context)
    try:
        _, more, _ = command.make_parser(context).parse_args(args=left)
    except TyperException as error:
        return error.format_message()
    return f"too many words: {more}" if more else ""


WRITTEN = [(guide, words) for guide in GUIDES for words in commands((ROOT / guide).read_text())]


def test_the_guides_are_read() -> None:
    per_guide = {guide: sum(1 for where, _ in WRITTEN if where == guide) for guide in GUIDES}
    assert all(number > (25 if guide in OPERATORS else 0) for guide, number in per_guide.items()), per_guide


@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_of_the_guides_can_be_typed(guide: str) -> None:
    wrong = {" ".join(words): found for where, words in WRITTEN if where == guide and (found := fault(words))}
    assert not wrong


@pytest.mark.parametrize(
    "planted",
    [
        "    cloud$  privet cloud backup FOLDER --into FILE",
        "    privet cloud bakcup FOLDER --out FILE",
        "```\nprivet agent forget DIR JOB MORE\n```",
        "Run `privet cloud person add FOLDER\n--nmae ana` first.",
        "| keys | `privet authority rotate DIR --threshold` |",
        "    a$  privet cloud limits FOLDER; privet clowd limits FOLDER",
    ],
)
def test_a_wrong_command_is_noticed(planted: str) -> None:
    assert any(fault(words) for words in commands(planted))


def test_every_finding_of_audit_verify_is_explained() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "shared/protocol").glob("audit_*.py"))
    codes = set(re.findall(r'Finding\(\s*"([a-z_]+)"', sources))
    explained = set(re.findall(r"`([a-z_]+)`", (ROOT / "docs/operations.md").read_text()))
    assert len(codes) > 20
    assert codes <= explained


def anchors(path: Path) -> set[str]:
    """The fragments of a document's headings, as the usual viewers make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(document: Path, text: str) -> list[str]:
    """The relative links of a text that lead to no file, or to no heading of one."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        place, _, fragment = target.partition("#")
        path = document if not place else document.parent / place
        if not path.exists() or (fragment and path.suffix == ".md" and fragment not in anchors(path)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("document", LINKED)
def test_every_link_leads_somewhere(document: str) -> None:
    path = ROOT / document
    assert not broken_links(path, path.read_text())


def test_a_link_that_leads_nowhere_is_noticed() -> None:
    planted = "[a](nowhere.md) [b](architecture.md#no-such-heading) [c](architecture.md#where-to-go)"
    assert broken_links(ROOT / "docs/evidence.md", planted) == [
        "nowhere.md",
        "architecture.md#no-such-heading",
    ]
