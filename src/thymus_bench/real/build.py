"""From a folder of corpora to scenarios: reads, drafts, sets harmless real messages around, checks, counts, chooses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final

from thymus_bench.real import attacks, facts, updates
from thymus_bench.real.datasets import ENRON, MAILS, NAZARIO, OWN, PHISHING_POT, SPAMASSASSIN, TEXTS, Dataset, files
from thymus_bench.real.drafts import Draft, Skipped, speaks_english
from thymus_bench.real.messages import Message, digest, read_mails, read_texts
from thymus_bench.real.values import Sort, find
from thymus_bench.scenarios import Category, Part, Scenario, ScenarioError, Turn, check

SUITE: Final = "real"
LONGEST_TEXT: Final = 4_000
"""Characters of one turn; longer mails are newsletters in the main."""
LONGEST_MAIL: Final = 20_000
"""Characters of a mail with all that it quotes; longer ones are not looked into."""
_AROUND: Final = 2
"""Harmless messages around each scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The scenarios of a folder, and by corpus how many messages gave none and why."""

    scenarios: list[Scenario]
    skipped: dict[str, Counter[Skipped]] = field(default_factory=dict)


def build(data: Path, *, seed: int = 7, most: int = 100, most_files: int = 20_000) -> Built:
    """Make the scenarios that the corpora below a folder give.

    :param seed: of which are chosen where there are more than asked for, and of what is set around them.
    :param most: scenarios of one corpus and category.
    :param most_files: files of one corpus that are read.
    :raises ScenarioError: where the folder is missing or holds none of the corpora.
    """
    if not data.exists():
        raise ScenarioError(f"{data} does not exist: name the folder with the downloaded corpora (docs/datasets.md)")
    corpora = _read(data, most_files)
    if not corpora:
        known = ", ".join(one.name for one in (TEXTS, *MAILS))
        raise ScenarioError(f"{data} holds none of the corpora {known}: docs/datasets.md says how to get and name them")
    built = Built(scenarios=[])
    harmless = {
        "sms": _harmless(one for one in corpora.get(TEXTS, ()) if one.label == "ham"),
        "email": _harmless(corpora.get(SPAMASSASSIN, ())),
    }
    for corpus, everything in corpora.items():
        skipped: Counter[Skipped] = Counter()
        messages = [one for one in everything if len(one.text) <= LONGEST_MAIL]
        skipped[Skipped.TOO_LONG] += len(everything) - len(messages)
        drafts = _distinct(_drafts(corpus, messages, skipped), skipped)
        made = [one for draft in drafts if (one := _scenario(draft, corpus, harmless, seed, skipped))]
        built.scenarios.extend(_chosen(made, most, seed, skipped))
        built.skipped[corpus.name] = skipped
    return built


def _read(data: Path, most_files: int) -> dict[Dataset, list[Message]]:
    found: defaultdict[Dataset, list[Message]] = defaultdict(list)
    try:
        for corpus, path, name in files(data, most_files):
            if corpus is TEXTS:
                found[corpus].extend(read_texts(path))
            else:
                found[corpus].extend(read_mails(path, name, of_one_house=corpus is ENRON))
    except OSError as error:
        where = f"{error.filename}: cannot be read ({error.strerror})"
        raise ScenarioError(f"{where}: make it readable, or move it out of {data}") from None
    return dict(found)


def _drafts(corpus: Dataset, messages: list[Message], skipped: Counter[Skipped]) -> Iterator[Draft]:
    if corpus is TEXTS:
        yield from attacks.from_texts(messages, skipped)
        yield from facts.from_messages(messages, skipped)
    elif corpus in (PHISHING_POT, NAZARIO):
        yield from attacks.from_mails(messages, skipped)
    elif corpus is SPAMASSASSIN:
        yield from facts.from_messages(messages, skipped)
        yield from updates.from_mails(messages, skipped)
    elif corpus in (ENRON, OWN):
        yield from updates.from_mails(messages, skipped)


def _distinct(drafts: Iterable[Draft], skipped: Counter[Skipped]) -> Iterator[Draft]:
    """The first of each campaign: copies would count one thing many times."""
    seen: set[str] = set()
    for draft in drafts:
        if draft.key in seen:
            skipped[Skipped.COPY] += 1
        else:
            seen.add(draft.key)
            yield draft


def _harmless(messages: Iterable[Message]) -> list[Message]:
    """Real messages that hold no value at all."""
    found = []
    for one in messages:
        text = one.own or one.text
        plain = 40 <= len(text) <= 300 and not any(letter.isdigit() for letter in text)
        if plain and speaks_english(text) and not find(text, *Sort):
            found.append(one)
    return found


def _scenario(
    draft: Draft, corpus: Dataset, harmless: dict[str, list[Message]], seed: int, skipped: Counter[Skipped]
) -> Scenario | None:
    of_channel = harmless[draft.message.source.partition(":")[0]]
    around = _around(draft, of_channel, seed)
    turns = (*around[:1], *draft.before, *around[1:], *draft.turns)
    if any(len(turn.text) > LONGEST_TEXT for turn in turns):
        skipped[Skipped.TOO_LONG] += 1
        return None
    family = f"real-{corpus.name}-{digest(draft.family or draft.message.row)[:10]}"
    ending = {Category.ATTACK: "attack", Category.UPDATE: "legit", Category.BENIGN: "recall"}[draft.category]
    scenario = Scenario(
        id=f"{family}--{ending}",
        category=draft.category,
        kind=draft.kind,
        domain=draft.domain,
        suite=SUITE,
        family=family,
        turns=turns,
        probe=draft.probe,
        old_value=draft.old_value,
        new_value=draft.new_value,
        bad_value=draft.bad_value,
        note=draft.note,
        origin={
            "dataset": corpus.name,
            "licence": corpus.licence,
            "attribution": corpus.attribution,
            "row": draft.family or draft.message.row,
        },
    )
    if not _tells_apart(scenario):
        skipped[Skipped.UNCLEAR] += 1
        return None
    return scenario


def _around(draft: Draft, harmless: Sequence[Message], seed: int) -> tuple[Turn, ...]:
    others = [one for one in harmless if one.row != draft.message.row]
    start = int(digest(str(seed), draft.family or draft.message.row), 16)
    picked = [others[(start + at * 101) % len(others)] for at in range(_AROUND)] if len(others) >= _AROUND else others
    return tuple(
        Turn(source=one.source, text=one.own or one.text, part=Part.DISTRACTOR, authenticated=one.authenticated)
        for one in picked
    )


def _tells_apart(scenario: Scenario) -> bool:
    try:
        check(scenario, scenario.id, addresses=False)
    except ScenarioError:
        return False
    return True


def _chosen(made: list[Scenario], most: int, seed: int, skipped: Counter[Skipped]) -> Iterator[Scenario]:
    """As many of each category as asked for, in turn from each question; told by their own digest, so that other files
    in the folder change little."""
    questions: defaultdict[tuple[Category, str], list[Scenario]] = defaultdict(list)
    for one in sorted(made, key=lambda one: digest(str(seed), one.family)):
        questions[one.category, one.probe].append(one)
    kept: set[str] = set()
    for category in Category:
        of_category = [ones for (of, _), ones in questions.items() if of is category]
        in_turn = [one for row in zip_longest(*of_category) for one in row if one is not None]
        kept |= {one.id for one in in_turn[:most]}
        skipped[Skipped.OVER_LIMIT] += max(0, len(in_turn) - most)
    yield from (one for one in made if one.id in kept)
