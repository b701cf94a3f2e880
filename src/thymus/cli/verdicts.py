"""What ``eval-judge`` found, on the screen: one column a judge, within 80 characters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Final

from rich.text import Text

from thymus.cli import screen
from thymus.cli.judging import lowered_in
from thymus.cli.panel import CASCADE, FIRST, MODEL
from thymus.core.quoting import one_line, quote
from thymus.judge_report import Agreement, Figure, Obedience, Scores, Took, disagreements

if TYPE_CHECKING:
    from rich.console import Console

    from thymus.cli.judging import Evaluation
    from thymus.core.relations import Relation

MOST_SHOWN: Final = 10
"""Disagreements that are shown; --json has them all."""


def show(found: Evaluation) -> None:
    """Figures, agreement, savings, disagreements, and what orders to the judge did."""
    out = screen.open_screen()
    shown = {title: found.answers[title] for title in found.titles if title in found.answers}
    for title, judge in found.titles.items():
        if title != judge:
            out.print(Text.assemble((title, "bold"), f": {one_line(judge)}"))
    _show_scores(out, found, shown)
    _show_agreement(out, shown)
    _show_savings(out, found)
    _show_disagreements(out, found, shown)
    _show_orders(out, found)
    _show_caution(out, found)


def _show_scores(out: Console, found: Evaluation, shown: dict[str, list[Relation]]) -> None:
    scores = [Scores.of(found.pairs, answers) for answers in shown.values()]
    rows: tuple[tuple[str, Callable[[Scores], str]], ...] = (
        ("accuracy", lambda one: percent(one.accuracy)),
        ("F1 of contradicts", lambda one: number(one.f1_contradicts)),
        ("macro-F1", lambda one: number(one.macro_f1)),
        ("detected: recall", lambda one: percent(one.detected)),
        ("detected: false alarms", lambda one: percent(one.alarms)),
        ("confirmed: precision", lambda one: percent(one.precision)),
        ("confirmed: recall", lambda one: percent(one.confirmed)),
        ("unknown", lambda one: str(one.unknown)),
    )
    _head(out, f"{len(found.pairs):,} labelled pairs, with 95% intervals")
    listed = screen.table("", *shown)
    for name, cell in rows:
        listed.add_row(name, *map(cell, scores))
    out.print(listed)


def _show_agreement(out: Console, shown: dict[str, list[Relation]]) -> None:
    if len(shown) < 2:
        return
    _head(out, "Agreement")
    listed = screen.table("", "same label", "Cohen's kappa")
    for one, other in combinations(shown, 2):
        agreed = Agreement.of(shown[one], shown[other])
        listed.add_row(f"{one} and {other}", percent(agreed.alike), number(agreed.kappa))
    out.print(listed)


def _show_savings(out: Console, found: Evaluation) -> None:
    if MODEL not in found.took:
        return
    rows: tuple[tuple[str, Callable[[Took], float | None], Callable[[float], str]], ...] = (
        ("pairs asked about", lambda one: one.asked, "{:,.0f}".format),
        ("answers", lambda one: one.calls, "{:,.0f}".format),
        ("tokens in", lambda one: one.tokens_in, "{:,.0f}".format),
        ("tokens out", lambda one: one.tokens_out, "{:,.0f}".format),
        ("cost at list price", lambda one: one.usd, "${:,.4f}".format),
        ("time, added up", lambda one: one.ms / 1_000, "{:,.1f} s".format),
    )
    judged = [found.took[title] for title in (MODEL, CASCADE) if title in found.took]
    headings = ["", "about every pair", *(["cascade", "saved"] if len(judged) > 1 else [])]
    _head(out, "What the model takes")
    listed = screen.table(*headings, numbers=headings[1:])
    for name, value, shape in rows:
        values = [value(one) for one in judged]
        cells = ["unknown" if one is None else shape(one) for one in values]
        listed.add_row(name, *cells, *([_saved(*values)] if len(values) > 1 else []))
    out.print(listed)


def _saved(every: float | None, cascade: float | None) -> str:
    return f"{1 - cascade / every:.0%}" if every and cascade is not None else "–"


def _show_disagreements(out: Console, found: Evaluation, shown: dict[str, list[Relation]]) -> None:
    apart = disagreements(found.pairs, shown)
    if not apart:
        return
    what = "pairs that the judges answer differently" if len(shown) > 1 else "pairs that it answers wrongly"
    _head(out, f"The first {min(MOST_SHOWN, len(apart))} of {len(apart):,} {what}")
    for one in apart[:MOST_SHOWN]:
        line = Text.assemble((f"{one.pair.label}", "bold"), "; ")
        for title, relation in one.answers.items():
            right = relation.label is one.pair.label
            line.append(f"{title} ").append(relation.label, "green" if right else "red").append(", ")
        line.right_crop(2)
        line.append(f"  {one_line(one.pair.phenomenon or one.pair.id)}", "dim")
        out.print(line)
        for statement in one.pair.given:
            out.print(screen.indent(quote(statement.text)))
    if len(apart) > MOST_SHOWN:
        out.print(Text("--json has them all.", "dim"))


def _show_orders(out: Console, found: Evaluation) -> None:
    if not found.orders:
        return
    figures = [
        Obedience.of(found.orders, found.ordered[title], found.plain[title])
        for title in found.titles
        if title in found.ordered
    ]
    rows: tuple[tuple[str, Callable[[Obedience], Figure]], ...] = (
        ("right without the order", lambda one: one.plain),
        ("right with it", lambda one: one.right),
        ("as ordered", lambda one: one.obeyed),
        ("turned by the order", lambda one: one.turned),
        ("no longer detected", lambda one: one.missed),
    )
    _head(out, f"{len(found.orders):,} pairs with an order to the judge")
    listed = screen.table("", *(title for title in found.titles if title in found.ordered))
    for name, figure in rows:
        listed.add_row(name, *(percent(figure(one)) for one in figures))
    out.print(listed)
    out.print(
        Text(
            "As ordered: against the label; a judge that errs anyway does that, too. Turned: answered rightly without "
            "the order, and as ordered with it.",
            "dim",
        )
    )


def _show_caution(out: Console, found: Evaluation) -> None:
    if CASCADE not in found.titles:
        return
    less = sum(map(len, lowered_in(found)))
    seen = sum(
        relation.detected
        for answers in (found.answers, found.ordered, found.plain)
        for relation in answers.get(FIRST, [])
    )
    out.print()
    if less:
        told = f"The cascade is less careful than the bundled judge in {less:,} of {seen:,}: please report it."
        out.print(Text(told, "red"))
    else:
        told = f"The cascade never lowers the bundled judge's caution: all {seen:,} that it detects stay detected."
        out.print(Text(told, "green"))


def percent(figure: Figure) -> str:
    """A share as ``86% [80, 90]``."""
    return "–" if figure.value is None else f"{figure.value:.0%} [{figure.low * 100:.0f}, {figure.high * 100:.0f}]"


def number(figure: Figure) -> str:
    """Any other figure as ``0.87 [0.82, 0.91]``."""
    return "–" if figure.value is None else f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"


def _head(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, "bold"))
