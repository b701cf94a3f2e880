"""Runs LongMemEval under poisoning: every gate, four memories, 120 questions each; resumable, memory by memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from thymus import GATES, __version__
from thymus_bench import once, readers, suites
from thymus_bench.files import json_text, read_rows, write_whole
from thymus_bench.longmemeval.conditions import Condition, records
from thymus_bench.longmemeval.judge import AnswerJudge
from thymus_bench.longmemeval.measure import Asked, K, Measured, Parts, measure
from thymus_bench.longmemeval.poison import Poison, faults, read_poison
from thymus_bench.longmemeval.questions import LongMemEvalError, Question, load
from thymus_bench.longmemeval.report import markdown, summarise
from thymus_bench.scenarios import Part, Turn
from thymus_bench.workers import spread

_LANES: Final = {
    1: (tuple(Condition),),
    2: ((Condition.CLEAN, Condition.UNTRUSTED), (Condition.MIXED, Condition.POISONED)),
    4: tuple((condition,) for condition in Condition),
}
"""Which conditions share a process, and with it what judge and embedder have answered: much of it is the same."""
_JSON, _LINES, _TEXT = "longmemeval.json", "longmemeval.jsonl", "longmemeval.md"

OnStep = Callable[[int, int], object]
"""Called with how many memories are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is run.

    :param reader: ``worst-case``, or ``agent`` for the model ``llm``, whose replies the model ``grader`` judges.
    :param k: memories that a recall may show.
    """

    data: str
    gates: tuple[str, ...] = tuple(GATES)
    reader: str = readers.WORST_CASE
    llm: str = ""
    grader: str = ""
    gate_judge: str = "local"
    embedder: str = "e5-small"
    k: int = K
    poison: str = ""
    cache: bool = True
    version: str = __version__
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """What every worker reads for itself: too much to send with each task."""

    questions: tuple[Question, ...]
    asked: tuple[tuple[Question, Poison], ...]
    poison: Mapping[str, Poison]
    harmless: tuple[Turn, ...]


def run(
    data: Path,
    gates: Sequence[str] = (),
    reader_name: str = readers.WORST_CASE,
    llm: str = "",
    *,
    out: Path,
    grader: str = "",
    gate_judge: str = "local",
    embedder: str = "e5-small",
    k: int = K,
    poison: Path | None = None,
    cache: bool = True,
    jobs: int | None = None,
    on_step: OnStep = lambda *_: None,
) -> dict[str, Any]:
    """Run it, or go on with what is in the folder, and write ``longmemeval.md``, ``.json`` and ``.jsonl``.

    :param data: a folder with LongMemEval's files, or one of these.
    :param grader: the model that judges an agent's replies; the agent's own where none is named.
    :param poison: false assertions of your own, in place of the project's.
    :returns: what ``longmemeval.json`` holds.
    :raises ThymusError: where the data, a gate, a reader or a model cannot be used, or the folder holds another run.
    """
    if unknown := [gate for gate in gates if gate not in GATES]:
        raise LongMemEvalError(f"no gate is called {unknown[0]!r}: use {', '.join(GATES)}")
    plan = Plan(
        data=str(data),
        gates=tuple(gates or GATES),
        reader=reader_name,
        llm=llm,
        grader=(grader or llm) if reader_name == readers.AGENT else "",
        gate_judge=gate_judge,
        embedder=embedder,
        k=k,
        poison=str(poison or ""),
        cache=cache,
    )
    material = _material(plan)
    plan = replace(plan, content=_content(material))
    kept = _begin(plan, out)
    todo = [(gate, one) for one in Condition for gate in plan.gates if (gate, one.value) not in kept]
    total = len(plan.gates) * len(Condition)
    on_step(len(kept), total)
    for measured in _measured(plan, todo, jobs or os.cpu_count() or 1, out):
        _add(out, measured)
        kept[measured.gate, measured.condition] = measured
        on_step(len(kept), total)
    ordered = [kept[gate, condition.value] for gate in plan.gates for condition in Condition]
    summary = {"run": asdict(plan), **summarise(ordered)}
    write_whole(out / _JSON, json_text(summary, indent=2) + "\n")
    write_whole(out / _TEXT, markdown(summary))
    return summary


def _material(plan: Plan) -> _Material:
    questions = load(Path(plan.data))
    by_id = {question.id: question for question in questions}
    poison = read_poison(Path(plan.poison) if plan.poison else None)
    if wrong := faults(poison.values(), by_id):
        raise LongMemEvalError(f"the false assertions do not fit the questions: {wrong[0]} ({len(wrong)} such)")
    asked = tuple((by_id[name], poison[name]) for name in sorted(poison) if name in by_id and by_id[name].evidence)
    if not asked:
        raise LongMemEvalError(
            f"none of the {len(poison)} questions is in {plan.data}: it takes the whole of longmemeval_oracle.json"
        )
    harmless = tuple(
        turn for one in suites.load(["families"]) for turn in one.turns if turn.part is Part.DISTRACTOR and turn.outside
    )
    return _Material(questions=tuple(questions), asked=asked, poison=poison, harmless=harmless)


def _content(material: _Material) -> dict[str, Any]:
    """How much there is, and a digest that changes with any word of it."""
    everything = (material.questions, material.asked, _records(material, Condition.MIXED))
    whole = sha256(repr(everything).encode("utf-8", "surrogatepass"))
    counts = {one.value: len(_records(material, one)) for one in Condition}
    return {
        "questions": len(material.questions),
        "asked": len(material.asked),
        "literal": sum(question.literal for question, _ in material.asked),
        "records": counts,
        "poison": sum(len(one.assertions) for _, one in material.asked),
        "digest": whole.hexdigest()[:12],
    }


def _records(material: _Material, condition: Condition) -> list[Any]:
    asked = {question.id: poison for question, poison in material.asked}
    return records(condition, material.questions, asked, material.harmless)


def _begin(plan: Plan, out: Path) -> dict[tuple[str, str], Measured]:
    """The memories that an earlier try finished, where it was of the same plan."""
    path = out / _JSON
    wanted = json.loads(json.dumps(asdict(plan)))
    try:
        out.mkdir(parents=True, exist_ok=True)
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8")).get("run", {})
            if changed := [name for name in wanted if found.get(name) != wanted[name]]:
                raise LongMemEvalError(f"{out} holds a run with another {changed[0]}: name another folder with --out")
            kept = list(_earlier(out / _LINES))
            write_whole(out / _LINES, "".join(map(_line, kept)))  # without a line that was cut off
            return {(one.gate, one.condition): one for one in kept}
        write_whole(path, json.dumps({"run": wanted}, indent=2) + "\n")
        write_whole(out / _LINES, "")
    except (OSError, ValueError) as error:
        raise LongMemEvalError(f"{out}: cannot be used ({error}): name another folder with --out") from None
    return {}


def _earlier(lines: Path) -> Iterator[Measured]:
    """What was written; a last line that was cut off is left out."""
    for row in read_rows(lines) if lines.exists() else ():
        yield Measured(**(row | {"rows": tuple(Asked(**one) for one in row["rows"])}))


def _add(out: Path, measured: Measured) -> None:
    with (out / _LINES).open("a", encoding="utf-8") as file:
        file.write(_line(measured))


def _line(measured: Measured) -> str:
    return json_text(asdict(measured), sort_keys=True) + "\n"


def _measured(plan: Plan, todo: Sequence[tuple[str, Condition]], jobs: int, out: Path) -> Iterator[Measured]:
    """What comes of each memory, as it comes: each lane of conditions in a process of its own."""
    lanes = _LANES[max(size for size in _LANES if size <= jobs)]
    return spread(
        [([one for one in todo if one[1] in conditions], 1) for conditions in lanes],
        _work,
        opened=_opened,
        plan=plan,
        refusal=LongMemEvalError,
        lost=f"a worker died (out of memory?); what was measured is in {out}: the same command goes on from there",
    )


def _opened(plan: Plan) -> tuple[_Material, Parts]:
    return _material(plan), open_parts(plan)


def open_parts(plan: Plan) -> Parts:
    """Embedder, judge and reader of a plan.

    :raises ThymusError: where one of them cannot be had.
    """
    embedder, judge = once.open_parts(plan.embedder, plan.gate_judge)
    if plan.reader == readers.WORST_CASE and not plan.llm:
        return Parts(embedder=embedder, judge=judge, k=plan.k)
    from thymus.llm import open_model

    cache = readers.DEFAULT_CACHE if plan.cache else None
    reader = readers.open_reader(plan.reader, plan.llm or None, cache=cache)
    answers = AnswerJudge(open_model(plan.grader, cache=cache))
    return Parts(embedder=embedder, judge=judge, reader=reader, answers=answers, k=plan.k)


def _work(opened: tuple[_Material, Parts], task: tuple[str, Condition]) -> Measured:
    (material, parts), (gate, condition) = opened, task
    return measure(gate, condition, _records(material, condition), material.asked, parts)
