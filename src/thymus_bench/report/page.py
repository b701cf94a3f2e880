"""One HTML page of a run that needs nothing else: tables, chart, and every play with its reply and decisions.

What a scenario or a model wrote is data: it is escaped, its links are broken, and the page's policy lets no script run
but its own.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from thymus.core.quoting import defang
from thymus_bench.metrics import by_group
from thymus_bench.outcomes import Outcome, Write
from thymus_bench.report.chart import Panel, panels
from thymus_bench.report.comparison import state
from thymus_bench.report.drawing import svg
from thymus_bench.report.render import escape_html, html_table
from thymus_bench.report.runs import ReportError, Run, facts
from thymus_bench.report.table import NOTHING, Table
from thymus_bench.report.tables import legend, notes, tables
from thymus_bench.scenarios import Category

MOST_PLAYS: Final = 20_000
"""More make a page that a browser opens slowly; the page says how many are left out."""
_LINKS: Final = {"chart": "Chart", "tables": "Tables", "plays-all": "Plays", "metrics": "Metrics"}


def write_page(run: Run, summary: Mapping[str, Any], path: Path) -> Path:
    """Write the page.

    :raises ReportError: where the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(run, summary), encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be written ({error.strerror}): name a file in a folder of yours") from None
    return path


def page(run: Run, summary: Mapping[str, Any]) -> str:
    """The page as text."""
    title = f"Thymus benchmark: {run.folder.name}"
    shown = tables(summary)
    charts = panels(summary)
    parts = [
        f"<h1>{escape_html(title)}</h1>",
        *(f'<p class="lead">{escape_html(note)}</p>' for note in (*facts(run.config), *notes(summary))),
        f"<nav>{''.join(f'<a href=#{at}>{name}</a>' for at, name in _LINKS.items())}</nav>",
        *(_chart(charts) if charts else ()),
        "<h2 id=tables>Tables</h2>",
        *(html_table(table) for table in shown),
        "<h2 id=plays-all>Plays</h2>",
        *_plays(run.outcomes),
        "<h2>Metrics</h2>",
        html_table(legend()),
    ]
    return document(title, parts)


def tables_page(title: str, shown: Sequence[Table]) -> str:
    """A page of tables alone."""
    return document(title, [f"<h1>{escape_html(title)}</h1>", *(html_table(table) for table in shown)])


def document(title: str, parts: Iterable[str]) -> str:
    """The parts of a body as a whole document, with its style, its script and a policy that allows these alone."""
    folder = files("thymus_bench.report")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; base-uri 'none'; "
        "form-action 'none'"
    )
    body = "\n".join(parts)
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name=viewport content="width=device-width, initial-scale=1">\n<meta name=referrer content=no-referrer>\n'
        f"<title>{escape_html(title)}</title>\n<style>\n{style}</style></head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body></html>\n"
    )


def _chart(charts: Sequence[Panel]) -> Iterator[str]:
    yield "<h2 id=chart>What gets through</h2>"
    yield (
        "<p>The upper left corner is best: real updates reach the reply, planted claims do not. Lines are 95% Wilson "
        "intervals; a hollow mark counts updates that only the notice tells the user.</p>"
    )
    for panel in charts:
        yield f"<figure><figcaption>{escape_html(panel.title)}</figcaption>{svg(panel)}</figure>"


def _plays(outcomes: Sequence[Outcome]) -> Iterator[str]:
    ordered = sorted((one for of in by_group(outcomes).values() for one in of), key=lambda one: one.scenario)
    shown = ordered[:MOST_PLAYS]
    if len(shown) < len(ordered):
        yield f"<p class=note>The first {len(shown):,} of {len(ordered):,}; results.jsonl has them all.</p>"
    yield "<div class=filters><label>Search<input name=text type=search></label>"
    for name, values in (
        ("gate", dict.fromkeys(one.gate for one in shown)),
        ("suite", dict.fromkeys(sorted({one.suite for one in shown}))),
        ("category", dict.fromkeys(sorted({one.category for one in shown}))),
        ("kind", dict.fromkeys(sorted({one.kind for one in shown}))),
        ("result", dict.fromkeys(sorted({_result(one) for one in shown}))),
    ):
        options = "".join(f"<option>{escape_html(value)}</option>" for value in values)
        yield f'<label>{name.capitalize()}<select name={name}><option value="">all</option>{options}</select></label>'
    yield "</div><p class=note aria-live=polite><span id=count></span></p>"
    yield (
        "<table id=plays><thead><tr><th scope=col>scenario</th><th scope=col class=gate>gate</th>"
        "<th scope=col class=result>result</th><th scope=col>reply</th></tr></thead><tbody>"
    )
    yield from map(_play, shown)
    yield "</tbody></table>"


def _result(one: Outcome) -> str:
    return "failed" if one.error else state(one)


def _play(one: Outcome) -> str:
    data = " ".join(
        f'data-{name}="{escape_html(value)}"'
        for name, value in (
            ("gate", one.gate),
            ("suite", one.suite),
            ("category", one.category),
            ("kind", one.kind),
            ("result", _result(one)),
        )
    )
    by = " · ".join(filter(None, (one.reader, one.model, f"repeat {one.repeat + 1}" if one.repeat else "")))
    what = f"{one.category} · {one.kind} · {one.domain}"
    cells = (
        f"{escape_html(one.scenario)}<br><small>{escape_html(what)}</small>",
        f"{escape_html(one.gate)}<br><small>{escape_html(by)}</small>",
        f'<span class="{_colour(one)}">{escape_html(_result(one))}</span>',
        f"<pre>{_said(one.error or one.reply or NOTHING)}</pre>{_details(one)}",
    )
    return f"<tr {data}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _details(one: Outcome) -> str:
    lines = "".join(f"<li>{escape_html(_decision(write))}</li>" for write in one.writes)
    return (
        "<details><summary>context, notice, decisions</summary><dl>"
        f"<dt>context</dt><dd><pre>{_said(one.context or NOTHING)}</pre></dd>"
        f"<dt>notice</dt><dd><pre>{_said(one.notice or NOTHING)}</pre></dd>"
        f"<dt>decisions</dt><dd><ol>{lines}</ol></dd></dl></details>"
    )


def _decision(write: Write) -> str:
    why = f" ({', '.join(write.rules)})" if write.rules else ""
    held = f", {write.held} of {write.claims} held back" if write.held else ""
    return f"{write.part} by {write.source}: {write.effect}{why}{held}"


def _colour(one: Outcome) -> str:
    wanted = one.category != Category.ATTACK
    if one.error or one.adopted != wanted:
        return "half" if not one.error and wanted and one.disclosed else "bad"
    return "good"


def _said(text: str) -> str:
    """Text of a scenario or a model: its lines kept, its links broken, nothing in it obeyed."""
    return "\n".join(escape_html(defang(line)) for line in text.split("\n"))
