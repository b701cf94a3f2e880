"""Why a memory stands as it does, told from the ledger: the words come from the rules themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.core.beliefs import Belief, Edge, Status
from thymus.core.disclose import Memory
from thymus.core.gates import GATES
from thymus.core.policy import Policy
from thymus.core.quoting import carrier, quote
from thymus.core.relations import CONFIRMED, DETECTED, Label
from thymus.records import FALLBACKS, Explanation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from thymus.records import Event

_OF_NO_GATE: Final = {
    "no-claim": "it states nothing that could be remembered",
    "already-known": "it says again what is known",
    "user-decided": "you decided so",
    "user-forgot": "you had it erased",
    "user-revoked": "you revoked a source, and the history was told again without it",
    "user-undid": "you undid an act, and the history was told again without it",
    "scope-too-busy": "others kept writing, so it went the careful way",
    "nobody-vouches-for-it": "the application has nobody who vouches for it",
}


def why(rules: Iterable[str], policy: Policy) -> list[tuple[str, str]]:
    """The determining rules, each with its own words; with its name again where nobody knows it.

    :param policy: where a rule's words come from if no named gate has the rule.
    """
    words = {rule.name: rule.when.says for gate in (*GATES.values(), policy) for rule in gate.rules}
    return [(rule, words.get(rule) or _OF_NO_GATE.get(rule, rule)) for rule in rules]


def because(rules: Iterable[str], policy: Policy) -> str:
    """``why`` in a line: ``its sender is new [unknown-sender]; …``."""
    told = [f"{words} [{rule}]" if words != rule else f"[{rule}]" for rule, words in why(rules, policy)]
    return "; ".join(told) or "no rule holds it back"


def explain(
    belief: Belief,
    history: Sequence[Event],
    edges: Sequence[Edge],
    others: Mapping[str, Belief],
    *,
    policy: Policy,
    proof: Sequence[str] = (),
    aside: Sequence[Belief] = (),
) -> Explanation:
    """Tell a memory's story.

    :param edges: its judged pairs; ``others`` are the beliefs on their other side.
    :param proof: what was proved about its source (``Source.proof``).
    :param policy: where a rule's words come from if no named gate has the rule.
    :param aside: the memories that it stood aside for when it was last recalled.
    """
    claim = belief.claim
    teller = "You" if claim.from_user else carrier(claim.source)
    said = f"{teller[0].upper()}{teller[1:]} said {quote(claim.text)} on {claim.observed_at.date().isoformat()}"
    lines = [f"{said} ({claim.kind.value.replace('_', ' ')})."]
    lines += [f"Of its source: {_sentence(said)}" for said in proof]
    if claim.lineage:
        lines.append(f"It was derived from {', '.join(carrier(source) for source in claim.lineage)}.")
    for event in history:
        for change in event.changes:
            moved = change.after.value if change.before is None else f"{change.before.value} → {change.after.value}"
            lines.append(f"#{event.seq} {event.at.date().isoformat()} {moved}: {because(change.rules, policy)}.")
        if stood_in := event.note.get(FALLBACKS):
            lines.append(f"#{event.seq}: no answer came from a model, so {stood_in}.")
    for edge in edges:
        other = others.get(edge.rival if edge.claim == belief.id else edge.claim)
        if other is not None:
            lines.append(f"The judge compared it with {_named(other)}: {_seen(edge)}.")
    for other in aside:
        lines.append(f"When it last came up in a recall it stood aside for {_named(other)}.")
    contradicts = [edge.rival for edge in edges if edge.claim == belief.id and edge.relation.detected]
    return Explanation(memory=Memory.of(belief, contradicts), lines=tuple(lines))


def _sentence(said: str) -> str:
    return f"{said.rstrip('.')}."


def _named(belief: Belief) -> str:
    gone = "" if belief.status is Status.ACTIVE else f", {belief.status.value}"
    return f"{quote(belief.claim.text)} ({belief.id}{gone})"


def _seen(edge: Edge) -> str:
    relation = edge.relation
    if relation.label is Label.UNKNOWN:
        return f"no answer ({relation.because}), so it counts as a contradiction that is not confirmed"
    sure = "confirmed" if relation.confirmed else "detected" if relation.detected else "not detected"
    bound = CONFIRMED if relation.confirmed else DETECTED
    answer = f"{relation.label.value} ({relation.confidence:.2f}); contradiction {sure} at {relation.contradiction:.2f}"
    because = f"; {relation.because}" if relation.because else ""
    return f"{answer} against a threshold of {bound:.2f}, by {relation.judge or 'a judge'}{because}"
