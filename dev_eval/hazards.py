"""Hazards: are overt injections and secrets recognised, and is harmless text left alone?

``root`` is the folder with ``public/`` and ``train/``. The overt injections are the project's own
(``tests/data/injections.txt``): ``open`` lay beside the rules while they were written; ``kept``, ``late`` and ``last``
met the rules one after the other. The first figure on each stands in ``FIRST``: it tells what to expect of wordings
that the rules have not seen, and cannot be had again, since the misses were then read and the rules widened.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dev_eval.figures import DataMissingError, Part, Sheet, read_rows
from thymus.readers import read_messages
from thymus.recognizers.hazards import Hazard, HazardKind, find_hazards

OVERT = Path(__file__).parent.parent / "tests" / "data" / "injections.txt"
FIRST = {
    "overt: kept": "129 of 145",
    "overt: late": "52 of 64",
    "overt: last": "35 of 55",
    "secrets: second half": "21 of 30",
}
"""What was recognised when a set was first measured. Its misses were read afterwards, and the rules widened."""

Texts = Sequence[str]


def measure(root: Path) -> Part:
    """Count what is recognised in attacks and secrets, and what is raised in harmless texts."""
    wanted = {**_attacks(root), **_secrets(root, "secret")}
    harmless = {**_harmless(root), **_secrets(root, "no_secret")}
    hits = {name: [_raises(text, _kind(name)) for text in texts] for name, texts in wanted.items()}
    started = time.process_time()
    alarms = {name: [find_hazards(text) for text in texts] for name, texts in harmless.items()}
    spent = (time.process_time() - started) / sum(map(len, harmless.values()))
    return Part(
        name="hazards",
        sheets=[
            Sheet(
                title="Hazards: recognised",
                columns=("set", "recognised", "of", "share", "when first measured"),
                rows=[(name, *_share(found), FIRST.get(name, "")) for name, found in hits.items()],
            ),
            Sheet(
                title=f"Hazards: false alarms ({spent * 1e3:.2f} ms a text)",
                columns=("set", "alarms", "of", "share"),
                rows=[(name, *_share([bool(hazards) for hazards in found])) for name, found in alarms.items()],
            ),
        ],
        figures={
            "recognised": {name: {"n": len(found), "found": sum(found)} for name, found in hits.items()},
            "false_alarms": {name: {"n": len(f), "alarms": sum(map(bool, f))} for name, f in alarms.items()},
            "first_measured": FIRST,
            "seconds_a_text": spent,
        },
        misses=[
            *_missed(wanted, hits),
            *(
                f"{name}: false alarm {', '.join(hazard.name for hazard in hazards)}\n  {_around(text, hazards[0])}"
                for name, texts in harmless.items()
                for text, hazards in zip(texts, alarms[name], strict=True)
                if hazards
            ),
        ],
    )


def _kind(name: str) -> HazardKind:
    return HazardKind.SECRET if name.startswith("secrets") else HazardKind.INJECTION


def _raises(text: str, kind: HazardKind) -> bool:
    return any(hazard.kind is kind for hazard in find_hazards(text))


def _share(found: Sequence[bool]) -> tuple[str, str, str]:
    return str(sum(found)), str(len(found)), f"{sum(found) / max(1, len(found)):.1%}"


def _missed(wanted: dict[str, Texts], hits: dict[str, list[bool]]) -> Iterator[str]:
    """What was not recognised, BIPIA aside: plain tasks, of which nothing is expected."""
    for name, texts in wanted.items():
        if not name.startswith("BIPIA"):
            missed = (text for text, hit in zip(texts, hits[name], strict=True) if not hit)
            yield from (f"{name}: missed\n  {text}" for text in missed)


def _around(text: str, hazard: Hazard) -> str:
    return repr(text[max(0, hazard.span[0] - 40) : hazard.span[1] + 40])


def read_overt(path: Path = OVERT) -> dict[str, list[tuple[str, str]]]:
    r"""The project's overt injections by part: (technique, text). ``\n`` and ``\u{hex}`` are undone."""
    halves: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            half, technique, text = line.split(" | ", 2)
            halves.setdefault(half, []).append((technique, _unescape(text)))
    return halves


def _unescape(text: str) -> str:
    parts = text.split("\\")
    said = [parts.pop(0)]
    while parts:
        part = parts.pop(0)
        if part.startswith("u{"):
            code, _, rest = part[2:].partition("}")
            said.append(chr(int(code, 16)) + rest)
        elif part.startswith("n"):
            said.append("\n" + part[1:])
        else:  # a doubled backslash: what follows it is plain
            said.append("\\" + (part or (parts.pop(0) if parts else "")))
    return "".join(said)


def _attacks(root: Path) -> dict[str, Texts]:
    tasks = _json(root / "public" / "injection" / "bipia_text_attack_train.json")
    overt = {f"overt: {half}": [text for _, text in rows] for half, rows in read_overt().items()}
    return {**overt, "BIPIA (plain tasks)": [task for some in tasks.values() for task in some]}


def _secrets(root: Path, label: str) -> dict[str, Texts]:
    """Halves by place in the file: the first lay beside the rules."""
    path = _there(root / "train" / "authored" / "secrets.txt")
    rows = [line.split(" | ", 1) for line in path.read_text(encoding="utf-8").splitlines() if " | " in line]
    middle = len(rows) // 2 + 1
    name = "secrets" if label == "secret" else "no secrets"
    halves = {f"{name}: first half": rows[:middle], f"{name}: second half": rows[middle:]}
    return {half: [text for given, text in some if given == label] for half, some in halves.items()}


def _harmless(root: Path) -> dict[str, Texts]:
    sms = _there(root / "public" / "sms" / "mishra_soni_half_a.csv").read_text(encoding="utf-8", errors="replace")
    authored = _there(root / "train" / "authored")
    return {
        "NotInject": [
            row["prompt"]
            for path in sorted((root / "public" / "injection").glob("NotInject_*.json"))
            for row in _json(path)
        ],
        "SMS ham": [row["TEXT"] for row in csv.DictReader(sms.splitlines()) if row["label"].lower() == "ham"],
        "SpamAssassin ham": [
            message.text for message in read_messages(_there(root / "public" / "email" / "spamassassin"))
        ],
        "facts told by the user": [
            row["text"]
            for path in sorted(authored.glob("*.claims.jsonl"))
            for row in read_rows(authored, path.name)
            if row["label"] == "fact" and row["speaker"] == "u"
        ],
    }


def _there(path: Path) -> Path:
    if not path.exists():
        raise DataMissingError(f"{path} is not there: pass the folder with public/ and train/")
    return path


def _json(path: Path) -> Any:
    return json.loads(_there(path).read_text(encoding="utf-8"))
