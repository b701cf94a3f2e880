"""The command ``demo``: tells the story of ``thymus.demo`` on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from thymus.cli.frame import examples, session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from thymus.core.policy import Policy
    from thymus.demo import Asked, Ending, Heard, Settled, Step


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("thymus demo", "thymus demo --gate allow-all", "thymus demo --gate user-only"))(demo)


def demo(ctx: typer.Context) -> None:
    """A story: a user, a courier and an attacker write to one memory.

    It tells what each of them said, what was decided and why, and what the model and the user then get to see. The real
    guard runs, with the bundled model, in memory; nothing is stored. With another --gate the same story ends otherwise.
    """
    from thymus.cli import screen
    from thymus.core.gates import get_gate
    from thymus.demo import play

    chosen = session(ctx)
    settings = chosen.settings()
    policy = get_gate(settings.gate)
    steps = play(gate=settings.gate, llm=settings.llm)
    if chosen.json:
        screen.write_json([step.to_dict() for step in steps])
        return
    _tell(screen.open_screen(), steps, policy)


def _tell(out: Console, steps: Iterator[Step], policy: Policy) -> None:
    from rich.text import Text

    from thymus.demo import Asked, Ending, Heard, Settled

    out.print(Text("One memory, and who writes to it", "bold"))
    out.print(f"Gate {policy.name}, the bundled model and judge; nothing is stored.")
    day = before = ""
    asking = False
    for step in steps:
        if isinstance(step, Heard):
            if f"{step.at:%A}" != day:
                day = f"{step.at:%A}"
                _head(out, day)
            _tell_heard(out, step, policy, again=step.line.text == before)
            before = step.line.text
        elif isinstance(step, Settled):
            _tell_settled(out, step)
        elif isinstance(step, Asked):
            if not asking:
                asking = True
                _head(out, "Friday, in a new session: only the memory is left")
                out.print(Text("The best memory for each question; the count at the end is over all of them.", "dim"))
            _tell_asked(out, step)
        elif isinstance(step, Ending):
            _tell_ending(out, step)


def _head(out: Console, words: str) -> None:
    from rich.text import Text

    out.print()
    out.rule(Text(words, "bold"), align="left", style="dim")


def _tell_heard(out: Console, step: Heard, policy: Policy, *, again: bool) -> None:
    """One message; of one in the same words as the one before only who says it, and what became of it."""
    from rich.text import Text

    from thymus.cli import screen
    from thymus.core.quoting import name, quote, standing
    from thymus.explain import because

    if step.line.aside:
        out.print()
        out.print(Text(step.line.aside, "italic"))
    who = Text(step.line.speaker, "bold red" if step.line.hostile else "bold")
    if not step.source.is_user:
        shown = name(step.source) if again else f"{name(step.source)} ({standing(step.source)})"
        who.append(f"  {shown}", "not bold dim default")
    verdict = screen.word(step.written.effect.value)
    if again:
        out.print(screen.indent(who.append(", the same: ", "not bold not dim").append_text(verdict)))
        return
    out.print(screen.indent(who))
    out.print(screen.indent(Text(quote(step.line.text), "bold"), 4))
    out.print(screen.indent(verdict.append(f": {because(step.written.reasons, policy)}", "default"), 4))
    for rival in step.rivals[:1]:
        out.print(screen.indent(Text("that memory: ", "dim").append_text(screen.said(rival)), 4))


def _tell_settled(out: Console, step: Settled) -> None:
    from rich.text import Text

    from thymus.cli import screen

    line = Text("asha", "bold").append(" is asked and says yes: ", "not bold")
    line.append("accepted", "green").append("; what it contradicts stands aside" if step.superseded else "")
    out.print(screen.indent(line))


def _tell_asked(out: Console, step: Asked) -> None:
    from rich.text import Text

    from thymus.cli import screen

    out.print()
    out.print(Text(f"asha asks: {step.question}", "bold"))
    rows = screen.table("", "")
    rows.add_row(Text("the model reads", "green"), step.recall.context or Text("nothing", "dim"))
    rows.add_row(Text("asha is told", "magenta"), step.recall.notice or Text("nothing more", "dim"))
    out.print(screen.indent(rows))


def _tell_ending(out: Console, step: Ending) -> None:
    from rich.text import Text

    from thymus.cli import screen

    _head(out, "What it came to")
    rows = screen.table("", "")
    rows.add_row(
        Text(f"{step.reached_model} of {step.attacks}", "bold red" if step.reached_model else "bold green"),
        f"attacks reached the model; asha was told of {step.disclosed}; {step.refused} refused outright",
    )
    rows.add_row(
        Text(f"{step.flowed} of {step.updates}", "bold green" if step.flowed == step.updates else "bold red"),
        "real updates reached the model",
    )
    out.print(screen.indent(rows))
    out.print()
    out.print("Now you:")
    for line, what in (
        ("thymus demo --gate allow-all", "the same story with no defence"),
        ("thymus demo --gate user-only", "the same, everybody locked out"),
        ('thymus remember "My standup is at 9:15."', "begin your own memory"),
        ("thymus ingest ~/mail --dry-run", "see what a mailbox would teach"),
    ):
        out.print(screen.indent(Text(f"{line:<42}", "bold").append(what, "not bold")))
