"""Train a network on the authored pairs and statements, and print its figures on the authors held out.

    python training/judge/train.py --wheels WHEELS --out teacher.pt
    python training/judge/train.py --wheels WHEELS --layers 0,2,4,6,8,10 --teachers teacher.pt --out student.pt

A network whose ``--teachers`` are given learns their answers beside the authors' (Hinton et al. 2015, arXiv
1503.02531). ``README.md`` beside this file has the recipe of the shipped one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

sys.path[:0] = [str(Path(__file__).parents[1] / "embedder"), str(Path(__file__).parents[2] / "src")]

from backbone import load_backbone  # noqa: E402
from figures import softmax, summary  # noqa: E402
from network import Network  # noqa: E402
from rows import Rower, batches, forget_speaker, roughen, stack  # noqa: E402

from data import AUTHORED, KINDS, LABELS, Siblings, parted, read, reversed_pair, some, strangers, unlike, unrelated  # noqa: E402
from thymus.judges.marks import Row  # noqa: E402

PAIR, KIND = 0, 1
NO_ORDER = (
    -1
)  # the label of what somebody tells somebody else: a fact or no claim, and neither order nor the user's taste
FRESH = ("side", "mark", "relate", "classify")
FRESH_PACE = 5.0  # how much faster than the encoder what starts from nothing learns
WARM_UP = 0.08


@dataclass(frozen=True, slots=True)
class Example:
    """What one step learns from: a row of a task, its label, and the teachers' probabilities where there are any."""

    task: int
    row: Row
    label: int
    taught: NDArray[np.float32] | None = None


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    chance = random.Random(options.seed)
    pairs, held_pairs = parted(read("pairs", options.data))
    claims, held_claims = parted(read("claims", options.data))
    if options.unlike:
        pairs, claims = unlike(pairs, options.unlike), unlike(claims, options.unlike)
    if options.share < 1:
        focus = [pair for pair in pairs if pair["file"] in options.focus]
        others = [pair for pair in pairs if pair["file"] not in options.focus]
        pairs = some(others, options.share, chance) + 2 * focus
        claims = chance.sample(claims, round(len(claims) * options.share))
    encoder, rower = load_backbone(options.backbone, options.wheels)
    layers = [int(n) for n in options.layers.split(",")] if options.layers else None
    net = Network(encoder, layers=layers)
    if options.start:
        net.load_state_dict(_kept_layers(torch.load(options.start, weights_only=True), layers))
    course = Course(pairs, claims, rower, options, chance)
    teachers = [load(path, options.wheels)[0] for path in options.teachers]
    held = [course.pair_row(pair) for pair in held_pairs]
    held_kinds = [course.claim_row(claim) for claim in held_claims]
    print(vars(options), len(pairs), "pairs", len(claims), "statements", flush=True)

    def finish() -> str:
        if options.out:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            kept = {"state": net.state_dict(), "backbone": options.backbone, "layers": layers, "pairs": len(pairs)}
            torch.save(kept, options.out)
        related = predict(net, held, PAIR)
        kinds = predict(net, held_kinds, KIND)
        return summary(held_pairs, related, LABELS) + " kinds " + summary(held_claims, kinds, KINDS)

    _train(net, course, teachers, options, chance, finish)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, help="folder with the wheels of training/embedder")
    parser.add_argument("--data", type=Path, default=AUTHORED)
    parser.add_argument("--unlike", type=Path, help="drop what is all but word for word in this folder's *.jsonl")
    parser.add_argument("--strangers", type=Path, nargs="*", default=[], help="files and folders of real mail and SMS")
    parser.add_argument("--backbone", choices=("e5-small", "minilm"), default="e5-small")
    parser.add_argument("--layers", default="", help="numbers of the layers kept, by commas; all by default")
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=32, help="rows of 40 pieces a step")
    parser.add_argument("--smooth", type=float, default=0.05, help="label smoothing")
    parser.add_argument("--unrelated", type=float, default=0.1, help="pairs about different things, as a share")
    parser.add_argument("--siblings", type=float, default=0.2, help="share of pairs with another wording of the memory")
    parser.add_argument("--reversed", type=float, default=0.1, help="share of pairs the other way round")
    parser.add_argument("--rough", type=float, default=0.3, help="share of rows that are roughened")
    parser.add_argument("--kinds", type=float, default=0.5, help="weight of the statements' loss")
    parser.add_argument("--unmarked", action="store_true", help="without marks of shared words and typed values")
    parser.add_argument("--speechless", action="store_true", help="without who speaks")
    parser.add_argument("--start", type=Path, help="a trained network to go on from")
    parser.add_argument("--deaf", type=float, default=0.35, help="share of rows whose speakers are not told")
    parser.add_argument("--share", type=float, default=1.0, help="share of the memories, for the learning curve")
    parser.add_argument(
        "--focus", nargs="*", default=[], help="authors kept whole, and twice, beside a share of the rest"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


class Course:
    """The examples of each epoch: as written, roughened, and about different things."""

    def __init__(self, pairs, claims, rower: Rower, options: argparse.Namespace, chance: random.Random) -> None:
        self.pairs, self.claims, self.rower, self.options, self.chance = pairs, claims, rower, options, chance
        self.siblings = Siblings(pairs)
        self.strangers = strangers(options.strangers)
        self.strangers = self.strangers[: round(len(self.strangers) * options.share)]

    def epoch(self) -> list[Example]:
        """The examples of one epoch, each time roughened elsewhere."""
        options, chance = self.options, self.chance
        apart = unrelated(self.pairs, round(len(self.pairs) * options.unrelated), chance)
        made = []
        for pair in [*self.pairs, *apart]:
            changed = dict(pair)
            if chance.random() < options.siblings:
                changed = dict(self.siblings.stand_in(pair, chance))
            elif chance.random() < options.reversed:
                changed = dict(reversed_pair(pair))
            if chance.random() < options.rough:
                changed["b"] = roughen(changed["b"], chance, suffix=True) or changed["b"]
                if chance.random() < 0.3:
                    changed["a"] = roughen(changed["a"], chance, suffix=False) or changed["a"]
            made.append(Example(PAIR, self._deaf(self.pair_row(changed)), LABELS.index(pair["label"])))
        for claim in self.claims if options.kinds else ():
            changed = dict(claim)
            if chance.random() < options.rough:
                changed["text"] = roughen(claim["text"], chance, suffix=False) or claim["text"]
            made.append(Example(KIND, self._deaf(self.claim_row(changed)), KINDS.index(claim["label"])))
        made += self._strange()
        return made

    def _strange(self) -> list[Example]:
        """What strangers say in real mail and SMS: about different things, and seldom to an assistant."""
        texts = self.strangers
        self.chance.shuffle(texts)
        pairs = [
            {"a": a, "b": b, "a_speaker": "t", "b_speaker": "t"} for a, b in zip(texts[::2], texts[1::2], strict=False)
        ]
        made = [Example(PAIR, self._deaf(self.pair_row(pair)), LABELS.index("compatible")) for pair in pairs]
        claims = [{"text": text, "speaker": "t"} for text in texts]
        return made + [Example(KIND, self._deaf(self.claim_row(claim)), NO_ORDER) for claim in claims]

    def pair_row(self, pair) -> Row:
        return self._plain(self.rower.pair(pair["a"], pair["b"], pair["a_speaker"], pair["b_speaker"]))

    def claim_row(self, claim) -> Row:
        return self._plain(self.rower.statement(claim["text"], claim["speaker"]))

    def _plain(self, row: Row) -> Row:
        if self.options.unmarked:
            row = replace(row, marks=[0] * len(row.marks))
        return forget_speaker(row) if self.options.speechless else row

    def _deaf(self, row: Row) -> Row:
        return forget_speaker(row) if self.chance.random() < self.options.deaf else row


def _train(net: Network, course: Course, teachers, options, chance: random.Random, finish) -> None:
    steps = _optimiser(net, options.rate)
    done, seen, began, total = 0, 0, time.time(), 0
    for epoch in range(options.epochs):
        examples = taught(course.epoch(), teachers)
        plan = list(_plan(examples, options.batch, chance))
        total = total or len(plan) * options.epochs
        net.train()
        lost = 0.0
        for batch in plan:
            pace = min(1.0, (done + 1) / (WARM_UP * total)) * max(0.0, 1 - done / total)
            for group in steps.param_groups:
                group["lr"] = group["peak"] * pace
            loss = _loss(net, [examples[place] for place in batch], options)
            steps.zero_grad(set_to_none=True)
            (loss * len(batch) / options.batch).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            steps.step()
            done, seen, lost = done + 1, seen + len(batch), lost + loss.item()
        pace = seen / (time.time() - began)
        print(f"epoch {epoch + 1} loss {lost / len(plan):.3f}, {pace:.0f} rows/s: {finish()}", flush=True)


def _kept_layers(trained: dict, layers: list[int] | None) -> dict:
    """The state of a trained network without the layers that are left out."""
    had = trained["layers"] or range(sum(name.endswith("qkv.bias") for name in trained["state"]))
    places = [list(had).index(layer) for layer in (layers if layers is not None else had)]
    kept = {}
    for name, values in trained["state"].items():
        if not name.startswith("blocks."):
            kept[name] = values
        elif (place := int(name.split(".")[1])) in places:
            kept[f"blocks.{places.index(place)}." + name.split(".", 2)[2]] = values
    return kept


def _optimiser(net: Network, rate: float) -> torch.optim.AdamW:
    groups = []
    for name, values in net.named_parameters():
        peak = rate * (FRESH_PACE if name.startswith(FRESH) else 1.0)
        groups.append({"params": [values], "lr": peak, "peak": peak, "weight_decay": 0.01 if values.ndim > 1 else 0.0})
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)


