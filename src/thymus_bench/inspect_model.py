"""A model of inspect-ai's, as ``thymus.llm`` asks one. For ``thymus_bench.tasks`` alone: inspect-ai is an extra."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from anyio import current_effective_deadline, from_thread
from inspect_ai.model import (
    CachePolicy,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema

from thymus.llm.model import Completion, ModelError, Usage

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from thymus.llm.model import Request


class InspectBackend:
    """A model of inspect's as a backend of ``thymus.llm``.

    It is asked in a worker thread and answers in inspect's event loop. Limits, retries, the cache and the record of
    each call are inspect's.
    """

    def __init__(self, model: Model, cache: CachePolicy | None) -> None:
        self.name = str(model)
        self._model, self._cache = model, cache
        self._last: tuple[Request | None, int] = (None, 0)

    def complete(self, request: Request, *, timeout: float) -> Completion:  # noqa: ARG002  (inspect has its own)
        """Make one attempt; see ``thymus.llm.model.Backend``."""
        attempt = self._last[1] + 1 if request is self._last[0] else 1
        self._last = request, attempt
        # An answer in the wrong form is in the cache too: another attempt has another place there.
        scopes = {"version": request.prompt_version, "repeat": str(request.repeat), "attempt": str(attempt)}
        policy = self._cache.model_copy(update={"scopes": scopes}) if self._cache else False
        from_thread.check_cancelled()
        return _completion(request, from_thread.run(self._generate, request, policy))

    async def _generate(self, request: Request, cache: CachePolicy | bool) -> ModelOutput:
        if current_effective_deadline() == -math.inf:  # a task that is new in a cancelled scope would spin for good
            raise ModelError(f"stopped before {self.name} was asked")
        said = ChatMessageSystem(content=_instructions(request)), ChatMessageUser(content=request.prompt)
        return await self._model.generate(list(said), config=_config(request), cache=cache)

    def close(self) -> None:
        """Nothing: inspect closes its models."""


def _instructions(request: Request) -> str:
    """With the form in words: not every provider of inspect's has structured output."""
    if request.form is None:
        return request.instructions
    form = json.dumps(request.form)
    return (
        f"{request.instructions}\n\nAnswer with JSON alone, without any other text, in the form of this schema: {form}"
    )


def _config(request: Request) -> GenerateConfig:
    if request.form is None:
        return GenerateConfig(max_tokens=request.max_tokens)
    form = ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(request.form), strict=True)
    return GenerateConfig(max_tokens=request.max_tokens, response_schema=form)


def _completion(request: Request, output: ModelOutput) -> Completion:
    used = output.usage or ModelUsage()
    tokens_in = used.input_tokens + (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
    refused = output.stop_reason == "content_filter"
    return Completion(
        text=output.completion,
        usage=Usage(
            tokens_in=tokens_in or (len(request.instructions) + len(request.prompt)) // 4,
            tokens_out=used.output_tokens or len(output.completion) // 4,
            usd=used.total_cost,
        ),
        refusal=" ".join((output.error or output.completion or "content filter").split())[:200] if refused else "",
        cut=output.stop_reason in ("max_tokens", "model_length"),
    )
