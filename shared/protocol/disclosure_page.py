"""Ledgers and dossiers for people: lines of text, and pages that are one file each.

A page loads nothing, runs nothing and prints well; whatever came from outside is escaped. It shows what the JSON
holds, nothing else. Where the JSON comes from: `shared.protocol.disclosure`, and the cloud's dossiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from shared.protocol.disclosure import Entry, Ledger
from shared.protocol.disclosure_words import CONDITIONS, PARTIES, WORDS, Condition

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--line:#c9c9c9;--strong:#444;--soft:#f4f4f4}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--line:#4a4a4a;--strong:#b5b5b5;--soft:#242424}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
  background:var(--paper)}
h1,h2,p,li{overflow-wrap:anywhere}h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.25rem;margin-top:2.2rem}h3{font-size:1.05rem}
.scroll{overflow-x:auto;margin:.6rem 0 1.2rem}table{border-collapse:collapse;width:100%}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}
th{border-bottom:2px solid var(--strong)}
.hash{font-family:ui-monospace,monospace;font-size:.8rem;overflow-wrap:anywhere}
.note{border-left:4px solid var(--strong);padding:.2rem .8rem;background:var(--soft)}
@media print{:root{--ink:#000;--paper:#fff;--soft:#fff}.scroll{overflow:visible}
body{margin:0;max-width:none;font-size:10.5pt}h2{break-after:avoid}tr{break-inside:avoid}}
"""

_MACROS: Final = """
{%- macro table(caption) -%}
<div class="scroll" tabindex="0" role="region" aria-label="{{ caption }}"><table><caption>{{ caption }}</caption>
{{ caller() }}</table></div>
{%- endmacro -%}
{%- macro entries(ledger, caption, heading) -%}
{% call table(caption) %}
<thead><tr><th scope="col">Who</th><th scope="col">learns what</th><th scope="col">{{ heading }}</th>
<th scope="col">when</th><th scope="col">why</th></tr></thead>
<tbody>{% for entry in ledger.entries %}
<tr><td>{{ entry.who }}</td><td>{{ entry.what }}</td>
<td>{{ entry.amount_text or "&ndash;" | safe }}</td><td>{{ entry.when }}</td><td>{{ entry.why }}</td></tr>{% endfor %}
</tbody>{% endcall %}
{%- endmacro -%}
{%- macro course(course, level) -%}
<h{{ level }}>What happened</h{{ level }}>
<ul>
<li>Took part: {{ course.roster | join(", ") or "nobody yet" }}.</li>
{% for hospital, code in course.declined.items() %}<li>{{ hospital }} declined ({{ code }}).</li>
{% endfor %}{% for hospital, code in course.left_out.items() %}<li>It went on without {{ hospital }} ({{ code }}).</li>
{% endfor %}<li>{% if course.done %}It is done.{% elif course.ended %}It ended without a tree ({{ course.ended }}).
{%- else %}It is not over.{% endif %}{% if course.tree_published %} The tree is published.{% endif %}</li>
{% for hospital, hash in course.attested.items() %}<li>{{ hospital }} attests the result
<span class="hash">{{ hash }}</span>.</li>
{% endfor %}</ul>
{% if course.rounds %}
{% call table("Rounds") %}
<thead><tr><th scope="col">Round</th><th scope="col">attempt</th><th scope="col">open nodes</th>
<th scope="col">cells asked</th>
<th scope="col">contributions</th><th scope="col">sum sent</th><th scope="col">decisions</th></tr></thead>
<tbody>{% for entry in course.rounds %}
<tr><td>{{ entry.round }}</td><td>{{ entry.attempt }}</td>
<td>{% if entry.open_nodes is none %}&ndash;{% else %}{{ entry.open_nodes }}{% endif %}</td>
<td>{% if entry.cells_asked is none %}&ndash;{% else %}{{ entry.cells_asked }}{% endif %}</td>
<td>{{ entry.contributed | length }}</td><td>{{ "yes" if entry.sum_sent else "no" }}</td>
<td>{{ entry.decided | length }}</td></tr>{% endfor %}
</tbody>{% endcall %}{% endif %}
{%- endmacro -%}
{%- macro both(ledger, level) -%}
{{ entries(ledger.fact, "So far, or in the end", "how much") }}
{{ course(ledger.fact.course, level) }}
{{ entries(ledger.forecast, "At most, by what was agreed", "at most") }}
{%- endmacro -%}
{%- macro terms(about) -%}
Profile {{ about.profile }}, key mode {{ about.key_mode }}{% if about.threshold %} ({{ about.threshold }} holders open a
sum together){% endif %}, {% if about.noise %}noise with epsilon {{ about.epsilon_at_most }} at most at delta
{{ about.delta }}{% else %}without noise{% endif %}
{%- if about.secret %}; compute parties {{ about.secret.compute_parties | join(", ") }}; the result
{% if about.secret.result == "shared" %}stays shared{% else %}is opened to
{{ about.secret.result_parties | join(", ") if about.secret.result_parties else "every member" }}{% endif %}{% endif %}
{%- if about.consents %}, with the consent of {{ about.consents | join(", ") }} to be told apart{% endif %}
{%- for sentence in about.counts %}. {{ sentence | trim(".") }}{% endfor %}
{%- endmacro -%}
{%- macro unknown(lines) -%}
<h2>What cannot be known</h2>
<ul>{% for line in lines %}<li>{{ line }}.</li>{% endfor %}</ul>
{%- endmacro -%}
"""

