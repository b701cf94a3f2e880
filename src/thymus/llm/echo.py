"""A model that is none: believes and repeats everything. For trying out a pipeline without a key or a network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from thymus.llm.fencing import fenced
from thymus.llm.model import Completion, Request, Usage

_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_NUMBER: Final = re.compile(r'^<[a-z]+-[0-9a-f]{12} number="(\d+)"', re.MULTILINE)
_UNASKED: Final = "question"
"""The tag of what is asked: it is not repeated as an answer."""


class Echo:
    """Says yes to every question, extracts every sentence, answers with everything that it was shown."""

    name = "echo"

    def complete(self, request: Request, *, timeout: float) -> Completion:  # noqa: ARG002
        """Fill the form with what is between the fences of the prompt, or with the prompt where there are none."""
        shown = [text for tag, text in fenced(request.prompt) if tag != _UNASKED]
        seen = "\n".join(shown) if shown or "</" in request.prompt else request.prompt
        numbers = [int(number) for number in _NUMBER.findall(request.prompt)]
        text = seen if request.form is None else json.dumps(_fill(request.form, seen, numbers), ensure_ascii=False)
        asked = len(request.instructions) + len(request.prompt)
        return Completion(text=text, usage=Usage(tokens_in=asked // 4, tokens_out=len(text) // 4, usd=0.0))

    def close(self) -> None:
        """Nothing to release."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, by end marks and line breaks alone."""
    return [part.strip() for part in _SENTENCE_ENDS.split(text) if part and part.strip()]


def _fill(form: Mapping[str, Any], seen: str, numbers: Sequence[int]) -> Any:
    """A value of that form: yes, 0, the first choice, all that was seen; one item for each number that is asked about,
    or else for each sentence."""
    if "anyOf" in form:
        return _fill(form["anyOf"][0], seen, numbers)
    if "enum" in form:
        return form["enum"][0]
    match form["type"]:
        case "object":
            return {name: _fill(inner, seen, numbers) for name, inner in form["properties"].items()}
        case "array" if "number" in form["items"].get("properties", ()):
            return [_fill(form["items"], seen, ()) | {"number": number} for number in numbers]
        case "array":
            return [_fill(form["items"], sentence, numbers) for sentence in sentences(seen)]
        case "boolean":
            return True
        case "integer" | "number":
            return 0
        case _:
            return seen
