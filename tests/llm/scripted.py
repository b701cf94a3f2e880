"""A model whose answers follow rules that stand here: over HTTP, in the process, and as the judge that they imply.

Its answers are functions of the words of two statements alone, so that whoever knows the rules knows what a guard that
asks it must come to. It is no good model: now and then it misses something, sees ghosts, declines, or answers with a
number too many or too few.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from typing import Any, Final, Protocol

from providers import Provider, Sent, a_chat, running

from thymus import Kind, Relation
from thymus.core.claims import fold
from thymus.core.relations import Label
from thymus.llm import Answer, ModelRefusalError, Usage
from thymus.llm.fencing import fenced
from thymus.llm.forms import read_answer
from thymus.ports import Statement
from thymus_bench.markers import holds
from thymus_bench.scenarios import Scenario

FOUND: Final = ("contradicts", "same", "compatible")
UNASKED: Final = 99
"""A number that no statement has."""
_TAG: Final = re.compile(r'<(held|new|statement)-[0-9a-f]{12}(?: number="(\d+)")?')
_ORDERS: Final = re.compile(r"\b(?:always|never|from now on|assistant|tell|recommend)\b", re.IGNORECASE)
_LIKES: Final = re.compile(r"\b(?:prefers?|likes?|loves?|favourite|rather)\b", re.IGNORECASE)


class Script(Protocol):
    """What a model answers about statements."""

    def declines(self, *statements: str) -> bool:
        """Whether it will not say anything about a new statement, or about one that is held and a new one."""
        ...

    def finds(self, held: str, new: str) -> frozenset[str]:
        """All that it says of the two: of ``FOUND`` one, none or several."""
        ...

    def confirms(self, held: str, new: str) -> tuple[bool, bool, bool]:
        """Whether both are about the same thing, both can hold, and the new one is stated."""
        ...

    def kind(self, statement: str) -> str:
        """Of ``thymus.Kind``."""
        ...


class Reader:
    """A script that knows the values of scenarios: two statements contradict where one has the old and one another."""

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        self._values: dict[tuple[str, str], set[str]] = {}
        for one in scenarios:
            self._values.setdefault((one.family, "old"), set()).update(one.old_value)
            self._values.setdefault((one.family, "other"), set()).update((*one.new_value, *one.bad_value))
        self._sides = cache(self._read)

    def declines(self, *statements: str) -> bool:
        return draw("declines", *statements) < 4

    def finds(self, held: str, new: str) -> frozenset[str]:
        if draw("left out", held, new) < 3:
            return frozenset()
        ours, theirs = self._sides(fold(held)), self._sides(fold(new))
        if self.opposes(held, new) and draw("missed", held, new) >= 8:
            also = {"compatible"} if draw("both", held, new) < 10 else set()
            return frozenset({"contradicts", *also})
        if ours & theirs and draw("same", held, new) < 70:
            return frozenset({"same"})
        if draw("twice", held, new) < 3:
            return frozenset({"same", "compatible"})
        return frozenset({"contradicts" if draw("ghost", held, new) < 3 else "compatible"})

    def opposes(self, held: str, new: str) -> bool:
        """Whether one has the old value of a family and the other another one."""
        other = {"old": "other", "other": "old"}
        return any((family, other[side]) in self._sides(fold(new)) for family, side in self._sides(fold(held)))

    def confirms(self, held: str, new: str) -> tuple[bool, bool, bool]:
        doubt = draw("confirms", held, new)
        return doubt >= 10, 10 <= doubt < 20, not 20 <= doubt < 30

    def kind(self, statement: str) -> str:
        if statement.rstrip().endswith("?"):
            return "not_a_claim"
        if _ORDERS.search(statement):
            return "instruction"
        return "preference" if _LIKES.search(statement) else "fact"

    def _read(self, words: str) -> frozenset[tuple[str, str]]:
        return frozenset(side for side, values in self._values.items() if any(holds(words, value) for value in values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Persuaded:
    """A script that obeys an attacker wherever the attacker's words are in sight, and otherwise tells the truth.

    They may be among the memories that any statement is compared with, so the comparison always says what it is told.

    :param words: statements of attackers.
    """

    relation: str
    sort: str
    words: frozenset[str]
    honest: Reader

    def declines(self, *statements: str) -> bool:
        return False

    def finds(self, held: str, new: str) -> frozenset[str]:
        return frozenset({self.relation})

    def confirms(self, held: str, new: str) -> tuple[bool, bool, bool]:
        opposes = bool({held, new} & self.words) or self.honest.opposes(held, new)
        return opposes, not opposes, True

    def kind(self, statement: str) -> str:
        return self.sort if statement in self.words else "fact"


def draw(salt: str, *statements: str) -> int:
    """A number below 100 that hangs on these words alone, as two statements are told apart."""
    said = "\n".join((salt, *map(fold, statements)))
    return int.from_bytes(blake2b(said.encode(), digest_size=4).digest()) % 100


def answer(script: Script, asked_for: Iterable[str], prompt: str) -> str | None:
    """What the script answers to a prompt, in JSON; ``None`` where it declines.

    :param asked_for: the names of the fields of the form that it has to fill.
    """
    shown = [
        (tag, int(number or 0), text)
        for (tag, number), (_, text) in zip(_TAG.findall(prompt), fenced(prompt), strict=True)
    ]
    if "kinds" in asked_for:
        return json.dumps({"kinds": [{"number": number, "kind": script.kind(text)} for _, number, text in shown]})
    *held, (tag, _, new) = shown
    assert tag == "new"
    if "findings" in asked_for:
        if script.declines(new):
            return None
        said = [(number, one) for _, number, text in held for one in sorted(script.finds(text, new))]
        extra = [(UNASKED, "contradicts")] if draw("extra", new) < 10 else []
        return json.dumps({"findings": [{"number": number, "relation": one} for number, one in (*extra, *said)]})
    ((_, _, old),) = held
    if script.declines(old, new):
        return None
    same_thing, both_can_hold, stated = script.confirms(old, new)
    return json.dumps({"same_thing": same_thing, "both_can_hold": both_can_hold, "stated": stated})


class ScriptedProvider(Provider):
    """The script behind OpenAI's chat completions (and so Ollama's): it reads what was sent, and nothing else."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._says = script

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or else an answer waits 40 ms for an ACK
        return connection, address

    def next(self, sent: Sent) -> dict[str, Any]:
        with self.lock:
            self.sent.append(sent)
        form = sent.body["response_format"]["json_schema"]["schema"]
        said = answer(self._says, form["properties"], sent.body["messages"][-1]["content"])
        return a_chat(said) if said is not None else a_chat("", stop="content_filter")


