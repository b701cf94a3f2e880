"""Providers through ``pydantic-ai-slim``: Anthropic, OpenAI, Ollama and every server that speaks OpenAI's chat API."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from thymus.errors import MissingExtraError, ThymusError
from thymus.llm.model import Completion, ModelError, Request, TransientError, UnanswerableError, Usage

try:
    from pydantic_ai import exceptions as faults
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtraError(
        'models of providers need an extra: pip install "thymus-memory[llm]" (the model echo needs none)'
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pydantic_ai.models import Model as ProviderModel
    from pydantic_ai.settings import ModelSettings

_FORM: Final = "answer"
_GRACE_S: Final = 2.0
"""How long closing connections may take."""
_MARGIN_S: Final = 0.1
"""How much longer than its own time limit an attempt is waited for: the client's is for each read, not for them all."""
_UNKEYED: Final = "no-key"
_NOT_SIGNED_IN: Final = ("CredentialsError", "IdentityTokenFileError", "WorkloadIdentityError")
"""Errors of Anthropic's library, by name, since it is imported for its own models alone."""
_LASTING: Final = (faults.ModelQuotaExceededError, faults.ModelRequestRejectedError)
_NO_THINKING: Final = {"think": False, "reasoning_effort": "none"}
"""What Ollama reads; without it a model that thinks may use up ``max_tokens`` before it answers."""


@dataclass(frozen=True, slots=True)
class _Session:
    """A model with the event loop that its connections belong to."""

    pid: int
    loop: asyncio.AbstractEventLoop
    model: ProviderModel
    close: Callable[[], Coroutine[Any, Any, None]]


class ProviderBackend:
    """One model of one provider. All threads share one event loop, and with it its connections.

    :param kind: ``anthropic``, ``openai``, ``ollama``, or ``server`` for one that speaks OpenAI's chat completions.
    :param address: base URL where it is not the provider's own.
    """

    def __init__(self, *, name: str, kind: str, model: str, key: str | None, address: str | None) -> None:
        package = "anthropic" if kind == "anthropic" else "openai"
        if find_spec(package) is None:
            raise MissingExtraError(f'{name} needs an extra: pip install "thymus-memory[{package}]"')
        self.name = name
        self._kind, self._model, self._key, self._address = kind, model, key, address
        self._lock = threading.Lock()
        self._session: _Session | None = None

    def complete(self, request: Request, *, timeout: float) -> Completion:
        """Make one attempt; see ``Backend.complete``."""
        try:
            response = self._run(request, timeout)
        except FutureTimeoutError:
            raise TransientError(self._late(timeout)) from None
        except faults.ContentFilterError as error:
            return Completion(text="", usage=Usage(), refusal=_brief(error) or "content filter")
        except _LASTING as error:
            raise self._lasting(error) from None
        except faults.ModelAPIError as error:
            late = isinstance(error, faults.ModelTimeoutError)
            said = self._late(timeout) if late else self._passing(error)
            raise TransientError(said, retry_after=error.retry_after) from None
        except faults.UserError as error:
            raise ModelError(f"{self.name} cannot be asked: {_brief(error)}") from None
        except ThymusError:
            raise
        except Exception as error:  # noqa: BLE001  (a provider's library trips over a broken answer in many ways)
            if type(error).__name__ in _NOT_SIGNED_IN:
                raise ModelError(
                    f"{self.name} cannot sign in ({_brief(error)}): run `ant auth login`, or set ANTHROPIC_API_KEY"
                ) from None
            raise TransientError(f"{self.name} answered in no form of its protocol ({type(error).__name__})") from None
        return _completion(request, response)

    def close(self) -> None:
        """Close the connections and stop the loop."""
        with self._lock:
            session, self._session = self._session, None
        if session and session.pid == os.getpid():
            with suppress(FutureTimeoutError):
                asyncio.run_coroutine_threadsafe(session.close(), session.loop).result(_GRACE_S)
            session.loop.call_soon_threadsafe(session.loop.stop)

    def _run(self, request: Request, timeout: float) -> ModelResponse:
        session = self._open()
        native = bool(session.model.profile.get("supports_json_schema_output"))
        call = model_request(
            session.model,
            [ModelRequest(parts=[UserPromptPart(request.prompt)], instructions=request.instructions)],
            model_settings=self._settings(session, request, timeout),
            model_request_parameters=_form_parameters(request, native=native),
        )
        running: Future[ModelResponse] = asyncio.run_coroutine_threadsafe(call, session.loop)
        try:
            return running.result(timeout + _MARGIN_S)
        except BaseException:
            running.cancel()
            raise

    def _settings(self, session: _Session, request: Request, timeout: float) -> ModelSettings:
        settings: dict[str, Any] = {"max_tokens": request.max_tokens, "timeout": timeout, "max_retries": 0}
        if self._kind in ("anthropic", "openai"):
            settings["thinking"] = False
            if session.model.profile.get("anthropic_supports_effort"):  # some models cannot leave thinking off
                settings["anthropic_effort"] = "low"
        else:
            settings["seed"] = request.repeat
        if self._kind == "ollama":
            settings["extra_body"] = _NO_THINKING
        return cast("ModelSettings", settings)

    def _open(self) -> _Session:
        with self._lock:
            if self._session is None or self._session.pid != os.getpid():  # a fork has no thread for the loop
                loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(loop,), name="thymus-llm", daemon=True).start()
                model, close = self._build()
                self._session = _Session(os.getpid(), loop, model, close)
            return self._session

    def _build(self) -> tuple[ProviderModel, Callable[[], Coroutine[Any, Any, None]]]:
        try:
            if self._kind == "anthropic":
                from anthropic import AsyncAnthropic
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                claude = AsyncAnthropic(api_key=self._key, base_url=self._address, max_retries=0)
                return AnthropicModel(self._model, provider=AnthropicProvider(anthropic_client=claude)), claude.close
            from openai import AsyncOpenAI
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.ollama import OllamaProvider
            from pydantic_ai.providers.openai import OpenAIProvider
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
        except ImportError as error:
            raise MissingExtraError(f'{self.name} needs an extra: pip install "thymus-memory[llm]"') from error

        class Elsewhere(AsyncOpenAI):
            """Keeps what the library reads of the environment, for OpenAI, from other servers; its copies do, too."""

            def __init__(self, **known: Any) -> None:
                super().__init__(**known)
                self.organization = self.project = None
                self._custom_headers = {}

        if self._kind == "openai":
            client = AsyncOpenAI(api_key=self._key or _UNKEYED, base_url=self._address, max_retries=0)
            return OpenAIChatModel(self._model, provider=OpenAIProvider(openai_client=client)), client.close
        client = Elsewhere(api_key=self._key or _UNKEYED, base_url=self._address, max_retries=0)
        # Most servers read max_tokens; only OpenAI insists on the new name.
        plain: Any = {"openai_chat_supports_max_completion_tokens": False, "supports_json_schema_output": True}
        if self._kind == "ollama":
            from pydantic_ai.models.ollama import OllamaModel

            provider = OllamaProvider(openai_client=client)
            return OllamaModel(self._model, provider=provider, profile=plain), client.close
        other = OpenAICompatibleProvider("server", openai_client=client)
        return OpenAIChatModel(self._model, provider=other, profile=plain), client.close

    def _late(self, timeout: float) -> str:
        return f"{self.name} did not answer within {timeout:.3g} s: allow more time, or use a smaller model"

    def _passing(self, error: faults.ModelAPIError) -> str:
        if isinstance(error, faults.ModelConnectionError):
            remedy = {
                "ollama": f"start it with `ollama serve` (asked at {self._address}; OLLAMA_HOST names another place)",
                "server": f"start the server at {self._address}",
            }.get(self._kind, "check the network")
            return f"{self.name} cannot be reached, or broke off: {remedy}"
        if isinstance(error, faults.ModelRateLimitError):
            return f"{self.name} is asked too often for this account: run fewer at once, or later"
        return f"{self.name} failed ({_brief(error)}): try again later"

    def _lasting(self, error: faults.ModelAPIError) -> ModelError:
        if isinstance(error, faults.ModelQuotaExceededError):
            return ModelError(f"{self.name}: the account's quota or credit is used up: top it up, or use another model")
        if isinstance(error, faults.ModelAuthenticationError):
            variable = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}.get(
                self._kind, "THYMUS_LLM_API_KEY"
            )
            return ModelError(f"{self.name} refuses the key: check {variable}")
        if isinstance(error, faults.ModelNotFoundError):
            remedy = f"`ollama pull {self._model}`" if self._kind == "ollama" else "check its name with the provider"
            return ModelError(f"{self.name} is not there: {remedy}")
        if isinstance(error, faults.ModelContextWindowExceededError):
            return UnanswerableError(
                f"{self.name} cannot take in so long a text: shorten it, or use a model with a larger window"
            )
        return UnanswerableError(f"{self.name} rejects the request ({_brief(error)})")


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()


