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
from shared.protocol.disclosure_words import (
    Condition,
    Party,
    condition_in_words,
    learned_in_words,
    party_in_words,
)
from shared.texts import text

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
{%- macro head(names) -%}
<thead><tr>{% for name in names %}<th scope="col">{{ text(name) }}</th>{% endfor %}</tr></thead>
{%- endmacro -%}
{%- macro entries(ledger, caption, heading) -%}
{% call table(caption) %}
{{ head(["ledger.who", "ledger.learns", heading, "ledger.when", "ledger.reason"]) }}
<tbody>{% for entry in ledger.entries %}
<tr><td>{{ entry.who }}</td><td>{{ entry.what }}</td>
<td>{{ entry.amount_text or "&ndash;" | safe }}</td><td>{{ entry.when }}</td><td>{{ entry.why }}</td></tr>{% endfor %}
</tbody>{% endcall %}
{%- endmacro -%}
{%- macro course(course, level) -%}
<h{{ level }}>{{ text("ledger.happened") }}</h{{ level }}>
<ul>
<li>{{ text("ledger.took_part", hospitals=course.roster | join(", ") or text("listed.nobody")) }}</li>
{% for hospital, code in course.declined.items() %}
<li>{{ text("ledger.declined", hospital=hospital, code=code) }}</li>
{% endfor %}{% for hospital, code in course.left_out.items() %}
<li>{{ text("ledger.went_on", hospital=hospital, code=code) }}</li>
{% endfor %}<li>{% if course.done %}{{ text("ledger.is_done") }}
{%- elif course.ended %}{{ text("ledger.ended", code=course.ended) }}{% else %}{{ text("ledger.not_over") }}{% endif %}
{%- if course.tree_published %} {{ text("ledger.tree_published") }}{% endif %}</li>
{% for hospital, hash in course.attested.items() %}<li>{{ text("ledger.attests", hospital=hospital) }}
<span class="hash">{{ hash }}</span>.</li>
{% endfor %}</ul>
{% if course.rounds %}
{% call table(text("ledger.rounds")) %}
{{ head(["ledger.round", "ledger.attempt", "ledger.open_nodes", "ledger.cells", "ledger.contributions",
"ledger.sum_sent", "ledger.decisions"]) }}
<tbody>{% for entry in course.rounds %}
<tr><td>{{ entry.round + 1 }}</td><td>{{ entry.attempt + 1 }}</td>
<td>{% if entry.open_nodes is none %}&ndash;{% else %}{{ entry.open_nodes }}{% endif %}</td>
<td>{% if entry.cells_asked is none %}&ndash;{% else %}{{ entry.cells_asked }}{% endif %}</td>
<td>{{ entry.contributed | length }}</td><td>{{ entry.sum_sent | said }}</td>
<td>{{ entry.decided | length }}</td></tr>{% endfor %}
</tbody>{% endcall %}{% endif %}
{%- endmacro -%}
{%- macro both(ledger, level) -%}
{{ entries(ledger.fact, text("ledger.so_far"), "ledger.how_much") }}
{{ course(ledger.fact.course, level) }}
{{ entries(ledger.forecast, text("ledger.at_most_agreed"), "ledger.limit") }}
{%- endmacro -%}
{%- macro terms(about) -%}
{{ text("ledger.terms", profile=about.profile, key_mode=about.key_mode) }}
{%- if about.threshold %}{{ text("ledger.holders", n=about.threshold) }}{% endif %}, {% if about.noise -%}
{{ text("ledger.with_noise", epsilon=about.epsilon_at_most, delta=about.delta) }}
{%- else %}{{ text("ledger.without_noise") }}{% endif %}
{%- if about.secret %}{{ text("ledger.compute_parties", hospitals=about.secret.compute_parties | join(", ")) }}
{%- if about.secret.result == "shared" %}{{ text("ledger.stays_shared") }}{% else -%}
{{ text("ledger.opened_to", hospitals=about.secret.result_parties | join(", ") if about.secret.result_parties
else text("ledger.every_member")) }}{% endif %}{% endif %}
{%- if about.consents %}{{ text("ledger.consents", hospitals=about.consents | join(", ")) }}{% endif %}
{%- for sentence in about.counts %}. {{ sentence | trim(".") }}{% endfor %}
{%- endmacro -%}
{%- macro unknown(lines) -%}
<h2>{{ text("ledger.unknown") }}</h2>
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
{% block title %}{{ text("ledger.title_of_job", job=about.job) }}{% endblock %}
{% block content %}<h1>{{ text("ledger.title") }}</h1>
<p>{{ text("ledger.job") }} <span class="hash">{{ about.job }}</span>
{{ text("ledger.of_study", study=about.study, question=about.question) }}</p>
<p>{{ terms(about) }}; {{ text("ledger.invited", hospitals=about.invited | join(", ")) }}
{%- if about.synthetic %} {{ text("ledger.synthetic") }}{% endif %}</p>
<p class="note">{{ text("ledger.kept_by", keeper=keeper) }}</p>
{{ both(ledger, 2) }}
{{ unknown(ledger.forecast.cannot_be_known) }}
{% endblock %}
"""

_DOSSIER: Final = """{% extends "frame" %}{% from "macros" import both, head, table, terms, unknown %}
{% block title %}{{ text("dossier.title", study=study.id) }}{% endblock %}
{% block content %}<h1>{{ text("dossier.title", study=study.id) }}</h1>
<p>{{ study.question }}</p>
<p class="note">{{ text("dossier.as_of", made=made | day) }}
{%- if study.synthetic %} {{ text("dossier.synthetic") }}{% endif %}</p>
<h2>{{ text("dossier.asked") }}</h2>
{% call table(text("dossier.attributes")) %}
{{ head(["dossier.attribute", "dossier.kind", "dossier.values"]) }}
<tbody>{% for attribute in study.attributes %}
<tr><td>{{ attribute.name }}</td><td>{{ attribute.kind }}</td>
<td>{{ attribute["values"] | join(", ") or "&ndash;" | safe }}</td></tr>{% endfor %}
</tbody>{% endcall %}
<p>{{ text("dossier.classes", name=study.class_name, classes=study.classes | join(", ")) }}</p>
<p>{{ text("dossier.published" if study.publish_tree else "dossier.kept",
shown=text("study.shown." ~ study.disclosure)) }}</p>
{% if study.rules %}<h2>{{ text("dossier.rules") }}</h2>
{% call table(text("dossier.rules_caption")) %}
{{ head(["dossier.rule", "dossier.value"]) }}
<tbody>{% for name, value in study.rules.items() %}<tr><td>{{ name }}</td>
<td>{{ value | day if name in ("created", "expires") else value | said }}</td></tr>
{% endfor %}</tbody>{% endcall %}
<p class="hash">{{ text("dossier.document", sha256=study.document_sha256) }}</p>{% endif %}
<h2>{{ text("dossier.hospitals") }}</h2>
{% call table(text("dossier.answers")) %}
{{ head(["dossier.hospital", "dossier.answer", "dossier.since", "dossier.reason", "dossier.certificate"]) }}
<tbody>{% for member in members %}
<tr><td>{{ member.hospital }}</td><td>{{ member.answer }}</td><td>{{ member.since | day }}</td>
<td>{{ member.reason }}</td><td class="hash">{{ member.certificate_sha256 or "" }}
{% if member.certificate_until %}{{ text("dossier.until", day=member.certificate_until | day) }}
{%- endif %}</td></tr>{% endfor %}
</tbody>{% endcall %}
<h2>{{ text("dossier.keys") }}</h2>
{% call table(text("dossier.epochs")) %}
{{ head(["dossier.epoch", "dossier.key", "dossier.joined"]) }}
<tbody>{% for epoch in epochs %}<tr><td>{{ epoch.epoch }}</td><td class="hash">{{ epoch.key_id }}</td>
<td>{{ epoch.joined | day }}</td></tr>{% endfor %}</tbody>{% endcall %}
<p class="hash">{{ text("dossier.root", sha256=root_sha256) }}</p>
<p>{{ text("dossier.versions", version=version) }}
{% for member in members if member.version %}{{ member.hospital }} {{ member.version }}{{ ", " if not loop.last }}
{%- else %}{{ text("dossier.no_version") }}{% endfor %}.</p>
{% for job in jobs %}<h2>{{ text("ledger.job") }} {{ job.fact.about.job }}</h2>
<p>{{ terms(job.fact.about) }}; {{ text("dossier.begun", state=job.state, day=job.created | day) }}
{%- if job.finished %}{{ text("dossier.over", day=job.finished | day) }}{% endif %}.</p>
<p class="hash">{{ text("dossier.manifest", sha256=job.manifest_sha256) }}<br>
{{ text("dossier.key_of_job", key=job.key_id) }}<br>
{{ text("dossier.log", n=job.log.records, head=job.log.head) }}{% if job.tree_sha256 %}<br>
{{ text("dossier.result", sha256=job.tree_sha256) }}{% endif %}</p>
{{ both(job, 3) }}
{% else %}<h2>{{ text("dossier.jobs") }}</h2><p>{{ text("dossier.no_job") }}</p>{% endfor %}
<h2>{{ text("dossier.acts") }}</h2>
<p>{{ text("dossier.acts_about", n=acts | length) }}{% if acts_head %} {{ text("dossier.acts_head") }}
<span class="hash">{{ acts_head }}</span>.{% endif %}</p>
{% call table(text("dossier.acts_caption")) %}
{{ head(["dossier.act_when", "dossier.act_who", "dossier.act_what", "dossier.act_of"]) }}
<tbody>{% for act in acts %}<tr><td>{{ act.time | day }}</td><td>{{ act.actor }}</td>
<td>{{ act.act }}</td><td class="hash">{{ act.subject }}</td></tr>{% endfor %}</tbody>{% endcall %}
<p>{{ text("dossier.anybody_checks") }} <code>privet cloud audit export</code>, <code>privet agent audit export</code>,
<code>privet audit verify</code>.</p>
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

    templates = {"frame": _FRAME, "macros": _MACROS, "ledger": _LEDGER, "dossier": _DOSSIER}
    pages = Environment(loader=DictLoader(templates), autoescape=True, undefined=StrictUndefined)
    pages.globals |= {"style": _STYLE, "text": text}
    pages.filters |= {"day": _day, "said": _said}
    return pages


