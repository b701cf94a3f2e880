"""What passes between a client and a server, as far as there is something to learn of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from thymus.mcp.beside import key_of

MOST_KEPT: Final = 10_000
"""Requests whose answers are awaited, tools whose annotations are known and tasks that are going on."""
_WATCHED: Final = frozenset(
    {
        "initialize",
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "tools/call",
        "resources/read",
        "prompts/get",
        "tasks/get",
        "tasks/result",
    }
)
LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Methods that list something, with the field of their answer."""
HELLO: Final = frozenset({"initialize", "server/discover"})
"""Methods with which a server introduces itself."""
_READ: Final = frozenset({"tools/call", "resources/read", "prompts/get"})
_OF_ITSELF: Final = ("instructions", "serverInfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a wrapped server answered, and the model now reads.

    :param tool: the tool that was called; "" for a resource or a prompt.
    :param arguments: what it was called with.
    :param result: the result in its wire form.
    :param open_world: whether the tool may hand on what anybody wrote: unless its server says that it does not.
    :param learnt: whether it is a result to learn from, and not an error, a resource or a prompt.
    :param told: what the server says of itself and of what it has, by the name that it says it of ("" for itself); then
        it is no result.
    """

    tool: str
    arguments: object
    result: Mapping[str, Any]
    open_world: bool = True
    learnt: bool = True
    told: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asked, whose answer tells something."""

    method: str
    params: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the tool or prompt that it calls."""
        name = self.params.get("name")
        return name if isinstance(name, str) else ""


class Watch:
    """Follows one connection: which tool a result is of, and what its server says of that tool."""

    def __init__(self) -> None:
        self._pending: OrderedDict[str, Request] = OrderedDict()
        self._open: OrderedDict[str, bool] = OrderedDict()
        self._tasks: OrderedDict[str, Request] = OrderedDict()

    def await_answer(self, request: object) -> None:
        """Note what a client asks."""
        if not isinstance(request, dict) or request.get("method") not in _WATCHED or "id" not in request:
            return
        params = request.get("params")
        known = params if isinstance(params, dict) else {}
        _keep(self._pending, key_of(request["id"]), Request(method=request["method"], params=known))

    def take(self, request_id: object) -> Request | None:
        """The request that an id answers; nobody waits for its answer any more."""
        return self._pending.pop(key_of(request_id), None)

    def seen(self, request: Request, response: Mapping[str, Any]) -> list[Seen]:
        """What the model is given to read by a response."""
        result, error = response.get("result"), response.get("error")
        if request.method in HELLO and isinstance(result, dict):
            return _told([("", [result.get(key) for key in _OF_ITSELF])])
        if request.method in LISTS and isinstance(result, dict):
            listed = [one for one in _list(result.get(LISTS[request.method])) if isinstance(one, dict)]
            if request.method == "tools/list":
                self._learn_annotations(listed)
            named = request.method in ("tools/list", "prompts/list")
            return _told([(str(one.get("name")) if named else "", one) for one in listed])
        if request.method in _READ and isinstance(error, dict):
            said = {"content": [{"type": "text", "text": str(error.get("message"))}]}
            if request.method == "tools/call":
                return [self._of_tool(request, said, learnt=False)]
            return [Seen(tool="", arguments=request.params, result=said, learnt=False)]
        if request.method == "tools/call" and isinstance(result, dict):
            return self._of_call(request, result)
        if request.method in ("tasks/result", "tasks/get") and isinstance(result, dict):
            call = self._tasks.get(str(request.params.get("taskId")))
            inner = result if request.method == "tasks/result" else result.get("result")
            if call is not None and isinstance(inner, dict):
                return self._of_call(call, inner)
        if request.method in ("resources/read", "prompts/get") and isinstance(result, dict):
            return [Seen(tool="", arguments=request.params, result=_as_content(result), learnt=False)]
        return []

    def _of_call(self, call: Request, result: dict[str, Any]) -> list[Seen]:
        """A result; not a question to the user, and of a task only what it comes to."""
        task = result.get("task")
        task_id = task.get("taskId") if isinstance(task, dict) else result.get("taskId")
        if isinstance(task_id, str):
            _keep(self._tasks, task_id, call)
        if result.get("resultType", "complete") != "complete" or not (
            "content" in result or "structuredContent" in result
        ):
            return []
        return [self._of_tool(call, result, learnt=result.get("isError") is not True)]

    def _of_tool(self, call: Request, result: Mapping[str, Any], *, learnt: bool) -> Seen:
        return Seen(
            tool=call.name,
            arguments=call.params.get("arguments"),
            result=result,
            open_world=self._open.get(call.name, True),
            learnt=learnt,
        )

    def _learn_annotations(self, tools: list[dict[str, Any]]) -> None:
        for tool in tools:
            if isinstance(name := tool.get("name"), str):
                hints = tool.get("annotations")
                _keep(self._open, name, not (isinstance(hints, dict) and hints.get("openWorldHint") is False))


def _told(said: list[tuple[str, object]]) -> list[Seen]:
    """What a server says in its own words, where it says anything."""
    told = tuple((name, text) for name, one in said if (text := "\n".join(_strings(one))))
    return [Seen(tool="", arguments=None, result={}, learnt=False, told=told)] if told else []


def _strings(value: object) -> list[str]:
    """Every text in a value, names of fields too: a model reads all of it. Without recursion, however deep it is."""
    found: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left += [each for pair in reversed(one.items()) for each in reversed(pair)]
        elif isinstance(one, list):
            left += reversed(one)
    return found


def _as_content(result: Mapping[str, Any]) -> dict[str, Any]:
    """What was read of a resource or a prompt, as if a tool had answered it."""
    blocks = [{"type": "resource", "resource": one} for one in _list(result.get("contents"))]
    said = [one.get("content") for one in _list(result.get("messages")) if isinstance(one, dict)]
    return {"content": [*blocks, *said]}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _keep(where: OrderedDict[str, Any], key: str, value: Any) -> None:
    where.pop(key, None)
    where[key] = value
    while len(where) > MOST_KEPT:
        where.popitem(last=False)
