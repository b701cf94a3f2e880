"""The authored pairs and statements, and the pairs that follow from them.

* *authored*: as written.
* *derived*: what says the same as A takes A's place, and its other partners keep their labels.
* *plain*: the authors avoided the plainest way of saying that something changed ("… moved to 7:45") wherever that was
  true; ``plain_pairs_*.txt``, written for this script, gives it back, with partners that are about something else.
* *swapped*: a value in B is exchanged for another of its kind. What said the same then contradicts; the rest stays.
* *random*, *near*: B against the A of another block of the same file, at random and among the nearest by embedding:
  what a store brings in as rivals. They are taken as about different things; some of *near* are not, so they weigh
  little.

* *strangers*: statements of real mail and SMS of different people, paired like *random* and *near*.

Statements are *authored*, *plain* too, or *notice*: what others say in the pairs, taken as facts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thymus.core.provenance import Source
from thymus.core.values import Comparison, Value, ValueKind, compare
from thymus.extract import RuleExtractor
from thymus.judges.reading import read
from thymus.readers import read_messages

AUTHORED, PLAIN, DERIVED, SWAPPED, RANDOM, NEAR = "authored", "plain", "derived", "swapped", "random", "near"
NOTICE = "notice"
RANDOM_EACH, NEAR_EACH = 3, 8
MAX_DERIVED = 12
_LABELS = {"c": "contradicts", "s": "same", "k": "compatible"}
_SWAPPED = frozenset(ValueKind) - {ValueKind.NUMBER, ValueKind.ORDINAL, ValueKind.FREQUENCY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    a: str
    b: str
    a_speaker: str
    b_speaker: str
    label: str
    kind: str
    file: str
    block: str
    origin: str = AUTHORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    text: str
    label: str
    file: str
    origin: str = AUTHORED


def read_pairs(folder: Path) -> list[Pair]:
    """Read ``*.pairs.jsonl``."""
    return [
        Pair(
            **{name: row[name] for name in ("a", "b", "a_speaker", "b_speaker", "label", "kind")},
            file=path.name.split(".")[0],
            block=row["a"],
        )
        for path in sorted(folder.glob("*.pairs.jsonl"))
        for row in _rows(path)
    ]


def read_plain(folder: Path) -> list[Pair]:
    """Read ``plain_pairs_*.txt``: a line ``A speaker | text``, under it lines ``label speaker | text``."""
    found = []
    for path in sorted(folder.glob("plain_pairs_*.txt")):
        stored, stored_speaker = "", ""
        for line in path.read_text(encoding="utf-8").splitlines():
            (mark, speaker), text = line.partition(" | ")[0].split(), line.partition(" | ")[2]
            if mark == "A":
                stored, stored_speaker = text, speaker
                continue
            found.append(
                Pair(
                    a=stored, b=text, a_speaker=stored_speaker, b_speaker=speaker, label=_LABELS[mark], kind=PLAIN,
                    file=path.stem, block=stored, origin=PLAIN,
                )
            )  # fmt: skip
    return found


def read_statements(folder: Path) -> list[Labelled]:
    """Read ``*.claims.jsonl``."""
    return [
        Labelled(text=row["text"], label=row["label"], file=path.name.split(".")[0])
        for path in sorted(folder.glob("*.claims.jsonl"))
        for row in _rows(path)
    ]


def read_plain_statements(folder: Path) -> list[Labelled]:
    """Read ``plain_statements.txt``: lines ``label speaker | text`` in the register of real mail and SMS."""
    lines = (folder / "plain_statements.txt").read_text(encoding="utf-8").splitlines()
    return [
        Labelled(text=text, label=head.split()[0], file=PLAIN, origin=PLAIN)
        for head, _, text in (line.partition(" | ") for line in lines if line)
    ]


def notices(pairs: Sequence[Pair]) -> list[Labelled]:
    """What somebody other than the user says in the pairs: all but always a fact, and in the words of real notices."""
    told = {pair.a: pair.file for pair in pairs if pair.a_speaker == "t"}
    told |= {pair.b: pair.file for pair in pairs if pair.b_speaker == "t" and pair.label != "compatible"}
    return [Labelled(text=text, label="fact", file=file, origin=NOTICE) for text, file in told.items()]


def strangers(paths: Sequence[Path], each: int = 1_400) -> list[Pair]:
    """Statements of real mail and SMS against each other: people who do not know each other, on different things.

    Only every second message is used; the others stay unseen, to measure on.
    """
    found = []
    for path in paths:
        texts = list(
            dict.fromkeys(
                passage.text
                for message in list(read_messages(path))[::2]
                for passage in RuleExtractor().extract(message.text, source=Source(channel="sms"))
                if len(passage.text) > 12
            )
        )[: 2 * each]
        found += [
            Pair(
                a=a, b=b, a_speaker="t", b_speaker="t", label="compatible", kind=RANDOM, file=path.stem, block=a,
                origin=RANDOM,
            )
            for a, b in zip(texts[::2], texts[1::2], strict=False)
        ]  # fmt: skip
    return found


def _rows(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def derive(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs in which a statement that says the same stands for A."""
    blocks: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        blocks.setdefault((pair.file, pair.block), []).append(pair)
    return [
        replace(other, a=same.b, a_speaker=same.b_speaker, origin=DERIVED)
        for block in blocks.values()
        for same in block
        if same.label == "same"
        for other in block[:MAX_DERIVED]
        if other is not same and other.label != "same"
    ]


def swap(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """Pairs in which a value of B is exchanged for another of its kind from the same file."""
    chance = random.Random(seed)
    pools: dict[tuple[str, ValueKind], list[Value]] = {}
    for pair in pairs:
        for value in read(pair.a).values:
            pools.setdefault((pair.file, value.kind), []).append(value)
    found = []
    for pair in pairs:
        ours = [value for value in read(pair.b).values if value.kind in _SWAPPED]
        if not ours:
            continue
        old = chance.choice(ours)
        new = chance.choice(pools.get((pair.file, old.kind), [old]))
        stored = [value for value in read(pair.a).values if value.kind is new.kind]
        if not stored or any(compare(value, new) is not Comparison.DIFFERENT for value in stored):
            continue
        text = pair.b[: old.span[0]] + new.text + pair.b[old.span[1] :]
        label = "contradicts" if pair.label == "same" else pair.label
        found.append(replace(pair, b=text, label=label, kind=SWAPPED, origin=SWAPPED))
    return found


def unrelated(pairs: Sequence[Pair], vectors: Mapping[str, NDArray[np.float32]], seed: int) -> list[Pair]:
    """Each B against the A of other blocks of its file."""
    chance = random.Random(seed)
    found = []
    for file in sorted({pair.file for pair in pairs}):
        own = [pair for pair in pairs if pair.file == file]
        stored = {pair.a: pair.a_speaker for pair in own}
        texts = list(stored)
        matrix = np.array([vectors[text] for text in texts])
        for pair in own:
            ranked = (texts[place] for place in np.argsort(-(matrix @ vectors[pair.b]), kind="stable"))
            nearest = [text for text in ranked if text != pair.a][:NEAR_EACH]
            drawn = [text for text in chance.sample(texts, RANDOM_EACH) if text != pair.a]
            found += [
                replace(pair, a=text, a_speaker=stored[text], label="compatible", kind=origin, origin=origin)
                for origin, some in ((RANDOM, drawn), (NEAR, nearest))
                for text in some
            ]
    return found
