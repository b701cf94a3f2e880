"""No guarantee without a property, no property without a guarantee, and the page that says so is current."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from inspect import getdoc, isfunction
from pathlib import Path
from types import FunctionType
from typing import Final

import pytest

from thymus.core.gates import GATES

from .manifest import BROKEN, GUARANTEES
from .test_baselines import STORIES

HERE: Final = Path(__file__).parent
DOCUMENT: Final = HERE.parents[1] / "docs" / "explanation" / "guarantees.md"
ABOUT_THE_TESTS: Final = {"test_manifest", "test_baselines"}


def _properties() -> Iterator[tuple[str, FunctionType, list[str]]]:
    """Every test here with the IDs that its marks name."""
    for path in sorted(HERE.glob("test_*.py")):
        if path.stem not in ABOUT_THE_TESTS:
            module = importlib.import_module(f".{path.stem}", __package__)
            for name, test in vars(module).items():
                if name.startswith("test_") and isfunction(test):
                    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "guarantee"]
                    yield f"{path.stem}.{name}", test, [str(mark.args[0]) for mark in marks]


_PAGE: Final = """\
# Guarantees

Each is a property that Hypothesis tries to refute with random histories of every sort of actor, with judges that err
and fail, and on every store; a failure comes with the shortest history that shows it. They live in `tests/guarantees`;
`make thorough` tries 1,000 examples each. This page is made from them by
`pytest tests/guarantees/test_manifest.py --rewrite`, and a test keeps it current.

| ID | guarantee | tried as |
|---|---|---|
{guarantees}

## What the gates keep

The guarantees that depend on the gate, each tried with a short story; the others hold under any gate. An unsafe gate
is there to be compared with: it breaks what is marked ✗.

{gates}

The stories, told to every gate:

{stories}

## How to read them

- *Outside content* is everything that the host application did not itself see the user say, and everything that was
  derived from it.
- A gate that shows no notice at all makes no promise under G3. The story asks for what a user needs: a claim that seems
  to contradict a memory is kept from the model and told to the user with its source.
- G3: a notice quotes six wordings one by one, what bears most on the question first. Past that the rest are counted
  and their sources named, up to twenty. The inbox has all that is held back; what stands aside for one question only is
  an active memory.
- G7 compares with the history in which neither the source nor what was derived from its words, or a model only repeated
  of them, was ever told. What the user decided about other people's claims stands. A memory that was forgotten has no
  words left to tell it by: [what is not exact](../adr/0005-replay.md#what-is-not-exact).
- G12 speaks of the memories themselves; how many of them fit into one context is the caller's `k`.
- G13 knows a recall by the wording of its labels and notices, and the user's own lines by their text. A recall from
  before a change, handed in after it, is news.
- None of this says that a claim is true, nor that the judge sees every contradiction: one that no judge detects is
  admitted beside what it contradicts.
"""


def draw_document() -> str:
    """docs/explanation/guarantees.md, from the manifest and the tests."""
    tests: dict[str, list[str]] = {id_: [] for id_ in GUARANTEES}
    for name, _, ids in _properties():
        for id_ in ids:
            tests[id_].append(name.split(".")[1].removeprefix("test_").replace("_", " "))
    guarantees = [f"| **{id_}** | {sentence} | {'; '.join(tests[id_])} |" for id_, sentence in GUARANTEES.items()]
    gates = [f"| gate | {' | '.join(STORIES)} |", "|---|" + "---|" * len(STORIES)]
    for gate in GATES:
        marks = ["✗" if id_ in BROKEN.get(gate, ()) else "✓" for id_ in STORIES]
        gates.append(f"| `{gate}` | {' | '.join(marks)} |")
    stories = [f"- **{id_}**: {' '.join((getdoc(story) or '').split())}" for id_, story in STORIES.items()]
    return _PAGE.format(guarantees="\n".join(guarantees), gates="\n".join(gates), stories="\n".join(stories))


def test_every_guarantee_has_a_property_and_every_property_a_guarantee() -> None:
    found = [(name, ids) for name, _, ids in _properties()]
    assert not [name for name, ids in found if not ids]
    assert set(GUARANTEES) == {id_ for _, ids in found for id_ in ids}


@pytest.mark.parametrize(("name", "test", "ids"), [pytest.param(*found, id=found[0]) for found in _properties()])
def test_a_propertys_docstring_begins_with_its_sentence(name: str, test: FunctionType, ids: list[str]) -> None:
    said = " ".join((getdoc(test) or "").split())
    assert said.startswith(GUARANTEES[ids[0]])
    assert all(GUARANTEES[id_] in said for id_ in ids)


def test_the_page_about_the_guarantees_is_current(rewrite: bool) -> None:
    if rewrite:
        DOCUMENT.write_text(draw_document(), "utf-8")
    assert DOCUMENT.read_text("utf-8") == draw_document()
