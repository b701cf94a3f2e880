"""What a language model took and costs, in words and in JSON's types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from thymus.llm import LimitedModel

NO_PRICE: Final = "no list price is known"


def dollars(usd: float) -> str:
    """An amount of US dollars, from hundredths of a cent on."""
    if 0 < usd < 0.00005:
        return "less than $0.0001"
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.4f}"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its word."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def pace(rate: float) -> str:
    """Messages a second; a model makes few."""
    return f"{rate:,.0f}" if rate >= 10 or not rate else f"{rate:.1f}"


def so_far(model: LimitedModel) -> str:
    """What it took, as a line of progress says it."""
    spent = model.spent
    calls = count(spent.calls, "call")
    return calls if spent.unpriced or not spent.usd else f"{dollars(spent.usd)} in {calls}"


def to_dict(model: LimitedModel) -> dict[str, Any]:
    """What it took. ``usd`` is null where an answer has no list price."""
    spent = model.spent
    return {
        "name": model.name,
        "calls": spent.calls,
        "cached": spent.cached,
        "refused": spent.refused,
        "failed": spent.failed,
        "tokens_in": spent.tokens_in,
        "tokens_out": spent.tokens_out,
        "usd": None if spent.unpriced else round(spent.usd, 6),
        "max_usd": model.max_usd,
    }
