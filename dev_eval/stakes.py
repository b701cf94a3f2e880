"""High stakes: are planted destinations, codes, contacts, links and doses recognised, and everyday statements spared?

``root`` is the folder with ``public/`` and ``train/``. The statements are the project's own, ``tests/data/stakes.txt``:
``open`` lay beside the rules while they were written; ``kept``, ``late`` and ``last`` met the rules one after
another. The first figure on each stands in ``FIRST``: it tells what to expect of wordings that the rules have not seen,
and cannot be had again, since the misses were then read and the rules widened. A set that is not there is left out,
with a note.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dev_eval.figures import DataMissingError, Part, Sheet, of, read_rows
from dev_eval.hazards import read_overt
from thymus.readers import read_messages
from thymus.recognizers.stakes import Stake, StakeKind, find_stakes

STATEMENTS = Path(__file__).parent.parent / "tests" / "data" / "stakes.txt"
FIRST = {
    "kept": {"payment": "28", "credential": "26", "contact": "22", "link": "24", "dose": "22"},
    "late": {"payment": "7", "credential": "6", "contact": "7", "link": "3", "dose": "7"},
    "last": {"payment": "6", "credential": "5", "contact": "8", "link": "2", "dose": "5"},
}
"""What was recognised when a part was first measured; 0, 1 and 0 of what only resembles a stake were taken for one."""
WANTED = frozenset({"SMS smishing", "SMS spam", "SpamAssassin spam", "phishing mail"})
"""Sets in which stakes are expected, but not in each text: much of it has no value in it, or only a hidden link."""

Texts = Sequence[str]


def measure(root: Path) -> Part:
    """Count what is recognised in the project's statements and raised in real texts, by kind, and take the time.

    :raises DataMissingError: where none of the real texts is there.
    """
    sets, notes = _sets(root)
    rows = read_overt(STATEMENTS)
    found = {part: [(label, text, _kinds(text)) for label, text in some] for part, some in rows.items()}
    raised: dict[str, list[tuple[Stake, ...]]] = {}
    spent: dict[str, float] = {}
    for name, texts in sets.items():
        started = time.process_time()
        raised[name] = [find_stakes(text) for text in texts]
        spent[name] = (time.process_time() - started) / max(1, sum(map(len, texts))) * 100
    return Part(
        name="stakes",
        sheets=[
            Sheet(
                title="High stakes: the project's statements (recognised of all; when first measured)",
                columns=("part", *StakeKind, "none, but raised"),
                rows=[(part, *_row(part, answers)) for part, answers in found.items()],
            ),
            Sheet(
                title="High stakes: real texts in which one was raised",
                columns=("set", "raised", *StakeKind, "ms per 100 characters"),
                rows=[(name, *_counts(some), f"{spent[name] * 1e3:.2f}") for name, some in raised.items()],
            ),
        ],
        figures={
            "recognised": {part: _figures(answers) for part, answers in found.items()},
            "raised": {name: {"n": len(some), "raised": sum(map(bool, some))} for name, some in raised.items()},
            "first_measured": FIRST,
            "seconds_per_100_characters": spent,
        },
        misses=[
            *(
                f"{part}: {label}, found {', '.join(sorted(kinds)) or 'none'}\n  {text}"
                for part, answers in found.items()
                for label, text, kinds in answers
                if not _is_right(label, kinds)
            ),
            *(
                f"{name}: {stake.kind}\n  {_around(text, stake)}"
                for name, texts in sets.items()
                if name not in WANTED
                for text, stakes in zip(texts, raised[name], strict=True)
                for stake in stakes
            ),
        ],
        notes=notes,
    )


def _kinds(text: str) -> frozenset[str]:
    return frozenset(stake.kind for stake in find_stakes(text))


def _is_right(label: str, kinds: frozenset[str]) -> bool:
    return not kinds if label.startswith("not ") else label in kinds


def _row(part: str, answers: Sequence[tuple[str, str, frozenset[str]]]) -> Iterator[str]:
    for kind in StakeKind:
        hits = [kind in kinds for label, _, kinds in answers if label == kind]
        first = FIRST.get(part, {}).get(kind)
        yield of(sum(hits), len(hits)) + (f"; {first}" if first else "")
    alarms = [bool(kinds) for label, _, kinds in answers if label.startswith("not ")]
    yield of(sum(alarms), len(alarms))


def _figures(answers: Sequence[tuple[str, str, frozenset[str]]]) -> dict[str, dict[str, int]]:
    there = Counter(label for label, _, _ in answers)
    right = Counter(label for label, _, kinds in answers if _is_right(label, kinds))
    return {label: {"n": there[label], "right": right[label]} for label in sorted(there)}


def _counts(some: Sequence[tuple[Stake, ...]]) -> Iterator[str]:
    yield of(sum(map(bool, some)), len(some))
    for kind in StakeKind:
        yield str(sum(any(stake.kind is kind for stake in stakes) for stakes in some))


def _around(text: str, stake: Stake) -> str:
    return repr(text[max(0, stake.span[0] - 60) : stake.span[1] + 40])


def _sets(root: Path) -> tuple[dict[str, Texts], list[str]]:
    """The real texts that are at hand, and a note on each set that is not."""
    public = root / "public"
    mail = public / "email" / "spamassassin"
    readers: dict[str, Callable[[], Texts]] = {
        "SMS ham": lambda: _sms(public, "ham"),
        "SpamAssassin ham": lambda: _mails(mail, "*-ham-*.eml"),
        "NotInject": lambda: [
            row["prompt"]
            for path in _files(public / "injection", "NotInject_*.json")
            for row in json.loads(path.read_text(encoding="utf-8"))
        ],
        "facts told by others": lambda: _facts(root / "train" / "authored"),
        "SMS smishing": lambda: _sms(public, "smishing"),
        "SMS spam": lambda: _sms(public, "spam"),
        "SpamAssassin spam": lambda: _mails(mail, "spam-*.eml"),
        "phishing mail": lambda: [
            row["text"] for row in read_rows(public / "email", "phishing_headers_to_2024.jsonl") if row.get("text")
        ],
    }
    sets: dict[str, Texts] = {}
    notes: list[str] = []
    for name, reader in readers.items():
        try:
            sets[name] = reader()
        except DataMissingError as error:
            notes.append(f"{name} is left out: {error}")
    if not sets:
        raise DataMissingError(notes[0])
    return sets, notes


def _files(folder: Path, names: str) -> list[Path]:
    if found := sorted(folder.glob(names)):
        return found
    raise DataMissingError(f"{folder} has no {names}: pass the folder with public/ and train/")


def _sms(public: Path, label: str) -> Texts:
    (path,) = _files(public / "sms", "mishra_soni_half_a.csv")
    rows = csv.DictReader(path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [row["TEXT"] for row in rows if row["label"].lower() == label]


def _mails(folder: Path, names: str) -> Texts:
    return [message.text for path in _files(folder, names) for message in read_messages(path)]


def _facts(authored: Path) -> Texts:
    rows = (row for path in _files(authored, "*.claims.jsonl") for row in read_rows(authored, path.name))
    return [row["text"] for row in rows if row["label"] == "fact" and row["speaker"] != "u"]
