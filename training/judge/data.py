"""The authored pairs and statements, and what is made of them for training."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

LABELS = ("contradicts", "same", "compatible")
KINDS = ("fact", "preference", "instruction", "not_a_claim")
AUTHORED = Path(__file__).parents[1] / "authored"
HELD = ("hold1", "hold2")
"""Authors whose work is never trained on; they wrote for nothing else."""

_TOO_ALIKE = 0.6
_WORD = re.compile(r"\w+")

Row = dict[str, str]


def read(suffix: str, folder: Path = AUTHORED) -> list[Row]:
    """All rows of ``*.pairs.jsonl`` or ``*.claims.jsonl``, each with its author's name as ``file``."""
    return [
        {**json.loads(line), "file": path.name.split(".")[0]}
        for path in sorted(folder.glob(f"*.{suffix}.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def parted(rows: Sequence[Row], held: Sequence[str] = HELD) -> tuple[list[Row], list[Row]]:
    """What is trained on, and what is held out: by whole authors."""
    return [row for row in rows if row["file"] not in held], [row for row in rows if row["file"] in held]


def unlike(rows: Sequence[Row], folder: Path) -> list[Row]:
    """Rows without those whose texts share more than 0.6 of their words with a text of ``folder``'s ``*.jsonl``.

    The sets that are only measured on must not have been learned, not even by chance.
    """
    others = [set(words) for words in _texts(folder)]
    held = [other for other in others if len(other) > 2]
    return [row for row in rows if not any(_alike(set(_WORD.findall(row[side].lower())), held) for side in _sides(row))]


def _texts(folder: Path) -> Iterator[list[str]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield from (_WORD.findall(str(row[name]).lower()) for name in ("a", "b", "text") if name in row)


def _sides(row: Row) -> tuple[str, ...]:
    return tuple(name for name in ("a", "b", "text") if name in row)


def _alike(ours: set[str], others: Sequence[set[str]]) -> bool:
    return len(ours) > 2 and any(len(ours & theirs) > _TOO_ALIKE * len(ours | theirs) for theirs in others)


def some(pairs: Sequence[Row], share: float, chance: random.Random) -> list[Row]:
    """A share of the memories with all that was written under them: never single pairs."""
    memories = sorted({(row["file"], row["a"]) for row in pairs})
    kept = set(chance.sample(memories, round(len(memories) * share)))
    return [row for row in pairs if (row["file"], row["a"]) in kept]


class Siblings:
    """What says the same as a memory can stand for it: its other statements keep their labels."""

    def __init__(self, pairs: Sequence[Row]) -> None:
        self._same: dict[tuple[str, str], list[Row]] = {}
        for row in pairs:
            if row["label"] == "same":
                self._same.setdefault((row["file"], row["a"]), []).append(row)

    def stand_in(self, pair: Row, chance: random.Random) -> Row:
        """The pair with another wording of its memory, or the pair itself."""
        others = [row for row in self._same.get((pair["file"], pair["a"]), ()) if row["b"] != pair["b"]]
        if not others or pair["label"] == "same":
            return pair
        other = chance.choice(others)
        return {**pair, "a": other["b"], "a_speaker": other["b_speaker"]}


def reversed_pair(pair: Row) -> Row:
    """The later statement stored and the earlier one incoming: to clash, or not to, has no direction."""
    if pair["label"] == "same":  # entailment has one
        return pair
    return {**pair, "a": pair["b"], "a_speaker": pair["b_speaker"], "b": pair["a"], "b_speaker": pair["a_speaker"]}


def strangers(paths: Sequence[Path], each: int = 1_400) -> list[str]:
    """Statements of real mail and SMS, in random order; every second message stays unseen, to measure on."""
    from thymus import Source
    from thymus.extract import RuleExtractor
    from thymus.readers import read_messages

    found = []
    for path in paths:
        texts = dict.fromkeys(
            passage.text
            for message in list(read_messages(path))[::2]
            for passage in RuleExtractor().extract(message.text, source=Source(channel="sms"))
            if len(passage.text) > 12
        )
        found += list(texts)[:each]
    random.Random(1).shuffle(found)
    return found


def unrelated(pairs: Sequence[Row], count: int, chance: random.Random) -> list[Row]:
    """Statements against a memory of another block by the same author: both hold."""
    by_file: dict[str, list[Row]] = {}
    for row in pairs:
        by_file.setdefault(row["file"], []).append(row)
    found = []
    for row in chance.choices(pairs, k=count):
        other = chance.choice(by_file[row["file"]])
        if other["a"] != row["a"]:
            found.append({**row, "a": other["a"], "a_speaker": other["a_speaker"], "label": "compatible"})
    return found
