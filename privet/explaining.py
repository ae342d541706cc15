"""`privet explain`: the help page of an error that keeps a program from starting, by its number."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Final

import typer

from shared.errors import InputError
from shared.reports import Report

_INDEX: Final = "README.md"

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    number: Annotated[
        str | None, typer.Argument(metavar="NUMBER", help="As in the message, such as C012; without it, all.")
    ] = None,
) -> Report:
    """What an error with a number means, why it comes, what to do, and how to check."""
    titles = page_titles()
    if number is None:
        document = {"pages": [{"number": key, "title": title} for key, title in titles.items()]}
        return Report(document, "\n".join(f"{key}  {title}" for key, title in titles.items()))
    wanted = number.strip("[] ").upper().removeprefix("PRIVET-")
    if wanted not in titles:
        raise InputError(
            f"there is no page {number}",
            where="NUMBER",
            remedy="`privet explain` lists all: C for the cloud, A for agents, T for the trusted authority.",
        )
    text = _page(wanted)
    return Report({"number": wanted, "title": titles[wanted], "page": text}, text.rstrip())


def page_titles() -> dict[str, str]:
    """Every number with the title of its page, in order."""
    numbers = sorted(
        entry.name.removesuffix(".md")
        for entry in _folder().iterdir()
        if entry.name.endswith(".md") and entry.name != _INDEX
    )
    return {number: _page(number).splitlines()[0].removeprefix(f"# {number}: ") for number in numbers}


def _page(number: str) -> str:
    return _folder().joinpath(f"{number}.md").read_text(encoding="utf-8")


def _folder() -> Traversable:
    """In an installed wheel the pages lie inside this package, in a checkout in `docs/errors`."""
    package = files("privet")
    shipped = package.joinpath("error_pages")
    return shipped if shipped.is_dir() else package.joinpath("..", "docs", "errors")
