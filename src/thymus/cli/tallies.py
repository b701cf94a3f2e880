"""The account at the end of ``ingest``: what was learned, what the language model took, and what may be amiss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from thymus.cli import costs, screen
from thymus.cli.decisions import show_held
from thymus.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from thymus.cli.frame import Session
    from thymus.guard import MemoryGuard
    from thymus.ingest import Tally
    from thymus.llm import LimitedModel


def report(chosen: Session, guard: MemoryGuard, tally: Tally, *, dry_run: bool) -> None:
    """Print the account."""
    if chosen.json:
        took = costs.to_dict(guard.llm) if guard.llm else None
        screen.write_json(tally.to_dict() | {"model": took, "dry_run": dry_run})
        return
    out = screen.open_screen()
    _show_counts(out, tally, guard.llm)
    _show_problems(out, tally)
    _show_doubts(out, tally)
    if tally.newest_held:
        out.print()
        out.print(f"The newest {len(tally.newest_held)} of {_held(tally):,} that were held back:")
        for memory in reversed(tally.newest_held):
            show_held(out, guard, guard.get(memory.id))
    out.print()
    if dry_run:
        out.print(f"A dry run: nothing was kept{_paid(guard.llm)}. Without --dry-run it is learned.")
    elif tally.newest_held:
        out.print("Decide on them one by one: `thymus inbox -i`. Who said how much: `thymus sources`.")
    else:
        out.print('Ask it something: `thymus recall "…"`. Who said how much: `thymus sources`.')


def _held(tally: Tally) -> int:
    return tally.claims[Outcome.CONTESTED] + tally.claims[Outcome.QUARANTINED]


def _show_counts(out: Console, tally: Tally, model: LimitedModel | None) -> None:
    rows = screen.table("", "", "")
    rows.columns[0].justify = "right"
    for count, what, note in (
        (tally.read, Text("messages read", "bold"), f"in {tally.seconds:.1f} s, {costs.pace(tally.rate)} a second"),
        (tally.skipped, Text("done before"), "by an earlier run; --restart reads them again"),
        (tally.with_claims, Text("with claims"), ""),
        (tally.unstated, Text("dropped"), "they state nothing that could be remembered"),
        (tally.duplicates, Text("duplicates"), "known already: nothing changed"),
        (tally.proved, Text("verified"), "your mail server proved who sent them"),
        (tally.claims.total(), Text("claims", "bold"), ""),
        (tally.claims[Outcome.ADMITTED], screen.word("admitted"), "the model may see them, labelled with their source"),
        (tally.claims[Outcome.REPLACED], screen.word("replaced"), f"{tally.superseded:,} older memories"),
        (tally.claims[Outcome.CONTESTED], screen.word("contested"), "kept from the model until you decide"),
        (tally.claims[Outcome.QUARANTINED], screen.word("quarantined"), "kept from the model until you decide"),
        (tally.claims[Outcome.REJECTED], screen.word("rejected"), "by rule: outside content that speaks for you"),
        (tally.problems, Text("problems", "red" if tally.problems else ""), "" if not tally.problems else "see below"),
    ):
        if count or what.plain in ("messages read", "claims", "problems"):
            rows.add_row(f"{count:,}", what, note)
    if model:
        rows.add_row()
        for row in _of_model(model, tally):
            rows.add_row(*row)
    out.print(rows)


def _of_model(model: LimitedModel, tally: Tally) -> Iterator[tuple[str, Text, str]]:
    """What the language model took, a row each."""
    spent = model.spent
    yield f"{spent.calls - spent.cached:,}", Text("calls", "bold"), f"to {model.name}"
    tokens = spent.tokens_in + spent.tokens_out
    if tokens:
        price = "?" if spent.unpriced else costs.dollars(spent.usd)
        yield f"{tokens:,}", Text("tokens"), f"{spent.tokens_in:,} in, {spent.tokens_out:,} out"
        yield price, Text("cost"), costs.NO_PRICE if spent.unpriced else "at list price"
    for count, what, note in (
        (spent.cached, Text("cached"), "answered before, so they cost nothing now"),
        (spent.refused, Text("declined"), "by the model: that counts as not known"),
        (spent.failed, Text("failed", "red"), "calls that brought no answer"),
        (tally.fell_back, Text("fell back", "yellow"), "messages that what is bundled took over, see below"),
    ):
        if count:
            yield f"{count:,}", what, note


def _paid(model: LimitedModel | None) -> str:
    """That asking a model is paid for in a dry run as well."""
    if model is None or model.spent.calls == model.spent.cached:
        return ""
    asked = costs.count(model.spent.calls - model.spent.cached, "call")
    if model.spent.unpriced:
        return f", but {model.name} was asked in {asked} all the same"
    return f", but the {asked} to {model.name} cost {costs.dollars(model.spent.usd)} all the same"


def _show_doubts(out: Console, tally: Tally) -> None:
    """What may not be as it was meant: messages without a date, a mail server not heard of, a model that failed."""
    doubts = []
    if tally.undated:
        many = "messages" if tally.undated > 1 else "message"
        had = "were" if tally.undated > 1 else "was"
        doubts.append(f"{tally.undated:,} {many} without a readable date {had} given the time of this run.")
    if tally.mails and not tally.reported:
        doubts.append(
            "No mail carries results of the server that --authserv-id names, so none counts as verified: the name is "
            "the first word after Authentication-Results: in a mail that you received."
        )
    elif tally.mails and not tally.proved:
        doubts.append(
            "There are results in the name of your mail server, but they verify no sender: `thymus explain ID` says "
            "why of each memory."
        )
    if tally.fell_back:
        many = f"{tally.fell_back:,} messages were" if tally.fell_back > 1 else "1 message was"
        doubts.append(
            f"{many} learned without the language model, in part or whole; none is lost. The first time: "
            f"{screen.own(tally.first_fallback)}"
        )
    for doubt in doubts:
        out.print()
        out.print(Text(doubt, "yellow"))


def _show_problems(out: Console, tally: Tally) -> None:
    if not tally.problems:
        return
    out.print()
    out.print(f"The first {len(tally.first_problems)} of {tally.problems:,} problems:")
    for problem in tally.first_problems:
        out.print(screen.indent(screen.own(f"{problem.location}: {problem.sentence}")))