_FRAME: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{% block title %}{% endblock %}</title>
<style>{{ style | safe }}</style></head>
<body><main>
{% block content %}{% endblock %}
</main></body></html>
"""

_LEDGER: Final = """{% extends "frame" %}{% from "macros" import both, terms, unknown %}
{% block title %}Who learned what by job {{ about.job }}{% endblock %}
{% block content %}<h1>Who learned what</h1>
<p>Job <span class="hash">{{ about.job }}</span> of study {{ about.study }}: {{ about.question }}</p>
<p>{{ terms(about) }}; invited: {{ about.invited | join(", ") }}.
{%- if about.synthetic %} Test data of no patient.{% endif %}</p>
<p class="note">Kept by {{ keeper }}, from its own log. Facts are never more than the forecast.</p>
{{ both(ledger, 2) }}
{{ unknown(ledger.forecast.cannot_be_known) }}
{% endblock %}
"""

_DOSSIER: Final = """{% extends "frame" %}{% from "macros" import both, table, terms, unknown %}
{% block title %}Dossier of study {{ study.id }}{% endblock %}
{% block content %}<h1>Dossier of study {{ study.id }}</h1>
<p>{{ study.question }}</p>
<p class="note">As the cloud had it on {{ made | day }}. It holds no record of a patient and no count of records with
some property: those are at the hospitals only.{% if study.synthetic %} The study is marked as test data of no
patient.{% endif %}</p>
<h2>What is asked</h2>
{% call table("Attributes that every hospital's records have") %}
<thead><tr><th scope="col">Attribute</th><th scope="col">kind</th><th scope="col">values</th></tr></thead>
<tbody>{% for attribute in study.attributes %}
<tr><td>{{ attribute.name }}</td><td>{{ attribute.kind }}</td>
<td>{{ attribute["values"] | join(", ") or "&ndash;" | safe }}</td></tr>{% endfor %}
</tbody>{% endcall %}
<p>Classes ({{ study.class_name }}): {{ study.classes | join(", ") }}.</p>
<p>The tree is {{ "published by the cloud" if study.publish_tree else "kept by the hospitals" }}; predictions show at
most {{ study.disclosure }}.</p>
{% if study.rules %}<h2>Rules that every job keeps to</h2>
{% call table("Rules of the study's document") %}
<thead><tr><th scope="col">Rule</th><th scope="col">value</th></tr></thead>
<tbody>{% for name, value in study.rules.items() %}<tr><td>{{ name }}</td>
<td>{{ value | day if name in ("created", "expires") else value | said }}</td></tr>
{% endfor %}</tbody>{% endcall %}
<p class="hash">Document: SHA-256 {{ study.document_sha256 }}</p>{% endif %}
<h2>Hospitals and their answers</h2>
{% call table("What each hospital has answered") %}
<thead><tr><th scope="col">Hospital</th><th scope="col">answer</th><th scope="col">since</th>
<th scope="col">reason</th><th scope="col">certificate</th></tr></thead>
<tbody>{% for member in members %}
<tr><td>{{ member.hospital }}</td><td>{{ member.answer }}</td><td>{{ member.since | day }}</td>
<td>{{ member.reason }}</td><td class="hash">{{ member.certificate_sha256 or "" }}
{% if member.certificate_until %}until {{ member.certificate_until | day }}{% endif %}</td></tr>{% endfor %}
</tbody>{% endcall %}
<h2>Keys and programs</h2>
{% call table("Epochs of the federation's key") %}
<thead><tr><th scope="col">Epoch</th><th scope="col">key</th>
<th scope="col">joined</th></tr></thead>
<tbody>{% for epoch in epochs %}<tr><td>{{ epoch.epoch }}</td><td class="hash">{{ epoch.key_id }}</td>
<td>{{ epoch.joined | day }}</td></tr>{% endfor %}</tbody>{% endcall %}
<p class="hash">Root certificate: SHA-256 {{ root_sha256 }}</p>
<p>The cloud runs Privet {{ version }}; hospitals' agents told these versions:
{% for member in members if member.version %}{{ member.hospital }} {{ member.version }}{{ ", " if not loop.last }}
{%- else %}none yet{% endfor %}.</p>
{% for job in jobs %}<h2>Job {{ job.fact.about.job }}</h2>
<p>{{ terms(job.fact.about) }}; {{ job.state }}, begun {{ job.created | day }}
{%- if job.finished %}, over {{ job.finished | day }}{% endif %}.</p>
<p class="hash">Manifest {{ job.manifest_sha256 }}<br>Key {{ job.key_id }}<br>
Log: {{ job.log.records }} records, head {{ job.log.head }}{% if job.tree_sha256 %}<br>
Result {{ job.tree_sha256 }}{% endif %}</p>
{{ both(job, 3) }}
{% else %}<h2>Jobs</h2><p>No job has been started.</p>{% endfor %}
<h2>Log of administrative acts</h2>
<p>{{ acts | length }} acts are about this study and its jobs{% if acts_head %}; the head of the log is
<span class="hash">{{ acts_head }}</span>{% endif %}.</p>
{% call table("Acts about this study and its jobs") %}
<thead><tr><th scope="col">When</th><th scope="col">who</th><th scope="col">what</th><th scope="col">of what</th>
</tr></thead><tbody>{% for act in acts %}<tr><td>{{ act.time | day }}</td><td>{{ act.actor }}</td>
<td>{{ act.act }}</td><td class="hash">{{ act.subject }}</td></tr>{% endfor %}</tbody>{% endcall %}
<p>Anybody can check the logs without keys: export them (<code>privet cloud audit export</code>,
<code>privet agent audit export</code>) and run <code>privet audit verify</code>.</p>
{{ unknown(cannot_be_known) }}
{% endblock %}
"""


def ledger_page(document: Mapping[str, Any], *, keeper: str) -> str:
    """A job's ledgers as one HTML page. Args: document: with `forecast` and `fact`. keeper: whose log it is from."""
    page = _pages().get_template("ledger")
    return page.render(ledger=document, about=document["fact"]["about"], keeper=keeper)


