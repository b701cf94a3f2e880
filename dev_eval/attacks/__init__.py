"""Attackers who have read our code, each played in several worlds under every gate.

``worlds/*.toml`` are facts, who owns them and what an attacker writes; the modules ``crowds``, ``identity``,
``laundering``, ``words`` and ``notices`` make attacks of them; ``play`` says what came of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dev_eval.attacks import crowds, identity, laundering, notices, words
from dev_eval.attacks.play import Outcome, Place, Tally, Theatre
from dev_eval.attacks.stage import SCENARIOS, Scenario
from dev_eval.attacks.worlds import World, read_worlds
from dev_eval.figures import Part, Sheet
from thymus import GATES
from thymus.core.actions import Answer
from thymus.embed import get_embedder
from thymus.judges import get_judge

__all__ = ["SCENARIOS", "Place", "Scenario", "Tally", "Theatre", "World", "measure", "open_theatre", "read_worlds"]

FAMILIES = (crowds, identity, laundering, words, notices)
"""The modules that register scenarios, in the order in which they are told."""
_PLACES = tuple(Place)


def open_theatre() -> Theatre:
    """With the bundled judge and embedder."""
    embedder = get_embedder("e5-small")
    return Theatre(get_judge("local", embedder=embedder, rivals=True), embedder)


def measure(gates: Sequence[str] = ()) -> Part:
    """Every attack under every gate (or those named): in how many worlds it came to what."""
    gates = gates or tuple(GATES)
    theatre, worlds = open_theatre(), read_worlds()
    rows, figures, misses = [], {}, []
    for name, scenario in SCENARIOS.items():
        tallies = {}
        for gate in gates:
            tallies[gate], outcomes = theatre.tally(scenario, worlds, gate)
            misses += [_miss(scenario, gate, world, one) for world, one in outcomes.items() if one.succeeded]
        rows.append(_row(scenario, tallies))
        figures[name] = {gate: _figures(tally) for gate, tally in tallies.items()}
    sheet = Sheet(
        title=f"Attacks ({len(rows)}), each in up to {len(worlds)} worlds", columns=("attack", "", *gates), rows=rows
    )
    return Part(name="attacks", sheets=[sheet], figures=figures, misses=misses, notes=[_LEGEND])


_LEGEND = (
    "won: worlds in which the attack succeeded, for a reader who believes whatever is in the context. bad, true, real: "
    "where the false value, the true one, and a rightful sender's (doing the same) were: context·notice·nowhere. "
    "act: what check_action says to a call with the false value, where it would do harm: allow·ask·deny."
)


def _row(scenario: Scenario, tallies: dict[str, Tally]) -> tuple[str, ...]:
    some = next(iter(tallies.values()))
    lines = [("won", [f"{tally.succeeded} of {tally.worlds}" for tally in tallies.values()])]
    lines += [
        (what, [places(getattr(tally, what)) for tally in tallies.values()])
        for what in ("bad", "true", "real")
        if getattr(some, what)
    ]
    if some.act:
        lines.append(("act", [answers(tally.act) for tally in tallies.values()]))
    return (
        scenario.id,
        "\n".join(what for what, _ in lines),
        *("\n".join(found[column] for _, found in lines) for column in range(len(tallies))),
    )


def places(found: Counter[Place]) -> str:
    """``5·1·0``: in the context, in the notice only, nowhere."""
    return "·".join(str(found[place]) for place in _PLACES)


def answers(found: Counter[Answer]) -> str:
    """``0·3·1``: allowed, asked about, denied."""
    return "·".join(str(found[answer]) for answer in Answer)


def _figures(tally: Tally) -> dict[str, object]:
    return {
        "worlds": tally.worlds,
        "won": tally.succeeded,
        "act": {str(answer): tally.act[answer] for answer in Answer},
        **{what: {str(place): getattr(tally, what)[place] for place in _PLACES} for what in ("bad", "true", "real")},
    }


def _miss(scenario: Scenario, gate: str, world: str, outcome: Outcome) -> str:
    return (
        f"{scenario.id} won in {world} under {gate}: {scenario.says}\n"
        f"  context: {outcome.recall.context!r}\n  notice:  {outcome.recall.notice!r}"
    )