def _plan(examples: Sequence[Example], size: int, chance: random.Random) -> Iterator[list[int]]:
    """Batches of one task each, in random order."""
    found = []
    for task in (PAIR, KIND):
        places = [place for place, one in enumerate(examples) if one.task == task]
        lengths = [len(examples[place].row.pieces) for place in places]
        found += [[places[n] for n in batch] for batch in batches(lengths, size, chance)]
    chance.shuffle(found)
    yield from found


def _loss(net: Network, examples: Sequence[Example], options: argparse.Namespace) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        pooled = net(*stack([one.row for one in examples]))
    task = examples[0].task
    logits = (net.relate, net.classify)[task](pooled.float())
    truth = torch.tensor([one.label for one in examples])
    chances = functional.log_softmax(logits, 1)
    losses = functional.cross_entropy(logits, truth.clamp(min=0), label_smoothing=options.smooth, reduction="none")
    if examples[0].taught is not None:
        answers = torch.tensor(np.array([one.taught for one in examples]))
        losses = 0.3 * losses - 0.7 * (answers * chances).sum(1)
    if task == KIND:
        told = torch.logsumexp(chances[:, [KINDS.index("fact"), KINDS.index("not_a_claim")]], 1)
        losses = torch.where(truth == NO_ORDER, -told, losses)
    loss = losses.mean()
    return loss * (options.kinds if task == KIND else 1.0)