def dossier_page(document: Mapping[str, Any]) -> str:
    """A study's dossier as one HTML page."""
    return _pages().get_template("dossier").render(**document)


@lru_cache(maxsize=1)
def _pages() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    texts = {"frame": _FRAME, "macros": _MACROS, "ledger": _LEDGER, "dossier": _DOSSIER}
    pages = Environment(loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined)
    pages.globals["style"] = _STYLE
    pages.filters |= {"day": _day, "said": _said}
    return pages


def _day(seconds: int | None) -> str:
    """Unix seconds as a day and a time."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _said(value: Any) -> str:
    """A rule's value as people write it."""
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def ledger_text(forecast: Ledger, fact: Ledger) -> str:
    """Both ledgers as lines for a terminal."""
    job = f"Job {fact.about['job']} ({fact.about['profile']}, key mode {fact.about['key_mode']})"
    counted = fact.about["counts"]
    told = ["So far, or in the end:", *_lines(fact, ""), "At most:", *_lines(forecast, "at most ")]
    return "\n".join([job, *counted, *told])


def _lines(ledger: Ledger, before: str) -> Iterator[str]:
    party = None
    for entry in sorted(ledger.entries, key=lambda entry: list(PARTIES).index(entry.party)):
        if entry.party is not party:
            party = entry.party
            yield f"  {PARTIES[party]}"
        yield f"    {_line(entry, before)}"


def _line(entry: Entry, before: str) -> str:
    amount = f" ({before}{entry.amount_text})" if entry.amount_text else ""
    condition = "" if entry.condition is Condition.ALWAYS else f", {CONDITIONS[entry.condition]}"
    return f"{WORDS[entry.learned]}{amount}{condition}"
