"""`privet agent`: the commands of a hospital."""

from __future__ import annotations

import typer

from hospital_agent.commands import (
    budget,
    disclosing,
    doctor,
    enrolling,
    evaluating,
    exporting,
    fhir,
    inspecting,
    jobs,
    predicting,
    protecting,
    pruning,
    reporting,
    running,
    stewards,
    studies,
    versions,
)

app = typer.Typer(
    help="Run a hospital's agent: nobody else sees its records.", no_args_is_help=True, add_completion=False
)
app.command()(enrolling.init)
app.command()(enrolling.join)
app.command()(running.run)
app.command()(protecting.protect)
app.command("settings")(inspecting.show_settings)
app.command()(inspecting.health)
app.command()(doctor.doctor)
app.add_typer(studies.studies, name="studies")
app.command()(studies.consent)
app.add_typer(stewards.stewards, name="stewards")
app.command()(jobs.offers)
app.command()(jobs.approve)
app.command()(jobs.decline)
app.command()(jobs.status)
app.add_typer(predicting.models, name="models")
app.add_typer(versions.predictions, name="predictions")
app.command()(predicting.predict)
app.add_typer(fhir.fhir, name="fhir")
app.command()(exporting.export)
app.command()(pruning.prune)
app.command()(reporting.report)
app.command()(evaluating.evaluate)
app.command()(evaluating.evaluation)
app.command()(protecting.classes)
app.command("check-data")(running.check_data)
app.command()(jobs.forget)
app.command()(budget.budget)
app.command()(disclosing.ledger)
app.command()(disclosing.figures)
app.add_typer(disclosing.audit, name="audit")
