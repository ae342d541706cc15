"""A report as one HTML page: it loads nothing, runs nothing, reads on a narrow screen, by day and by night, and prints.

Whatever came from outside is escaped. It shows what the JSON holds, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from shared.evaluation.report_pictures import calibration_picture, decision_picture, roc_picture
from shared.texts import text

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_PICTURES: Final = 12
"""Of a tree with more classes, the curves of so many are drawn; the JSON has all."""

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--line:#c9c9c9;--strong:#444;--soft:#f1f1f1;--mark:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--line:#4a4a4a;--strong:#b5b5b5;--soft:#242424;
--mark:#7db7f0}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:1.5rem auto;padding:0 1rem;color:var(--ink);
background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem;border-top:1px solid var(--line);
padding-top:.8rem}
.items{font-size:.85rem;color:var(--strong);margin:-.5rem 0 .5rem}
.scroll{overflow-x:auto;margin:.6rem 0 1.2rem}.scroll:focus-visible{outline:3px solid var(--mark)}
table{border-collapse:collapse;min-width:100%}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:normal}
thead th{border-bottom:2px solid var(--strong)}
table.confusion td,table.wide td{font-variant-numeric:tabular-nums;white-space:nowrap}
table.confusion td.same{font-weight:700;background:var(--soft)}
.note{border-left:4px solid var(--strong);padding:.2rem .8rem;background:var(--soft)}
.open{border:1px dashed var(--strong);padding:.4rem .8rem;margin:.8rem 0}.open ul{margin:.2rem 0;padding-left:1.2rem}
pre{overflow-x:auto;background:var(--soft);padding:.8rem;line-height:1.35}
.hash{font-family:ui-monospace,monospace;font-size:.8rem}
.plots{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;flex:1 1 15rem;max-width:20rem}figcaption{font-size:.9rem}
.plot{width:100%;height:auto;font:11px system-ui,sans-serif}.plot text{fill:var(--ink)}
.frame{fill:none;stroke:var(--line)}.even{fill:none;stroke:var(--strong);stroke-dasharray:2 4}
.all{fill:none;stroke:var(--mark);stroke-dasharray:6 4}
.curve{fill:none;stroke:var(--mark);stroke-width:2}
.dot{fill:var(--mark)}.range{stroke:var(--mark);stroke-width:1.5}
@media print{body{margin:0;max-width:none;font-size:10.5pt}h2{break-after:avoid}tr,figure{break-inside:avoid}
.scroll,pre{overflow:visible}pre{white-space:pre-wrap}}
"""

_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ text("report.page_title_of", question=about.question | truncate(80)) }}</title>
<style>{{ style | safe }}</style></head>
<body><main>
<h1>{{ text("report.page_title") }}</h1>
<p>{{ about.question }}</p>
<p>{{ text("report.page_about", study=about.study, job=about.job, n=about.hospitals | length,
program=about.program) }}</p>
<p class="note">{{ about.notice }}{% if about.floor is none %} <strong>{{ text("report.page_own_eyes") }}</strong>
{%- else %} {{ text("report.page_floor", floor=about.floor) }}{% endif %}</p>
<p class="note">{{ text("report.page_shaped") }}</p>
{% for section in sections %}<section aria-labelledby="{{ section.id }}">
<h2 id="{{ section.id }}">{{ section.title }}</h2>
{% if section.tripod_ai_items %}<p class="items">{{ text("report.page_items",
items=section.tripod_ai_items | join(", ")) }}</p>{% endif %}
{% for fact in section.facts %}<p>{{ fact }}</p>
{% endfor %}{% for table in section.tables %}
<div class="scroll" role="region" aria-label="{{ table.caption }}" tabindex="0">
<table class="{{ table.kind }}"><caption>{{ table.caption }}</caption>
<thead><tr>{% for name in table.head %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in table.rows %}{% set line = loop.index %}<tr><th scope="row">{{ row[0] }}</th>
{%- for cell in row[1:] %}<td{% if table.kind == "confusion" and loop.index == line %} class="same"{% endif %}>
{{- cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>{% endfor %}
{% if section.id == "model" and drawing %}
<pre role="region" tabindex="0" aria-label="{{ text("report.page_tree") }}">{{ drawing }}</pre>{% endif %}
{% if section.id == "performance" %}{% for group in pictures %}<h3>{{ group.title }}</h3>
<div class="plots">{% for picture in group.figures %}<figure>{{ picture.svg | safe }}
<figcaption>{{ picture.caption }}</figcaption></figure>{% endfor %}</div>{% endfor %}{% endif %}
{% if section.to_be_filled_in_by_the_authors %}<div class="open"><strong>{{ text("report.page_authors") }}</strong>
<ul>{% for line in section.to_be_filled_in_by_the_authors %}<li>{{ line }}</li>{% endfor %}</ul></div>{% endif %}
</section>
{% endfor %}
<p class="hash">{{ text("report.page_manifest", sha256=about.manifest_sha256) }}{% if about.tree_sha256 %}<br>
{{ text("report.page_tree_hash", sha256=about.tree_sha256) }}{% endif %}</p>
</main></body></html>
"""


def report_page(document: Mapping[str, Any]) -> str:
    """The page of a report's document."""
    pictures = [group for entry in document["judged"] for group in _pictures(entry)]
    return _pages().get_template("report").render(**document, pictures=pictures)


def _pictures(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    drawn = _drawn(entry["evaluation"])
    for name, picture in (
        ("roc", roc_picture),
        ("calibration", calibration_picture),
        ("net_benefit", decision_picture),
    ):
        if name == "net_benefit" and len(entry["evaluation"]["classes"]) != 2:
            continue
        figures = [
            {"svg": picture(found["class"], found[name]), "caption": _caption(found, name)}
            for found in drawn
            if found.get(name)
        ]
        if figures:
            yield {"title": text(f"report.picture.{name}", on=entry["words"]), "figures": figures}


def _drawn(evaluation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The classes whose curves are drawn: of two the rarer, for the other's mirrors it."""
    classes: Sequence[Mapping[str, Any]] = evaluation["classes"]
    if len(classes) != 2:
        return classes[:MOST_PICTURES]
    rarer = min((0, 1), key=lambda k: (_number(evaluation["confusion"]["truth"][k]), -k))
    return [classes[rarer]]


def _number(count: int | str) -> int:
    return count if isinstance(count, int) else 0


def _caption(found: Mapping[str, Any], name: str) -> str:
    label = found["class"] or text("listed.empty")
    if name in ("calibration", "net_benefit"):
        return text(f"report.picture.{name}_caption", label=label)
    value = found["measures"]["auc"]["value"]
    return label if value is None else text("report.picture.roc_caption", label=label, value=f"{value:.2f}")


@lru_cache(maxsize=1)
def _pages() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    pages = Environment(loader=DictLoader({"report": _PAGE}), autoescape=True, undefined=StrictUndefined)
    pages.globals |= {"style": _STYLE, "text": text}
    return pages