def taught(examples: Sequence[Example], teachers: Sequence[Network]) -> list[Example]:
    """The examples with the mean of the teachers' probabilities."""
    if not teachers:
        return list(examples)
    found = list(examples)
    for task in (PAIR, KIND):
        places = [place for place, one in enumerate(examples) if one.task == task]
        rows = [examples[place].row for place in places]
        mean = np.mean([softmax(predict(teacher, rows, task)) for teacher in teachers], axis=0)
        for place, answer in zip(places, mean.astype(np.float32), strict=True):
            found[place] = replace(examples[place], taught=answer)
    return found


def predict(net: Network, rows: Sequence[Row], task: int) -> NDArray[np.float64]:
    """Logits, shape (n, answers)."""
    net.eval()
    head = (net.relate, net.classify)[task]
    found = np.zeros((len(rows), head.out_features))
    order = sorted(range(len(rows)), key=lambda place: len(rows[place].pieces))
    with torch.no_grad():
        for start in range(0, len(order), 32):
            batch = order[start : start + 32]
            with torch.autocast("cpu", torch.bfloat16):
                pooled = net(*stack([rows[place] for place in batch]))
            found[batch] = head(pooled.float()).numpy()
    return found


def load(path: Path, wheels: Path) -> tuple[Network, Rower]:
    """A trained network, and what makes its rows."""
    kept = torch.load(path, weights_only=True)
    encoder, rower = load_backbone(kept["backbone"], wheels)
    net = Network(encoder, layers=kept["layers"])
    net.load_state_dict(kept["state"])
    return net, rower


if __name__ == "__main__":
    main()
