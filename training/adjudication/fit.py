"""Fit the regressions that say whether a statement answers a question (``thymus/judges/answering.py``), and whether
outside claims answer it otherwise (``thymus/judges/contention.py``).

Authored worlds are played through a guard; what each question brings together is held against each other as a recall
does it, and a contention counts as one where an update or an attack without authority stands against the fact that it
changes. Cross-validated by world.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from dev_eval.families import shows, source_of, tell
from dev_eval.worlds import HERE, read_worlds
from numpy.typing import NDArray

from thymus import MemoryGuard, Source
from thymus.core.adjudicate import Candidate, Contention, contentions
from thymus.core.beliefs import Status
from thymus.core.claims import fold
from thymus.embed import get_embedder
from thymus.extract import RuleExtractor
from thymus.judges.answering import FOLDER, Answering
from thymus.judges.answering import LAYOUT as ANSWERING_LAYOUT
from thymus.judges.contention import CHEAP, FULL, HOPELESS, LAYOUT, PLAINLY, numbers, read_together
from thymus.ports import Probe
from thymus.retrieval import brought_together, ranked

GATE = "thymus-v3"  # what a write holds back is no business of a recall, and v4 would hold more of it back
STRENGTH = 1.0
SPREAD, NEARNESS = 20.0, 10.0  # what brings products and cosines to about the same scale as the penalty
FOLDS = 10
K = 8
FAMILIES: Final = HERE.parent / "families"

Row = dict[str, Any]


def main() -> None:
    """Fit on what there is to learn from, print the curve, write the weights."""
    worlds = _worlds()
    rows = [row for world in worlds for row in _rows(world)]
    said = [one for world in worlds if "legit" in world for one in _said(world)]
    names = [world["id"] for world in worlds]
    labels = np.array([row["label"] for row in rows], float)
    fold = np.array([names.index(row["world"]) % FOLDS for row in rows])
    fold_said = np.array([names.index(one["world"]) % FOLDS for one in said])
    print(f"{len(said)} statements, of which {sum(one['answers'] for one in said)} answer their question")
    chances, odds = np.zeros(len(rows)), np.zeros(len(said))
    for number in range(FOLDS):  # what a statement answers is told by weights that never saw its world
        test, told = fold == number, fold_said == number
        answering = _answering([one for one, out in zip(said, told, strict=True) if not out])
        odds[told] = [
            answering.odds(one["question"], one["vector"][None])[0] for one, out in zip(said, told, strict=True) if out
        ]
        for row, out in zip(rows, test, strict=True):
            if out:
                _answered(row, answering)
    cheap, full = _numbers(rows)
    for number in range(FOLDS):
        test = fold == number
        first = _apply(_regress(cheap[~test], labels[~test]), cheap[test])
        second = _apply(_regress(full[~test], labels[~test]), full[test])
        plainly = 1 / (1 + np.exp(-full[test][:, 0]))
        second = np.maximum(second, np.where(plainly >= PLAINLY, plainly, 0))
        chances[test] = np.where(first >= HOPELESS, second, first)
    _print_curve(rows, chances)
    answers = np.array([one["answers"] for one in said], bool)
    near = np.array([one["question"] @ one["vector"] for one in said])
    print(f"answering: AUC {_auc(odds, answers):.3f}, of the cosine alone {_auc(near, answers):.3f}")
    fitted = {"cheap": _regress(cheap, labels), "full": _regress(full, labels)}
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    _write(folder / "contention.json", {"layout": LAYOUT, **fitted})
    answering = _answering(said)
    _write(
        folder / "answering.json",
        {
            "layout": ANSWERING_LAYOUT,
            "nearness": answering.nearness,
            "bias": answering.bias,
            "weights": [round(float(weight), 4) for weight in answering.weights],
        },
    )
    for name, kept in (("cheap", CHEAP), ("full", FULL)):
        told_of = zip(kept, fitted[name]["weights"], strict=True)
        print(f"{name}: " + ", ".join(f"{what} {weight:+.2f}" for what, weight in told_of))


def _write(path: Path, kept: dict[str, Any]) -> None:
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _numbers(rows: list[Row]) -> tuple[NDArray[Any], NDArray[Any]]:
    cheap = np.array([row["numbers"] for row in rows])
    return cheap, np.c_[np.array([row["together"] for row in rows]), cheap]


def _answered(row: Row, answering: Answering) -> None:
    """Put what these weights say in the place of what the bundled ones said."""
    odds = answering.odds(row["question"], row["vectors"])
    owns, offers = float(odds[0]), float(odds[1:].max())
    row["numbers"][-3:] = [owns, offers, min(owns, offers)]


def _said(world: dict[str, Any]) -> list[dict[str, Any]]:
    """Every statement of a world, and whether it answers the question: it has the old, the new or the bad value."""
    embedder = get_embedder()
    question = embedder.embed([world["probe"]], role="query")[0]
    told = [(world["user_setup"], world["old_value"]), (world["distractors"], [])]
    told += [
        (world[part]["turns"], world[part][name]) for part, name in (("legit", "new_value"), ("attack", "bad_value"))
    ]
    texts = [
        (passage.text, any(shows(passage.text, value) for value in values))
        for turns, values in told
        for turn in turns
        for passage in RuleExtractor().extract(turn["text"], source=Source.parse(source_of(turn)))
    ]
    vectors = embedder.embed([text for text, _ in texts], role="passage")
    return [
        {"world": world["id"], "question": question, "vector": vector, "answers": answers}
        for (_, answers), vector in zip(texts, vectors, strict=True)
    ]


def _answering(said: list[dict[str, Any]]) -> Answering:
    """A regression over the products, and the cosine beside them."""
    question = np.array([one["question"] for one in said])
    vector = np.array([one["vector"] for one in said])
    rows = np.c_[question * vector * SPREAD, (question * vector).sum(axis=1) * NEARNESS]
    answers = np.array([one["answers"] for one in said], float)
    weights = _newton(np.c_[rows, np.ones(len(rows))], answers, np.r_[np.ones(rows.shape[1]), 1e-6])
    return Answering(weights=weights[:-2] * SPREAD, nearness=float(weights[-2]) * NEARNESS, bias=float(weights[-1]))


def _auc(odds: NDArray[Any], answers: NDArray[Any]) -> float:
    """The chance that an answer has higher odds than another statement (Mann and Whitney 1947)."""
    higher = odds[answers][:, None] > odds[~answers]
    return float(higher.mean())


def _worlds() -> list[dict[str, Any]]:
    """The worlds to learn from, and the families that were written for that."""
    families = [family for path in sorted(FAMILIES.glob("*.json")) for family in json.loads(path.read_text("utf-8"))]
    return [*read_worlds(HERE / "build"), *map(_as_world, families)]


def _as_world(family: dict[str, Any]) -> dict[str, Any]:
    def told(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                "role": "user" if turn["source"] == "user" else "tool",
                "text": turn["text"],
                "source": {"origin": turn["source"], "authenticated": turn.get("authenticated")},
            }
            for turn in turns
        ]

    return {
        "id": family["id"],
        "probe": family["probe"],
        "old_value": family["old_value"],
        "user_setup": told(family["setup"]),
        "distractors": told(family["distractors"]),
        **{part: family[part] | {"turns": told(family[part]["turns"])} for part in ("legit", "attack")},
    }


PARTS: Final = ("legit", "attack", "recall", "first legit", "first attack")
"""What is played of a world: its update, its attack, neither, and each of both where nothing was said before it. In the
last three no memory owns another answer, which is how it mostly is."""


def _rows(world: dict[str, Any]) -> list[Row]:
    found = []
    for part in PARTS if "legit" in world else ("harmony",):
        with MemoryGuard(gate=GATE) as guard:
            tags: dict[str, str] = {}
            before = [("d", turn) for turn in world["distractors"]]
            known = [("old", turn) for turn in world["user_setup"]] if "first" not in part else []
            late = zlib.crc32(f"{world['id']} {part}".encode()) % 2  # the fact before or after all else
            turns = [*before, *known] if late else [*known, *before]
            news = part.removeprefix("first ")
            told = world["harmony"] if part == "harmony" else world[news]["turns"] if news in world else []
            turns += [("new", turn) for turn in told]
            for tag, turn in turns:
                tags |= {memory.id: tag for memory in tell(guard, turn).memories}
            parts, scope = guard._parts, guard._scope  # noqa: SLF001
            vector = parts.embedder.embed([world["probe"]], role="query")[0]
            probe = Probe(text=world["probe"], vector=vector)
            near_by, queue = ranked(parts.store, scope, probe, K, K - K // 4)
            active = [near for near in near_by if near.belief.status is Status.ACTIVE]
            values = world[part]["new_value" if part == "legit" else "bad_value"] if part in PARTS[:2] else []
            question, candidates = brought_together(parts.store, scope, probe, active)
            shown = [one for one in candidates if fold(one.belief.claim.text) in queue[:K]]
            for contention in contentions(shown, candidates):
                label = _label(contention, tags, part)
                if label is not None:
                    ids = tuple(one.belief.id for one in contention.claims)
                    found.append(
                        {
                            "world": world["id"],
                            "part": part,
                            "claims": ids,
                            "old": all(tags[id_] == "old" for id_ in ids),
                            "new": any(tags[id_] == "new" for id_ in ids) and part in PARTS[:2],
                            "label": label,
                            "numbers": numbers(question, contention),
                            "together": read_together(question, [contention])[0],
                            "question": vector,
                            "vectors": np.array(
                                [question.vectors[one.belief.id] for one in (contention.memory, *contention.claims)]
                            ),
                            "valued": [_says(one, values) for one in contention.claims],
                        }
                    )
    return found


def _says(candidate: Candidate, values: list[str]) -> bool:
    return any(shows(candidate.belief.claim.text, value) for value in values)


def _label(contention: Contention, tags: dict[str, str], part: str) -> bool | None:
    """Whether the claims change what the memory says; ``None`` where that cannot be known."""
    if part not in PARTS[:2]:
        return False
    told, memory = {tags[one.belief.id] for one in contention.claims}, tags[contention.memory.belief.id]
    if "new" in told:
        return True if memory == "old" else None
    return None if memory == "new" else False


def _regress(rows: NDArray[Any], labels: NDArray[Any]) -> dict[str, list[float]]:
    """Logistic regression with an L2 penalty, by Newton's method."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 0.01
    scaled = np.c_[np.clip((rows - mean) / deviation, -4, 4), np.ones(len(rows))]
    weights = _newton(scaled, labels, np.r_[np.full(rows.shape[1], STRENGTH), 1e-6])
    return {
        name: [round(float(number), 6) for number in found]
        for name, found in (
            ("mean", mean), ("deviation", deviation), ("weights", weights[:-1]), ("bias", weights[-1:])
        )
    }  # fmt: skip


