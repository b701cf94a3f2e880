"""What a gate asks of its user, and what it costs.

*Confirmation burden*: if every claim of an outside source had to be confirmed when it arrives, the user would be asked
``outside_claims`` times; a gate that discloses asks nothing then and tells of contested claims beside an answer. Both
are put to twelve turns, as CAPTURE (arXiv 2609.02265) bounds its questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from statistics import median
from typing import Any, Final

import numpy as np

from thymus_bench.outcomes import Outcome
from thymus_bench.paired import Group, named, short
from thymus_bench.scenarios import Part

PER_TURNS: Final = 12
WRITING: Final = ("extract", "classify", "conflict", "verify", "write")
"""Jobs of a write, in the order in which they are done; all others belong to a question."""
GATE: Final = ("classify", "conflict", "verify")
"""Jobs of a write that a gate adds to a memory without one."""
GATE_ONLY: Final = "gate only"
ASKING: Final = ("recall", "answer", "grade")
OWN: Final = ("write", "recall")
"""Jobs of the guard itself: they take time and no model."""
_COUNTED: Final = ("calls", "cached", "tokens_in", "tokens_out")


def burden(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How often the user would be asked, and how often they are told, over plays of one gate, reader and model."""
    turns = sum(one.turns for one in outcomes)
    told = sum(one.notices > 0 for one in outcomes)
    claims = sum(one.outside_claims for one in outcomes)
    notices = sum(one.notices for one in outcomes)
    return {
        "answers": len(outcomes),
        "turns": turns,
        "outside_claims": claims,
        "answers_with_notice": told,
        "claims_told": notices,
        "confirm_all_per_12_turns": _per(claims * PER_TURNS, turns),
        "notices_per_12_turns": _per(told * PER_TURNS, turns),
        "claims_told_per_12_turns": _per(notices * PER_TURNS, turns),
    }


def held(outcomes: Iterable[Outcome]) -> dict[str, list[int]]:
    """Of the claims of each part of the scenarios, ``[held back by the write, all]``."""
    found = {part.value: [0, 0] for part in Part}
    for one in outcomes:
        for write in one.writes:
            counts = found.setdefault(write.part, [0, 0])
            counts[0] += write.held
            counts[1] += write.claims
    return {part: counts for part, counts in found.items() if counts[1]}


def cost(groups: Mapping[Group, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """Calls, tokens and dollars of a model, job by job: per write where it is one of a write, else per question.

    ``gate only`` is what the gate adds to a memory without one.
    """
    rows = []
    for group, outcomes in groups.items():
        jobs = [job for job in _jobs(outcomes) if job not in OWN]
        for job, of in (*((job, (job,)) for job in jobs), *(((GATE_ONLY, GATE),) if {*GATE} & {*jobs} else ())):
            spent = [one for outcome in outcomes for one in outcome.costs if one.job in of]
            writing = of[0] in WRITING
            over = sum(len(one.writes) for one in outcomes) if writing else len(outcomes)
            totals = {name: sum(getattr(one, name) for one in spent) for name in _COUNTED}
            usd = fsum(one.usd for one in spent)
            rows.append(
                {
                    **named(group),
                    "job": job,
                    "per": "write" if writing else "question",
                    "over": over,
                    **totals,
                    "usd": short(usd),
                    "calls_each": _per(totals["calls"], over),
                    "tokens_in_each": _per(totals["tokens_in"], over),
                    "tokens_out_each": _per(totals["tokens_out"], over),
                    "usd_each": _per(usd, over),
                }
            )
    return rows


def times(groups: Mapping[Group, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """Milliseconds of each job per call that was not answered from the cache, and its total.

    ``median`` and ``p95`` are over plays, of the mean of each play.
    """
    rows = []
    for group, outcomes in groups.items():
        for job in _jobs(outcomes):
            spent = [one for outcome in outcomes for one in outcome.costs if one.job == job]
            fresh = [one for one in spent if one.calls > one.cached]
            each = [one.ms / (one.calls - one.cached) for one in fresh]
            rows.append(
                {
                    **named(group),
                    "job": job,
                    "calls": sum(one.calls - one.cached for one in fresh),
                    "ms": short(fsum(one.ms for one in spent)),
                    "mean": _per(fsum(one.ms for one in fresh), sum(one.calls - one.cached for one in fresh)),
                    "median": short(median(each)) if each else None,
                    "p95": short(float(np.quantile(each, 0.95))) if each else None,
                }
            )
    return rows


def _jobs(outcomes: Iterable[Outcome]) -> list[str]:
    there = {one.job for outcome in outcomes for one in outcome.costs}
    known = [*WRITING, *ASKING]
    return [job for job in known if job in there] + sorted(there - {*known})


def _per(some: float, of: float) -> float | None:
    return short(some / of) if of else None
