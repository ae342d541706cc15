"""`privet data`: from a hospital's files to records that fit a study. Works without an agent and without a network."""

from __future__ import annotations

import typer

from hospital_agent.commands import (
    contract_checking,
    contracting,
    cutting,
    flattening,
    merging,
    mixing,
    profiling,
    recoding,
)

app = typer.Typer(
    help="Look at records, and bring them and a study together.", no_args_is_help=True, add_completion=False
)
app.command("inspect")(profiling.inspect)
app.command("flatten")(flattening.flatten)
app.command("draft")(contracting.draft)
app.command("merger-key")(mixing.merger_key)
app.command("seal")(mixing.seal)
app.command("mix")(mixing.mix)
app.command("merge")(merging.merge)
app.command("check")(contract_checking.check)
app.command("recode")(recoding.recode)
app.command("sign")(contract_checking.sign)
app.command("grid")(cutting.make_grid)
app.command("cuts")(cutting.make_cuts)


@app.callback()
def data() -> None:
    """Look at records, and bring them and a study together. Nothing leaves this machine."""
