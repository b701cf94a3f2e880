"""docs/explanation/threat-model.md, from the manifest and what came of every attack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dev_eval.attacks import FAMILIES, SCENARIOS, answers, places

from .manifest import CLAIMS, GATE, Claim

if TYPE_CHECKING:
    from dev_eval.attacks import Tally

_PAGE = """\
# Threat model

Who may want to poison a memory, what they can do, and what comes of it. The tables are made by playing every attack
through a real guard with the bundled judge under `{gate}`; `pytest tests/attacks --rewrite` makes this page, and a
test keeps it current. `make dev-eval ARGS="--part attacks"` plays them under every gate.

## What is protected

- **What the model answers from.** No false value in the context, whatever label it would carry there: we count as if
  the reader believed every line.
- **What is known already.** No true memory pushed out, replaced or hidden.
- **Real updates.** A rightful sender who does what an attacker does must still be heard: in the context where it has
  the authority, in the notice where it has not.
- **The user's eye.** What a notice shows cannot be used to phish.

## What an attacker can do

Send mails, messages, invitations and pages, as many as it likes, over any time, from any number of addresses and
domains of its own, each of them properly verified *as what it is*. Choose lookalike domains and names. Forge every
header that our own mail server does not check. Have its words passed on by tools, models and people. Know the user's
question, the true value, and this code. It speaks before, between and after everybody else.

It cannot speak as the user where the host application knows who the user is, sign for a domain that it does not
control, change the database, or run code in the process.

## What has to be trusted

- **The host application**: that `source="user"` is the user, that `authenticated=True` was verified, and that
  `derived_from` names what a summary or a tool's result was made from. Otherwise a text gets an authority that it
  should not have.
- **Our mail server**: its own Authentication-Results, under the `authserv_id` that `Source.from_email` is given. It
  must strip headers of that name that come from outside (RFC 8601, section 5).
- **Tools that own a fact** (a calendar, a bank): that no stranger can write into them, or that the host declares it;
  see `echo-undeclared` below. Browsers and searches own nothing.
- **Senders**: for nothing. *Verified* says who, never that it is true; see `taken-over` below.
- **The judge and the embedder**: for nothing where somebody with authority speaks. Otherwise they decide what is seen
  to contradict, and what they miss is in the tables.

## The attacks

Each is played in up to {worlds} worlds: an account for the rent, a number to ring, a dose, a gate code; a time, a
place, a price, a date. **won** counts the worlds in which it succeeded: the false value in the context, a true one that
was in the context no longer there, or a notice that shows what no sender may show; what is so without the attack, too,
does not count. The other columns count where a value was, as *context · notice only · nowhere*: the false value, the
true one, and what a rightful sender says who does the same. A false value *in the notice* is quoted, defanged, and
named with its source. **action**, in the worlds where a false value does harm, counts what `check_action` says to a
call with that value: *allow · ask · deny*. The last column names the [guarantees](guarantees.md) behind it. They hold
for whatever was seen to contradict; that it was seen, in these worlds, is the judge's part.

{tables}

## What is not defended

{undefended}

## Reporting

[SECURITY.md](../../SECURITY.md) says how. The best report is a new scenario in `dev_eval/attacks` that wins.
"""


def draw(tallies: Mapping[str, Tally]) -> str:
    """The whole page."""
    return _PAGE.format(
        gate=GATE,
        worlds=max(tally.worlds for tally in tallies.values()),
        tables="\n\n".join(_table(module.__name__, str(module.__doc__), tallies) for module in FAMILIES),
        undefended=_undefended(tallies),
    )


def _table(module: str, doc: str, tallies: Mapping[str, Tally]) -> str:
    """The attacks that a module registers, under the first line of its docstring."""
    names = [name for name, scenario in SCENARIOS.items() if scenario.play.__module__ == module]
    rows = [
        f"### {doc.splitlines()[0].rstrip('.')}",
        "",
        "| attack | what the attacker does | won | false | true | rightful | action | guarantee |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(name, tallies[name]) for name in names),
    ]
    return "\n".join(rows)


def _row(name: str, tally: Tally) -> str:
    cells = [places(found) if found else "–" for found in (tally.bad, tally.true, tally.real)]
    cells.append(answers(tally.act) if tally.act else "–")
    won = f"**{tally.succeeded} of {tally.worlds}**" if tally.succeeded else f"0 of {tally.worlds}"
    return f"| `{name}` | {SCENARIOS[name].says} | {won} | {' | '.join(cells)} | {_verdict(CLAIMS[name], tally)} |"


def _verdict(claim: Claim, tally: Tally) -> str:
    by = ", ".join(claim.by)
    if not claim.won:
        return by
    if claim.won == tally.worlds:
        return f"*not defended*{f'; limited by {by}' if by else ''}"
    return f"*in part*{f', by {by}' if by else ''}"


def _undefended(tallies: Mapping[str, Tally]) -> str:
    """Every attack that wins somewhere: those for the same reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, claim in CLAIMS.items():
        if claim.won:
            reasons.setdefault((claim.why, claim.remedy), []).append(
                f"`{name}` ({claim.won} of {tallies[name].worlds})"
            )
    rows = [f"| {', '.join(names)} | {why} | {remedy} |" for (why, remedy), names in reasons.items()]
    return "\n".join(["| attack | why it succeeds | what to do about it |", "|---|---|---|", *rows])