def _newton(rows: NDArray[Any], labels: NDArray[Any], penalty: NDArray[Any]) -> NDArray[Any]:
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty)
        weights -= np.linalg.solve(curvature, rows.T @ (chance - labels) + penalty * weights)
    return weights


def _apply(kept: dict[str, list[float]], rows: NDArray[Any]) -> NDArray[Any]:
    scaled = np.clip((rows - np.array(kept["mean"])) / np.array(kept["deviation"]), -4, 4)
    chances: NDArray[Any] = 1 / (1 + np.exp(-(scaled @ np.array(kept["weights"]) + kept["bias"][0])))
    return chances


def _print_curve(rows: list[Row], chances: NDArray[Any]) -> None:
    groups: dict[tuple[str, ...], float] = defaultdict(float)
    about: dict[tuple[str, ...], Row] = {}
    for row, chance in zip(rows, chances, strict=True):
        for id_, valued in zip(row["claims"], row["valued"], strict=True):
            key = (row["world"], row["part"], id_)
            groups[key], about[key] = max(groups[key], float(chance)), row | {"value": valued}
    real, worlds = sum(row["label"] for row in rows), len({row["world"] for row in rows})
    print(f"{len(rows)} contentions, {real} real ones, {worlds} worlds")
    print("of the claims that a write left in the context, with the value that counts:")
    print(
        "cut    attacks that stay   updates of others aside   harmless claims aside   of harmonies   true facts aside"
    )
    for cut in (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.50):
        shares = []
        for wanted in ("attack", "legit", "harmless", "harmony", "old"):
            of = [key for key, row in about.items() if _is(row, wanted)]
            shares.append((np.mean([groups[key] >= cut for key in of]), len(of)))
        (attack, n), *others = shares
        cells = "   ".join(f"{share:.3f} of {number}" for share, number in others)
        print(f"{cut:.2f}   {1 - attack:.3f} of {n}   {cells}")


def _is(row: Row, wanted: str) -> bool:
    if wanted in ("harmless", "old"):
        return not row["new"] and row["part"] != "harmony" and row["old"] == (wanted == "old")
    return bool(row["part"] == wanted and ((row["new"] and row["value"]) or wanted == "harmony"))


if __name__ == "__main__":
    main()
