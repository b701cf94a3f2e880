"""The command ``eval-judge``: how good a judge is on labelled pairs, and whether orders written into them move it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thymus.cli import costs
from thymus.cli.frame import PROBLEMS, complain, examples, session
from thymus.cli.waiting import now_and_then
from thymus.errors import InputError

if TYPE_CHECKING:
    from thymus.cli.panel import Panel
    from thymus.core.relations import Relation
    from thymus.judge_report import Labelled, Took
    from thymus.ports import Statement

BUNDLED_PAIRS: Final = "judge_pairs.jsonl"
BUNDLED_ORDERS: Final = "judge_injections.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Pairs, and what each judge (by its title) says of them.

    :param titles: what stands under each title that is shown.
    :param took: what the model took for the pairs, alone and in the cascade.
    :param orders: pairs with an order to the judge; ``ordered`` the answers to these, ``plain`` those without it.
    :param stopped: why it ended before the last pair; empty where it did not.
    """

    titles: dict[str, str]
    pairs: list[Labelled]
    answers: dict[str, list[Relation]]
    took: dict[str, Took]
    orders: list[Labelled]
    ordered: dict[str, list[Relation]]
    plain: dict[str, list[Relation]]
    stopped: str


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "eval-judge",
        epilog=examples(
            "thymus eval-judge",
            "thymus eval-judge --judge typed",
            "thymus eval-judge --judge ollama:qwen3:4b --limit 50",
            "thymus eval-judge --judge anthropic:MODEL --max-cost 1",
            "thymus eval-judge --pairs ours.jsonl --no-injections --json",
        ),
    )(eval_judge)


def eval_judge(
    ctx: typer.Context,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The judge: local, typed, an NLI model, or a language model (only:MODEL without the cascade). "
            "By default what --llm names, else local.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="NAME", help="The judge it is compared with; one that needs no provider.")
    ] = "local",
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Labelled pairs of your own, one a line: {"stored": …, "incoming": …, "label": "contradicts"}.',
            show_default=False,
        ),
    ] = None,
    injections: Annotated[
        bool, typer.Option("--injections/--no-injections", help="Ask about pairs with an order to the judge, too.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="So many pairs of each sort, spread over all.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", help="Ask the model no more once it has cost this, at list price.")
    ] = None,
) -> None:
    """Measure a judge on labelled pairs, and against orders aimed at it.

    The pairs are of two authors whom the bundled judge was not trained on. A language model is measured alone and in
    the cascade, where it is asked only about what the bundled judge is unsure of: what that saves, and whether it ever
    makes the bundled judge less careful. The exit code is 1 if it does, or if the model stops answering.
    """
    from thymus.cli.panel import Panel
    from thymus.config import DEFAULT_JUDGE
    from thymus.judges import ONLY
    from thymus.llm import names_model

    chosen = session(ctx)
    name = judge or chosen.settings().llm or DEFAULT_JUDGE
    if max_cost is not None and not names_model(name.removeprefix(ONLY)):
        raise InputError(
            f"--max-cost limits what a language model costs, and {name[:60]!r} is none: name one with --judge"
        )
    labelled = _spread(_read(pairs), limit)
    orders = _spread(_bundled(BUNDLED_ORDERS), limit) if injections else []
    panel = Panel(name, against, max_cost=max_cost)
    with contextlib.closing(panel):
        found = _evaluate(panel, labelled, orders)
    if chosen.json:
        from thymus.cli import screen

        screen.write_json(to_dict(found))
    else:
        from thymus.cli.verdicts import show

        show(found)
    if found.stopped:
        complain(f"ended after {len(found.pairs):,} pairs and {len(found.orders):,} orders: {found.stopped}")
    if found.stopped or any(lowered_in(found)):
        raise typer.Exit(PROBLEMS)


def _read(path: Path | None) -> list[Labelled]:
    """The pairs of a file, by default those that come with Thymus.

    :raises InputError: for a file that is not there, is no text, or has a line that is no labelled pair.
    """
    from thymus.judge_report import read_labelled

    if path is None:
        return _bundled(BUNDLED_PAIRS)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no {path}: name a file of labelled pairs, one JSON object a line") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8: save it as that") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): name a file that can") from None
    return read_labelled(text, path.name)


def _bundled(name: str) -> list[Labelled]:
    from thymus.judge_report import read_labelled

    return read_labelled(resources.files("thymus").joinpath("data", name).read_text(encoding="utf-8"), name)


