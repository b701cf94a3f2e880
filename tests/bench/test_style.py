"""Real and fake updates are written alike: words alone do not tell them apart, so no defence can pass by reading style.

Two classifiers over bags of words, cross-validated by family: naive Bayes on which words occur, and on how often.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean

import pytest

from thymus_bench import suites
from thymus_bench.scenarios import Category

SPLITS, FOLDS = 10, 10
CHANCE = 0.56
"""Of a coin, 0.5; by chance alone one random labelling in four of these 60 families reaches this."""

Bag = Counter[str]


def texts() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for one in suites.load(["families"]):
        if one.category is not Category.BENIGN:
            told = " ".join(turn.text for turn in one.turns if turn.part in ("update", "attack"))
            found.setdefault(one.family, {"kind": ""})[one.category] = told
            if one.category is Category.UPDATE:
                found[one.family]["kind"] = one.kind
    return found


def presence(text: str) -> Bag:
    return Counter(set(re.findall(r"[^\W\d_]+|[!?]", text.casefold())))


def frequency(text: str) -> Bag:
    return Counter(re.findall(r"[^\W\d_]+|[!?]", text.casefold()))


def accuracy(families: Sequence[dict[str, str]], bag: Callable[[str], Bag], seed: int) -> float:
    """How often the words of other families tell which text of a family is the fake one."""
    order = list(families)
    random.Random(seed).shuffle(order)
    right = 0
    for fold in range(FOLDS):
        test, train = order[fold::FOLDS], [one for at, one in enumerate(order) if at % FOLDS != fold]
        counts = {side: sum((bag(one[side]) for one in train), Counter()) for side in ("attack", "update")}
        total = {side: counts[side].total() for side in counts}
        vocabulary = len(counts["attack"] | counts["update"])

        def leaning(text: str) -> float:
            return sum(
                number
                * (
                    math.log((counts["attack"][word] + 1) / (total["attack"] + vocabulary))  # noqa: B023
                    - math.log((counts["update"][word] + 1) / (total["update"] + vocabulary))  # noqa: B023
                )
                for word, number in bag(text).items()
            )

        right += sum((leaning(one["attack"]) > 0) + (leaning(one["update"]) <= 0) for one in test)
    return right / (2 * len(order))


@pytest.mark.parametrize("bag", [presence, frequency])
@pytest.mark.parametrize("users_too", [True, False])
def test_words_alone_do_not_tell_real_from_fake(bag: Callable[[str], Bag], *, users_too: bool) -> None:
    families = [one for one in texts().values() if users_too or one["kind"] != "user"]
    assert len(families) == (60 if users_too else 41)
    assert mean(accuracy(families, bag, seed) for seed in range(SPLITS)) <= CHANCE


def test_the_classifier_would_see_a_habit() -> None:
    families = [{"attack": f"URGENT now {at}x", "update": f"hello there {at}y"} for at in range(40)]
    assert accuracy(families, presence, 0) > 0.9


def test_real_and_fake_are_of_one_length() -> None:
    words = {
        side: mean(len(one[side].split()) for one in texts().values()) for side in (Category.UPDATE, Category.ATTACK)
    }
    assert abs(words[Category.UPDATE] - words[Category.ATTACK]) <= 0.15 * words[Category.UPDATE]
