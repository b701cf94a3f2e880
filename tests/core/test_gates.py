"""The gates as one readable table: every speaker, kind and rival, and what each gate decides.

The table is kept in tests/golden/gates.txt. After an intended change: ``pytest tests/core/test_gates.py --rewrite``
rewrites it and docs/explanation/gates.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import (
    ASSISTANT,
    COMPATIBLE,
    CONFIRMED,
    COURIER,
    DETECTED,
    LOOKALIKE,
    RAVI,
    SAME,
    SHOP,
    UNATTESTED_USER,
    UNKNOWN,
    UNVERIFIED_COURIER,
    USER,
    a_belief,
    a_claim,
)
from thymus.core.beliefs import Status
from thymus.core.claims import Claim, Kind
from thymus.core.decide import decide
from thymus.core.gates import DEFAULT_GATE, GATES, get_gate
from thymus.core.policy import Effect, Policy, Rival, Showing
from thymus.core.provenance import Source
from thymus.errors import PolicyError

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "gates.txt"
DOCUMENT = HERE.parents[1] / "docs" / "explanation" / "gates.md"

SPEAKERS: dict[str, tuple[Source, tuple[Source, ...]]] = {
    "user": (USER, ()),
    "user, not attested": (UNATTESTED_USER, ()),
    "owner, authenticated": (COURIER, ()),
    "owner, unverified": (UNVERIFIED_COURIER, ()),
    "other, authenticated": (SHOP, ()),
    "lookalike": (LOOKALIKE, ()),
    "other user": (RAVI, ()),
    "assistant": (ASSISTANT, ()),
    "assistant of owner": (ASSISTANT, (COURIER,)),
    "owner of other": (COURIER, (SHOP,)),
}
RIVALS = {
    "user's": a_belief(source=USER),
    "owner's": a_belief(source=COURIER),
    "held back": a_belief(source=SHOP, status=Status.CONTESTED),
}
ANSWERS = {
    "same": SAME,
    "compatible": COMPATIBLE,
    "detected": DETECTED,
    "confirmed": CONFIRMED,
    "unknown": UNKNOWN,
}


def _cases() -> Iterator[list[Rival]]:
    yield []
    for belief in RIVALS.values():
        for relation in ANSWERS.values():
            yield [Rival(belief=belief, relation=relation)]


def _claims() -> Iterator[tuple[str, Kind, Claim]]:
    for who, (source, lineage) in SPEAKERS.items():
        for kind in (Kind.FACT, Kind.PREFERENCE, Kind.INSTRUCTION):
            yield who, kind, a_claim(source=source, derived_from=lineage, kind=kind)


def draw_table() -> str:
    """Everything that each gate decides, as text: one line a speaker and kind, one column a rival and answer."""
    head = " " * 35 + "no     " + "".join(f"{whose + ' memory':36}" for whose in RIVALS)
    columns = "speaker".ljust(22) + "kind".ljust(13) + "rival  "
    columns += "".join("".join(f"{answer[:5]:7}" for answer in ANSWERS) + " " for _ in RIVALS)
    blocks = ["REPlace < ADMit < CONtest < QUArantine < REJect"]
    for policy in GATES.values():
        lines = [f"== {policy.name}", head, columns]
        for who, kind, claim in _claims():
            effects = [decide(policy, claim, found).effect.name[:3] for found in _cases()]
            cells = "".join(f"{effect:7}" + " " * (n % len(ANSWERS) == 0 < n) for n, effect in enumerate(effects))
            lines.append(who.ljust(22) + kind.value.ljust(13) + cells)
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks) + "\n"


_HEAD = """\
# Gates

A gate is a list of rules. Every rule is tried against an incoming claim and each stored memory that may contradict it,
and the most careful effect wins: {effects}.
Where no rule applies, the claim is admitted. The order of the rules never matters.

This page is made from `src/thymus/core/gates.py` by `pytest tests/core/test_gates.py --rewrite`; a test keeps it
current. What every gate decides for every sort of speaker and memory is in `tests/golden/gates.txt`, and which
guarantees each keeps or breaks in [guarantees.md](guarantees.md).
"""


def draw_document() -> str:
    """docs/explanation/gates.md: the gates in words, from the rules themselves."""
    lines = [_HEAD.format(effects=" < ".join(f"**{effect.name}**" for effect in sorted(Effect)))]
    for policy in GATES.values():
        lines += [f"## `{policy.name}`", "", *_about(policy), ""]
    return "\n".join(lines)


def _about(policy: Policy) -> list[str]:
    marks = [mark for mark, given in (("default", policy.name == DEFAULT_GATE), ("unsafe", policy.unsafe)) if given]
    about = [policy.summary + (f" *({', '.join(marks)})*" if marks else ""), ""]
    if policy.rules:
        about += ["| rule | effect | when | in words |", "|---|---|---|---|"]
        about += [
            f"| {rule.name} | {rule.effect.name} | `{rule.when.name.replace('|', chr(92) + '|')}` | {rule.when.says} |"
            for rule in policy.rules
        ]
    else:
        about.append("No rules: everything is admitted.")
    slots = "" if policy.outside_slots is None else f" At most {policy.outside_slots} outside memory is shown."
    return [*about, "", f"Recall: {_SHOWN[policy.showing]}{slots}"]


_SHOWN = {
    Showing.PLAIN: "active memories without labels, and no notice.",
    Showing.LABEL: "outside memories labelled with their source, contested ones too, marked as unconfirmed; no notice.",
    Showing.WITHHOLD: "outside memories labelled; contested ones kept from the model and disclosed to the user.",
}


def test_what_every_gate_decides(rewrite: bool) -> None:
    if rewrite:
        GOLDEN.write_text(draw_table(), "utf-8")
    assert GOLDEN.read_text("utf-8") == draw_table()


def test_the_page_about_the_gates_is_current(rewrite: bool) -> None:
    if rewrite:
        DOCUMENT.write_text(draw_document(), "utf-8")
    assert DOCUMENT.read_text("utf-8") == draw_document()


def test_the_default_gate_is_not_unsafe() -> None:
    assert not GATES[DEFAULT_GATE].unsafe


def test_a_gate_is_found_by_name_or_passed_on() -> None:
    policy = GATES[DEFAULT_GATE]
    assert policy is get_gate(DEFAULT_GATE) is get_gate(policy)
    with pytest.raises(PolicyError, match=r"allow-all.*thymus-v3"):
        get_gate("thymus-v99")


def test_gates_cannot_be_changed_while_the_program_runs() -> None:
    with pytest.raises(TypeError):
        GATES["thymus-v3"] = GATES["allow-all"]  # type: ignore[index]