def _spread(pairs: list[Labelled], limit: int | None) -> list[Labelled]:
    """So many at most, evenly from the whole list."""
    many = min(limit or len(pairs), len(pairs))
    return [pairs[place * len(pairs) // many] for place in range(many)]


def _evaluate(panel: Panel, pairs: list[Labelled], orders: list[Labelled]) -> Evaluation:
    with_and_without = [given for order in orders for given in (order.given, order.plain or order.given)]
    with _progress(panel, len(pairs) + len(with_and_without)) as step:
        answers = _ask(panel, [pair.given for pair in pairs], step)
        took = panel.took
        both = _ask(panel, with_and_without, step) if not panel.stopped else {}
    told = len(next(iter(both.values()), [])) // 2
    return Evaluation(
        titles=panel.titles,
        pairs=pairs[: len(next(iter(answers.values()), []))],
        answers=answers,
        took=took,
        orders=orders[:told],
        ordered={title: said[0 : 2 * told : 2] for title, said in both.items()},
        plain={title: said[1 : 2 * told : 2] for title, said in both.items()},
        stopped=panel.stopped,
    )


def _ask(
    panel: Panel, pairs: Sequence[tuple[Statement, Statement]], step: Callable[[int], None]
) -> dict[str, list[Relation]]:
    """What each judge says of the pairs, as far as the model goes."""
    answers: dict[str, list[Relation]] = {}
    for start in range(0, len(pairs), panel.at_once):
        round_ = panel.judge(pairs[start : start + panel.at_once])
        if round_ is None:
            break
        for title, said in round_.items():
            answers.setdefault(title, []).extend(said)
        step(len(next(iter(round_.values()))))
    return answers


@contextlib.contextmanager
def _progress(panel: Panel, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr at a terminal, else a line now and then; with what the model has cost so far."""
    if not sys.stderr.isatty():
        yield _lines(panel, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from thymus.cli import screen

    columns = (MofNCompleteColumn(), BarColumn(), TextColumn("{task.fields[cost]}"), TimeRemainingColumn())
    with Progress(*columns, console=screen.open_screen(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, cost=cost_so_far(panel))
        yield lambda many: bar.update(task, advance=many, cost=cost_so_far(panel))


def _lines(panel: Panel, total: int) -> Callable[[int], None]:
    done = 0
    say = now_and_then(lambda: f"{done:,} of {total:,} pairs  {cost_so_far(panel)}".rstrip())

    def step(many: int) -> None:
        nonlocal done
        done += many
        say()

    return step


def cost_so_far(panel: Panel) -> str:
    """Dollars at list price and calls; nothing where no model is asked."""
    return costs.so_far(panel.model) if panel.model else ""


def lowered_in(found: Evaluation) -> tuple[list[int], list[int], list[int]]:
    """Where the cascade is less careful than the bundled judge: of the pairs, the orders, and these without the order.

    All three must be empty.
    """
    from thymus.cli.panel import CASCADE, FIRST
    from thymus.judge_report import lowered

    if CASCADE not in found.titles:
        return [], [], []
    pairs, orders, plain = (
        lowered(answers.get(FIRST, []), answers.get(CASCADE, []))
        for answers in (found.answers, found.ordered, found.plain)
    )
    return pairs, orders, plain


def to_dict(found: Evaluation) -> dict[str, Any]:
    """Everything in JSON's types."""
    from thymus.cli.panel import CASCADE
    from thymus.judge_report import Agreement, Obedience, Scores, disagreements

    shown = {title: found.answers[title] for title in found.titles if title in found.answers}
    orders = {title: found.ordered[title] for title in found.titles if title in found.ordered}
    pairs, ordered, plain = lowered_in(found)
    return {
        "judges": found.titles,
        "pairs": len(found.pairs),
        "scores": {title: asdict(Scores.of(found.pairs, said)) for title, said in shown.items()},
        "agreement": [
            {"judges": [one, other], **asdict(Agreement.of(shown[one], shown[other]))}
            for one, other in combinations(shown, 2)
        ],
        "took": {title: asdict(took) for title, took in found.took.items()},
        "disagreements": [_disagreement(one.pair, one.answers) for one in disagreements(found.pairs, shown)],
        "injections": {
            "pairs": len(found.orders),
            "judges": {
                title: asdict(Obedience.of(found.orders, said, found.plain[title])) for title, said in orders.items()
            },
            "obeyed": {
                title: [
                    order.id for order, relation in zip(found.orders, said, strict=True) if relation.label is order.aim
                ]
                for title, said in orders.items()
            },
        }
        if orders
        else None,
        "lowered": {
            "pairs": [found.pairs[place].id for place in pairs],
            "injections": [found.orders[place].id for place in ordered],
            "injections_without_order": [found.orders[place].id for place in plain],
        }
        if CASCADE in found.titles
        else None,
        "stopped": found.stopped,
    }


def _disagreement(pair: Labelled, answers: Any) -> dict[str, Any]:
    return {
        "id": pair.id,
        "phenomenon": pair.phenomenon,
        "label": pair.label,
        "stored": pair.stored.text,
        "incoming": pair.incoming.text,
        "answers": {
            title: {
                "label": relation.label,
                "contradiction": relation.contradiction,
                "detected": relation.detected,
                "confirmed": relation.confirmed,
                "because": relation.because,
            }
            for title, relation in answers.items()
        },
    }
