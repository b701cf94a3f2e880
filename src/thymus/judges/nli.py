"""``NliJudge``: a larger judge for those who want one, any natural-language-inference (NLI) model in ONNX.

Such a model reads a premise and a hypothesis and says whether the second follows, is contradicted, or neither. The
judge asks both ways, the stored statement first and the incoming one first, and reads the two answers so:

* **contradicts**: two statements contradict each other or do not, whichever comes first (de Marneffe et al. 2008), so
  two answers are two measurements of one thing. *Detected* leans to recall and takes the larger; *confirmed* lets a
  claim replace a belief, leans to precision, and takes the mean. Where only one way sees a contradiction, it is often
  a word such as "not" in the hypothesis that made the model say so (Gururangan et al. 2018, arXiv 1803.02324).
* **same**: each follows from the other; the smaller of the two. Where one way only follows, the one says more.
* **compatible**: what is left.

Rules overrule the model where it is known to be weak, and only towards caution (``_answer`` has them all). An NLI model
has no head for the kind of a statement: ``classify`` is answered by another judge.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thymus.core.claims import Claim, Kind
from thymus.core.relations import CONFIRMED, Label, Relation
from thymus.core.values import compare_all
from thymus.errors import JudgeError
from thymus.judges.hedges import is_hedged
from thymus.judges.nli_model import NliModel, load_model, read_labels
from thymus.judges.nli_place import Place, check_folder, locate, names_nli
from thymus.judges.pronouns import third_person
from thymus.judges.reading import LONGEST, Reading, read
from thymus.judges.wording import describe
from thymus.ports import Statement

if TYPE_CHECKING:
    from thymus.ports import Judge

__all__ = ["NliJudge", "names_nli", "open_nli"]

_Given = str | Claim | Statement

_FEWEST_TOKENS: Final = 16
_UNCONFIRMED: Final = CONFIRMED - 0.01
_READINGS_KEPT: Final = 2_048
_UNSEEN_CLASH: Final = 0.5
"""How likely a contradiction is where the model finds two statements the same, and typed values in them differ."""


def open_nli(name: str, *, fallback: Judge) -> NliJudge:
    """The judge of a name such as ``nli:./folder`` or ``nli:owner/model``, loaded at once so that faults show early.

    :param fallback: the judge that answers ``classify``.
    :raises JudgeError: where the model is missing, broken or of another kind.
    :raises MissingExtraError: for a model of the hub without the package ``huggingface_hub``.
    """
    place = locate(name)
    judge = NliJudge(place.folder, fallback=fallback, label=place.label, file=place.file, labels=place.labels)
    judge.relate([("The pool is open.", "The pool is closed.")])
    return judge


class NliJudge:
    """Judges with an NLI model; safe to share among threads."""

    def __init__(
        self,
        folder: str | Path,
        *,
        fallback: Judge,
        label: str = "",
        file: str = "",
        labels: Sequence[str] = (),
        threads: int = 1,
        max_tokens: int = 512,
    ) -> None:
        """Note where the model is and what its outputs mean; it is loaded with the first pair.

        :param folder: has an ONNX file (``choose_file`` says which is taken), ``tokenizer.json`` and ``config.json``.
        :param fallback: the judge that answers ``classify``.
        :param label: what the judge is called after; the folder's name by default.
        :param file: the ONNX file to take, from the folder on.
        :param labels: what the outputs mean, in order, where ``config.json`` does not say.
        :param threads: how many readings run at the same time, each on one processor.
        :param max_tokens: tokens of both statements together; fewer where the model reads no more.
        :raises JudgeError: where a file is missing, or what the outputs mean is unclear.
        """
        if threads < 1 or max_tokens < _FEWEST_TOKENS:
            raise JudgeError(f"threads is {threads}, max_tokens {max_tokens}: give at least 1 and {_FEWEST_TOKENS}")
        folder = Path(folder).expanduser()
        named = Place(folder=folder, label=label or folder.resolve().name, file=file, labels=tuple(labels))
        chosen = check_folder(named)
        self._place = Place(folder=folder, label=named.label, file=chosen, labels=read_labels(folder, named.labels))
        self._fallback, self._threads, self._max_tokens = fallback, threads, max_tokens
        self._lock = threading.Lock()
        self._model: NliModel | None = None
        # A claim that replaces a memory is compared with ever more of them, each time with the first ones again.
        self._ask = lru_cache(maxsize=_READINGS_KEPT)(self._read)

    @property
    def name(self) -> str:
        """The model and the file that was chosen, as ``nli:nli-small (onnx/model_quantized.onnx)``."""
        return f"nli:{self._place.label} ({self._place.file})"

    def classify(self, statements: Sequence[_Given]) -> list[Kind]:
        """What the fallback answers."""
        return self._fallback.classify(statements)

    def relate(self, pairs: Sequence[tuple[_Given, _Given]]) -> list[Relation]:
        """Judge each (stored, incoming), in two runs of the model.

        :raises JudgeError: where the model cannot be loaded or run.
        """
        asked = [_Pair.of(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]
        rows = dict.fromkeys(row for pair in asked if not pair.plain for row in (pair.texts, pair.texts[::-1]))
        verdicts = dict(zip(rows, self._run(list(rows)), strict=True))
        return [
            _settle(pair, self.name)
            if pair.plain
            else _answer(pair, verdicts[pair.texts], verdicts[pair.texts[::-1]], self.name)
            for pair in asked
        ]

    def _run(self, rows: Sequence[tuple[str, str]]) -> list[_Verdict]:
        if self._threads == 1 or len(rows) < 2:
            return [self._ask(row) for row in rows]
        # A pool of its own for each call: kept threads would not survive a fork.
        with ThreadPoolExecutor(min(self._threads, len(rows)), thread_name_prefix="thymus-nli") as pool:
            return list(pool.map(self._ask, rows))

    def _read(self, row: tuple[str, str]) -> _Verdict:
        (contradiction, _, entailment), cut = self._load().run(*row)
        return _Verdict(contradiction=float(contradiction), entailment=float(entailment), cut=cut)

    def _load(self) -> NliModel:
        with self._lock:
            if self._model is None:
                self._model = load_model(self._place, max_tokens=self._max_tokens)
            return self._model


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What the model says of one premise and hypothesis, and whether they were too long to be read in full."""

    contradiction: float
    entailment: float
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Both readings, and the texts (stored, incoming) as the model reads them."""

    stored: Reading
    incoming: Reading
    texts: tuple[str, str]
    cut: bool

    @classmethod
    def of(cls, stored: Statement, incoming: Statement) -> _Pair:
        ours, theirs = read(stored.text), read(incoming.text)
        return cls(
            stored=ours,
            incoming=theirs,
            texts=(third_person(ours.text, stored.speaker), third_person(theirs.text, incoming.speaker)),
            cut=max(len(stored.text), len(incoming.text)) > LONGEST,
        )

    @property
    def plain(self) -> bool:
        """Whether no model is needed: the wording is the same, or one of them has no word."""
        same = self.stored.folded == self.incoming.folded
        return not self.cut and (same or not (self.stored.words and self.incoming.words))


def _settle(pair: _Pair, judge: str) -> Relation:
    if pair.stored.folded == pair.incoming.folded:
        return Relation(label=Label.SAME, confidence=0.99, contradiction=0.0, judge=judge, because="the same wording")
    because = "one of them has no word"
    return Relation(label=Label.COMPATIBLE, confidence=0.95, contradiction=0.02, judge=judge, because=because)


def _answer(pair: _Pair, forth: _Verdict, back: _Verdict, judge: str) -> Relation:
    """Join both ways into one answer, then let the rules overrule it.

    1. What only passes on, doubts, denies or asks contradicts without being *confirmed*: it must not replace.
    2. Two statements whose typed values differ are never *same*: NLI models miss numbers (Naik et al. 2018, arXiv
       1806.00692). They contradict, and that is not *confirmed*.
    3. Texts that were too long to be read in full contradict, where what was read does, and else are *unknown*: what
       was not read could say anything. Nor is that *confirmed*.
    """
    larger = max(forth.contradiction, back.contradiction)
    chances = {
        Label.CONTRADICTS: (forth.contradiction + back.contradiction) / 2,
        Label.SAME: min(forth.entailment, back.entailment),
    }
    chances[Label.COMPATIBLE] = max(1 - sum(chances.values()), 0.0)
    label = max(chances, key=lambda one: chances[one])
    confidence, contradiction = chances[label], larger
    because = (
        f"contradiction {forth.contradiction:.2f} and {back.contradiction:.2f}, "
        f"entailment {forth.entailment:.2f} and {back.entailment:.2f} (from the stored one on, and back)"
    )
    agreement = compare_all(pair.stored.values, pair.incoming.values)
    if label is Label.SAME and agreement.conflicts:
        label, confidence, contradiction = Label.CONTRADICTS, _UNSEEN_CLASH, max(larger, _UNSEEN_CLASH)
        because = f"{describe(agreement)}; {because}"
    cut = pair.cut or forth.cut or back.cut
    if cut:
        because = f"too long to be read in full; {because}"
        if label is not Label.CONTRADICTS:
            return Relation.unknown(because, judge=judge)
    if cut or chances[Label.CONTRADICTS] < CONFIRMED or is_hedged(pair.stored, pair.incoming):
        contradiction = min(contradiction, _UNCONFIRMED)
    return Relation(label=label, confidence=confidence, contradiction=contradiction, judge=judge, because=because)