def _form_parameters(request: Request, *, native: bool) -> ModelRequestParameters:
    """How the form is asked for: by the provider's structured output, else as the one tool that it must call."""
    if request.form is None:
        return ModelRequestParameters()
    form = dict(request.form)
    if native:
        definition = OutputObjectDefinition(json_schema=form, name=_FORM, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=definition)
    tool = ToolDefinition(name=_FORM, description="Give the answer.", parameters_json_schema=form, kind="output")
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _completion(request: Request, response: ModelResponse) -> Completion:
    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    said = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = calls[0] if calls else said
    return Completion(
        text=text,
        usage=_usage(request, response, text),
        refusal=_refusal(response, said) if response.finish_reason == "content_filter" else "",
        cut=response.finish_reason == "length",
    )


def _refusal(response: ModelResponse, said: str) -> str:
    given = (response.provider_details or {}).get("refusal") or said
    return " ".join(str(given).split())[:200] or "content filter"


def _usage(request: Request, response: ModelResponse, text: str) -> Usage:
    used = response.usage
    try:
        usd: float | None = float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # a model without a list price
        usd = None
    return Usage(
        tokens_in=used.input_tokens or (len(request.instructions) + len(request.prompt)) // 4,
        tokens_out=used.output_tokens or len(text) // 4,
        usd=usd,
    )


def _brief(error: Exception) -> str:
    """What a provider says, on one line: it may hold what was sent, so it is cut and quoted."""
    status, body = getattr(error, "status_code", None), getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    said = " ".join(str(message or getattr(error, "message", error)).split())[:160]
    return f"HTTP {status}: {said!r}" if status else repr(said)
