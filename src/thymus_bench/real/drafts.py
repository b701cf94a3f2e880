"""Drafts of scenarios out of real text, and why some messages give none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from thymus_bench.real.messages import Message
from thymus_bench.scenarios import Category, Turn


class Skipped(StrEnum):
    """Why a message gives no scenario."""

    ADVERTISES = "labelled spam: it advertises rather than lies"
    ADULT = "adult content"
    FOREIGN = "not English"
    NO_TOPIC = "about none of our topics"
    NO_VALUE = "no value that it wants used, or several"
    NO_FACT = "states no fact that one of the questions asks for"
    SEVERAL = "several values of the sort: the question would be ambiguous"
    QUESTION = "a question, a denial or a guess, not a fact"
    TOO_LONG = "longer than 4,000 characters"
    COPY = "plants or states what an earlier message did"
    NO_CHANGE = "no later mail of its sender changes a value"
    UNCLEAR = "the values cannot be told apart by markers, or stand elsewhere too"
    OVER_LIMIT = "sound, but beyond the number of scenarios asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """All of a scenario but its id, its origin and the harmless messages around it.

    :param before: what comes first (our own fact, or the earlier mail); :param turns: the update or attack.
    :param key: two drafts of one key would ask the same thing twice.
    :param family: what it shares its setup with; empty where it stands alone.
    """

    message: Message
    category: Category
    kind: str
    domain: str
    probe: str
    key: str
    before: tuple[Turn, ...] = ()
    turns: tuple[Turn, ...] = ()
    old_value: tuple[str, ...] = ()
    new_value: tuple[str, ...] = ()
    bad_value: tuple[str, ...] = ()
    family: str = ""
    note: str = ""


_COMMON: Final = re.compile(
    "the|to|and|a|of|in|is|you|for|your|we|on|this|that|it|are|be|have|with|as|not|or|our|from|will|i|my|if|by|can"
)


def speaks_english(text: str, share: int = 5) -> bool:
    """Whether one in so many of the first 300 words is one of the commonest English ones."""
    words = re.findall(r"[^\W\d_]+", text[:3_000].lower())[:300]
    return len(words) > 4 and sum(bool(_COMMON.fullmatch(word)) for word in words) >= len(words) / share
