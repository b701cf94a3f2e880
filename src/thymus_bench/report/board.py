"""The leaderboard as a table, and an entry made from a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from thymus_bench import suites
from thymus_bench.leaderboard import (
    CATEGORY_OF,
    METRICS,
    Count,
    Entry,
    Known,
    LeaderboardError,
    Place,
    ranked,
    read_entry,
)
from thymus_bench.metrics import METRICS as COUNTED
from thymus_bench.metrics import figure
from thymus_bench.outcomes import Outcome
from thymus_bench.report.accounts import words
from thymus_bench.report.runs import Run
from thymus_bench.report.table import NOTHING, Column, Share, Table, percent, points
from thymus_bench.stats import wilson

_SHOWN = ("attack_success", "update_accuracy", "update_told", "benign_accuracy", "over_disclosure")


def board_tables(entries: Sequence[Entry], known: Mapping[str, Known]) -> list[Table]:
    """One ranked table for each set of scenarios, in the order in which the entries come to them."""
    digests = list(dict.fromkeys(one.digest for one in entries))
    return [_board(ranked(one for one in entries if one.digest == digest), digest, known[digest]) for digest in digests]


def _board(places: Sequence[Place], digest: str, known: Known) -> Table:
    return Table(
        name=f"leaderboard-{digest}",
        title=f"Leaderboard: {known.name} ({known.count} scenarios, {digest})",
        columns=(
            Column(title="rank"),
            *words("front", "system", "gate", "reader", "date"),
            Column(title="trade-off ↑", below="points"),
            *(Column(title=COUNTED[name].title) for name in _SHOWN),
            *words("run by"),
        ),
        rows=tuple(
            (
                str(place.rank),
                "yes" if place.front else "",
                f"{place.entry.name} {place.entry.version}",
                place.entry.gate,
                " ".join(filter(None, (place.entry.reader, place.entry.model))),
                place.entry.date,
                _trade_off(place.entry),
                *(_share(place.entry, name) for name in _SHOWN),
                place.entry.run_by,
            )
            for place in places
        ),
        note="First those that no other beats at both attack success and update in the reply, then the others; within "
        "each by the trade-off, update in the reply less attack success, with Newcombe's 95% interval.",
    )


def _trade_off(entry: Entry) -> str:
    low, high = entry.interval
    return points({"value": entry.trade_off, "low": low, "high": high}, middle="value")


def _share(entry: Entry, name: str) -> Share | str:
    count = entry.metrics.get(name)
    if count is None:
        return NOTHING
    if name not in CATEGORY_OF:  # claims of one play depend on each other: the counts bear no interval
        return f"{percent(count.share)} of {count.n:,}"
    low, high = wilson(count.x / entry.repeats, count.n / entry.repeats)
    return Share(share=count.share, low=low, high=high)


def entry_of(run: Run, known: Mapping[str, Known], **said: Any) -> Entry:
    """The entry of one gate of a run.

    :param said: ``name``, ``version``, ``run_by``, and what else a run does not know (``url``, ``notes``, ``date``);
        ``gate``, where it has several.
    :raises LeaderboardError: where the run has several of something, or has not played all scenarios of a known set.
    """
    gates = run.gates
    gate = said.pop("gate", "") or (gates[0] if len(gates) == 1 else "")
    if gate not in gates:
        raise LeaderboardError(f"{run.folder}: name the gate that the entry is about with --gate: {', '.join(gates)}")
    played, digest = _of_known(run, [one for one in run.outcomes if one.gate == gate], known)
    names = {(one.reader, one.model) for one in played}
    if len(names) != 1:
        raise LeaderboardError(f"{run.folder}: it has several readers or models: one entry is about one")
    if failed := [one for one in played if one.error]:
        raise LeaderboardError(f"{run.folder}: {len(failed)} plays failed: thymus-eval --resume {run.folder} first")
    (reader, model) = names.pop()
    figures = {name: figure(played, COUNTED[name]) for name in METRICS}
    entry = Entry(
        reader=reader,
        model=model,
        gate=gate,
        grader=str(run.config.get("grader") or ""),
        digest=digest,
        repeats=max(one.repeat for one in played) + 1,
        metrics={name: Count(x=one["x"], n=one["n"]) for name, one in figures.items() if one["n"]},
        **({"date": _date(run)} | {name: value for name, value in said.items() if value}),
    )
    return read_entry(entry.to_dict(), str(run.folder), known)


def _of_known(run: Run, played: Sequence[Outcome], known: Mapping[str, Known]) -> tuple[list[Outcome], str]:
    """The plays of the scenarios that an entry can be about: all of a known set, or the headline part of more."""
    told = run.config.get("scenarios")
    digest = str(told.get("digest", "")) if isinstance(told, dict) else ""
    headline = next((key for key, one in known.items() if one.name == " and ".join(suites.HEADLINE)), "")
    part = [one for one in played if one.suite in suites.HEADLINE]
    asked = run.config.get("suites")
    if asked and {*asked} > {*suites.HEADLINE} and digest == suites.digest(suites.load(asked)):
        return part, headline
    if digest not in known:
        raise LeaderboardError(
            f"{run.folder}: scenarios: digest {digest!r} is of no set of this version: play all of core and families, "
            "without --only, --category or --data"
        )
    return list(played), digest


def _date(run: Run) -> str:
    started = str(run.config.get("started") or run.folder.name)[:10]
    try:
        return date.fromisoformat(started).isoformat()
    except ValueError:
        return date.fromtimestamp((run.folder / "results.jsonl").stat().st_mtime).isoformat()


def add_entry(path: Path, entry: Entry, known: Mapping[str, Known]) -> int:
    """Write an entry into a file of entries, over one of the same system, gate, reader, model and scenarios.

    :returns: how many entries the file has then.
    :raises LeaderboardError: where the file holds something else or cannot be written.
    """
    from thymus_bench.leaderboard import read_entries

    entries = read_entries([path], known) if path.exists() else []
    kept = [one for one in entries if _identity(one) != _identity(entry)]
    text = json.dumps([one.to_dict() for one in (*kept, entry)], indent=2, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LeaderboardError(f"{path}: cannot be written ({error.strerror}): name a file of yours") from None
    return len(kept) + 1


def _identity(one: Entry) -> tuple[str, ...]:
    return one.name, one.version, one.gate, one.reader, one.model, one.digest
