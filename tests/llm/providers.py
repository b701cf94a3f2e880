"""Fake servers that speak the real wire protocols over HTTP, keep what they were sent and fail as they are told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


@dataclass
class Fault:
    """One way to fail: a status with headers, a body cut short, raw text, or silence."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    cut: bool = False
    silent_s: float = 0.0


@dataclass
class Sent:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


class Provider(ThreadingHTTPServer):
    """Answers with ``script`` in order, the last one for ever: a text, a whole answer as a dict, or a fault."""

    daemon_threads = True

    def __init__(self, *script: str | dict[str, Any] | Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script) or ["Hello."]
        self.sent: list[Sent] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next(self, sent: Sent) -> str | dict[str, Any] | Fault:
        with self.lock:
            self.sent.append(sent)
            return self.script[min(len(self.sent), len(self.script)) - 1]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: Provider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each request waits 40 ms for an acknowledgement

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        sent = Sent(path=self.path, headers={name.lower(): value for name, value in self.headers.items()}, body=body)
        step = self.server.next(sent)
        if isinstance(step, Fault):
            time.sleep(step.silent_s)
            text = step.body if step.body is not None else json.dumps(_failure(sent, step.status))
            return self._write(step.status, text, step.headers, cut=step.cut)
        answer = step if isinstance(step, dict) else _answer(sent, step)
        return self._write(200, json.dumps(answer), {})

    def _write(self, status: int, text: str, headers: dict[str, str], *, cut: bool = False) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data) + (50 if cut else 0)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        if cut:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _failure(sent: Sent, status: int) -> dict[str, Any]:
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(status, "api_error")
    if sent.path.endswith("/messages"):
        return {"type": "error", "error": {"type": kind, "message": "no"}}
    code = {404: "model_not_found"}.get(status)
    return {"error": {"message": "no", "type": kind, "param": None, "code": code}}


def _answer(sent: Sent, text: str) -> dict[str, Any]:
    return a_message(text) if sent.path.endswith("/messages") else a_chat(text)


def a_message(text: str, *, stop: str = "end_turn") -> dict[str, Any]:
    """An answer of Anthropic's messages."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 21, "output_tokens": 7},
    }


def a_chat(text: str | None, *, stop: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """An answer of OpenAI's chat completions, which Ollama and others give alike."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
                "finish_reason": stop,
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
    }


P = TypeVar("P", bound=Provider)


@contextmanager
def running(server: P) -> Iterator[P]:
    """A provider of any sort, at work while the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serving(*script: str | dict[str, Any] | Fault) -> AbstractContextManager[Provider]:
    """A provider that answers by a script while the block runs."""
    return running(Provider(*script))