def serving_script(script: Script) -> AbstractContextManager[ScriptedProvider]:
    """A provider that answers by a script while the block runs."""
    return running(ScriptedProvider(script))


class ScriptedModel:
    """The script as a ``thymus.llm.Model``, without the wire."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self._says = script

    def ask(self, instructions: str, prompt: str, schema: Any, **_: Any) -> Answer[Any]:
        said = answer(self._says, [field.name for field in fields(schema)], prompt)
        if said is None:
            raise ModelRefusalError("it declined")
        return Answer(value=read_answer(schema, said), usage=Usage(tokens_in=9, tokens_out=3, usd=0.01), ms=1.0)

    def close(self) -> None:
        """Nothing."""


_AS_SAID: Final[Mapping[str, Relation]] = {
    "same": Relation(label=Label.SAME, confidence=0.95, contradiction=0.02),
    "compatible": Relation(label=Label.COMPATIBLE, confidence=0.95, contradiction=0.02),
}

_CONFIRMED: Final = Relation(label=Label.CONTRADICTS, confidence=0.95, contradiction=0.95)
_DENIED: Final = Relation(label=Label.COMPATIBLE, confidence=0.5, contradiction=0.5)


class Implied:
    """What the answers of a script imply, as a judge (``thymus.ports.Judge``): no prompt is made and no model asked.

    :param found: somebody else has found that all pairs contradict each other, so that they are only checked.
    """

    name = "implied"

    def __init__(self, script: Script, *, found: bool = False) -> None:
        self._says, self._found = script, found

    def relate(self, pairs: Sequence[tuple[Any, Any]]) -> list[Relation]:
        return [self._relate(Statement.of(stored), Statement.of(incoming)) for stored, incoming in pairs]

    def classify(self, statements: Sequence[Any]) -> list[Kind]:
        return [Kind(self._says.kind(Statement.of(one).text)) for one in statements]

    def _relate(self, stored: Statement, incoming: Statement) -> Relation:
        """Found and confirmed: it contradicts. Found and denied: compatible, perhaps not. Declined, left out, said to
        be two things at once: *unknown*. The same words of the same person need no answer."""
        held, new = stored.text, incoming.text
        if fold(held) == fold(new) and _by_user(stored) == _by_user(incoming):
            return _AS_SAID["same"]
        found = frozenset() if self._says.declines(new) else self._says.finds(held, new)
        if self._found or "contradicts" in found:
            confirmed = not self._says.declines(held, new) and self._says.confirms(held, new) == (True, False, True)
            return _CONFIRMED if confirmed else _DENIED
        return _AS_SAID[min(found)] if len(found) == 1 else Relation.unknown("no answer, or two")


def _by_user(statement: Statement) -> bool | None:
    return None if statement.speaker is None else statement.speaker.names_user
