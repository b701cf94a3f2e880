"""Tables in the four ways in which they are shown. All text is escaped: a scenario may hold anything."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from thymus.core.provenance import UNPRINTABLE
from thymus.core.quoting import defang
from thymus_bench.report.table import Share, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table as RichTable
    from rich.text import Text

    from thymus_bench.report.table import Cell, Column

_GAP: Final = 2
"""Blanks between the columns on a terminal."""
_LINK: Final = re.compile(r"(?i)://|www\.")
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|#~&$!])")
_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "\0": "{}",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "κ": r"$\kappa$",
    "“": "``",
    "”": "''",
    "’": "'",
}


def plain(text: str) -> str:
    """The text on one line, without what a terminal, browser or typesetter would obey unseen, and its links broken."""
    shown = UNPRINTABLE.sub(lambda unseen: " " if unseen[0].isspace() else "", text)
    return defang(shown) if _LINK.search(shown) else shown


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", plain(text))


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    apart = re.sub(r"-(?=-)", "-\0", plain(text))  # two hyphens would be set as a dash
    return "".join(_LATEX.get(letter, letter) for letter in apart)


def escape_html(text: str) -> str:
    """Text that a browser shows as it is, also inside an attribute."""
    return html.escape(plain(text), quote=True)


def markdown(table: Table) -> str:
    """A heading, the table with pipes, and the note."""
    headings = [escape_markdown(_heading(column)) for column in table.columns]
    lines = [
        f"### {escape_markdown(table.title)}",
        "",
        f"| {' | '.join(headings)} |",
        f"|{'|'.join('--:' if column.number else '---' for column in table.columns)}|",
        *(f"| {' | '.join(_in_markdown(cell) for cell in row)} |" for row in table.rows),
    ]
    return "\n".join([*lines, *(["", escape_markdown(table.note)] if table.note else [])]) + "\n"


def _in_markdown(cell: Cell) -> str:
    # "[7, 20]" can be no link, and "%" and "<" stand before numbers only: shares are left readable
    return str(cell).replace("<", "\\<").replace(">", "\\>") if isinstance(cell, Share) else escape_markdown(cell)


def _heading(column: Column) -> str:
    return f"{column.title} ({column.below})" if column.below else column.title


def latex(table: Table) -> str:
    """A ``table`` float that needs the packages booktabs and graphicx."""
    two_lines = any(column.below for column in table.columns)
    rows = [
        [escape_latex(column.title) for column in table.columns],
        *([[escape_latex(column.below) for column in table.columns]] if two_lines else []),
    ]
    body = [[escape_latex(str(cell)) for cell in row] for row in table.rows]
    lines = [
        r"\begin{table}[htbp]",
        r"  \centering",
        rf"  \caption{{{escape_latex(table.title + '.' + (f' {table.note}' if table.note else ''))}}}",
        rf"  \label{{tab:{re.sub(r'[^a-z0-9-]+', '-', table.name.lower())}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{@{{}}{''.join('r' if column.number else 'l' for column in table.columns)}@{{}}}}",
        r"    \toprule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \midrule",
        # a row that begins with a bracket would be taken for an option of the line break before it
        *(f"    {{}}{' & '.join(row)} \\\\" for row in body),
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def html_table(table: Table) -> str:
    """A ``figure`` with the table in it; shares have a bar behind them."""
    head = "".join(
        f'<th scope="col"{_side(column)}>{escape_html(column.title)}'
        + (f"<small>{escape_html(column.below)}</small>" if column.below else "")
        + "</th>"
        for column in table.columns
    )
    rows = "\n".join(
        "<tr>" + "".join(_in_html(cell, column) for cell, column in zip(row, table.columns, strict=True)) + "</tr>"
        for row in table.rows
    )
    note = f"<p class=note>{escape_html(table.note)}</p>" if table.note else ""
    return (
        f'<figure id="{escape_html(table.name)}"><figcaption>{escape_html(table.title)}</figcaption>'
        f"<div class=wide tabindex=0><table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>{note}"
        "</figure>"
    )


def _side(column: Column) -> str:
    return " class=n" if column.number else ""


def _in_html(cell: Cell, column: Column) -> str:
    if not isinstance(cell, Share):
        return f"<td{_side(column)}>{escape_html(cell)}</td>"
    told = str(cell)
    share, _, rest = told.partition(" ")
    return (
        f'<td class="n s" style="--p:{100 * cell.share:.1f}%"><b>{escape_html(share)}</b> '
        f"<small>{escape_html(rest)}</small></td>"
    )


def terminal(table: Table) -> RenderableType:
    """For a rich console: no rules, numbers to the right, intervals dim.

    Where the console is too narrow, columns that do not fit stand below, beside the first columns once more.
    """
    return _Fitted(table)


class _Fitted:
    """A table that knows its width when it is drawn."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        table = self._table
        yield Text(plain(table.title), "bold")
        for place, columns in enumerate(_blocks(table, options.max_width)):
            if place:
                yield ""
            yield _block(table, columns)
        if table.note:
            yield Text(plain(table.note), "dim")


def _blocks(table: Table, width: int) -> list[list[int]]:
    """The columns of each block, so that none is wider than ``width`` where that can be."""
    lead = next((at for at, column in enumerate(table.columns) if column.number), 1)
    widths = [
        max(len(plain(text)) for text in (column.title, column.below, *(str(row[at]) for row in table.rows))) + _GAP
        for at, column in enumerate(table.columns)
    ]
    blocks: list[list[int]] = [[]]
    room = first = width + _GAP - sum(widths[:lead])
    for at in range(lead, len(table.columns)):
        if blocks[-1] and widths[at] > room:
            blocks.append([])
            room = first
        blocks[-1].append(at)
        room -= widths[at]
    return [[*range(lead), *block] for block in blocks]


def _block(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for at in columns:
        column = table.columns[at]
        heading = Text(plain(column.title), "bold")
        if column.below:
            heading.append(f"\n{plain(column.below)}", "dim not bold")
        made.add_column(heading, justify="right" if column.number else "left", overflow="fold", no_wrap=column.number)
    for row in table.rows:
        made.add_row(*(_on_terminal(row[at]) for at in columns))
    return made


def _on_terminal(cell: Cell) -> Text:
    from rich.text import Text

    if not isinstance(cell, Share):
        return Text(plain(cell))
    share, _, rest = str(cell).partition(" ")
    return Text(share).append(f" {rest}", "dim")