def _day(seconds: int | None) -> str:
    """Unix seconds as a day and a time."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _said(value: Any) -> str:
    """A rule's value as people write it."""
    if value is None or value == []:
        return text("common.none")
    if isinstance(value, bool):
        return text("common.yes" if value else "common.no")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def ledger_text(forecast: Ledger, fact: Ledger) -> str:
    """Both ledgers as lines for a terminal."""
    about = fact.about
    job = text("ledger.line", job=about["job"], profile=about["profile"], key_mode=about["key_mode"])
    so_far = [f"{text('ledger.so_far')}:", *_lines(fact)]
    return "\n".join([job, *about["counts"], *so_far, f"{text('ledger.at_most')}:", *_lines(forecast)])


def _lines(ledger: Ledger) -> Iterator[str]:
    party = None
    for entry in sorted(ledger.entries, key=lambda entry: list(Party).index(entry.party)):
        if entry.party is not party:
            party = entry.party
            yield f"  {party_in_words(party)}"
        yield f"    {_line(entry, is_most=ledger.kind == 'forecast')}"


def _line(entry: Entry, *, is_most: bool) -> str:
    amount = entry.amount_text
    if amount and is_most:
        amount = text("ledger.up_to", amount=amount)
    condition = ""
    if entry.condition is not Condition.ALWAYS:
        condition = text("ledger.condition_after", when=condition_in_words(entry.condition))
    return f"{learned_in_words(entry.learned)}{f' ({amount})' if amount else ''}{condition}"
