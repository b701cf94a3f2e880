"""CrewAI: hooks around a crew's calls of tools and models, and a storage for its own memory.

CrewAI's hooks are shared by all crews of a process. These are registered for one run and for what runs within it (a
context variable of CrewAI's own, which its threads and tasks copy), so that two users' crews never meet. What goes
wrong in a hook CrewAI ignores, except ``HookAborted``: that is how failing closed is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from thymus.conversation import UNKNOWN
from thymus.errors import ConfigError, InputError
from thymus.integrations.adapter import Failing, context, missing, not_called, tool_names
from thymus.integrations.runs import Runs

try:
    from crewai.hooks.dispatch import HookAborted, InterceptionPoint, get_scoped_hooks, register_scoped, scoped_hooks
    from crewai.tools.agent_tools.base_agent_tools import BaseAgentTool
    from crewai.tools.memory_tools import RecallMemoryTool, RememberTool
    from crewai.tools.tool_failure import ToolFailure
    from crewai.utilities.string_utils import sanitize_tool_name

    from thymus.integrations.crewai_memory import ThymusStorage
except ImportError as error:
    raise missing("crewai", "crewai") from error

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

    from thymus.aio import AsyncMemoryGuard
    from thymus.conversation import Conversation
    from thymus.core.actions import Verdict
    from thymus.guard import MemoryGuard

_RUN: Final[ContextVar[ThymusRun | None]] = ContextVar("thymus_crewai_run", default=None)
_DEPTH: Final[ContextVar[int]] = ContextVar("thymus_crewai_depth", default=0)
_FAILED: Final = (  # how CrewAI words what is no result of a tool
    "Error executing tool",
    "I encountered an error",
    "I tried reusing the same input",
    "Tool execution blocked by hook",
    "Tool not found",
)


class ThymusHooks:
    """Learns what a crew's tools return, and shows its agents what is remembered.

    ``with hooks.run("chat-1", user="asha"): crew.kickoff(inputs={"question": …})``

    :param user_inputs: names of the inputs that hold what the user said, word for word. Only those of the run that the
        host itself starts count, and never those of a crew within it: a model can have written them.
    :param checked: names of the tools that are called only where ``MemoryGuard.check_action`` allows their arguments.
    :param approve: asked, with the verdict, where the answer is *ask*; without it that is a no.
    :param open_world, authenticated, ignored, k, on_notice, failing: as for ``thymus.integrations.adapter.Adapter``.
        Tools are known by the name that a model calls them by, in whichever way it is written (``Read Inbox``).
    """

    def __init__(
        self,
        guard: MemoryGuard | AsyncMemoryGuard,
        *,
        user_inputs: Iterable[str] = (),
        open_world: Iterable[str] = (),
        authenticated: Iterable[str] = (),
        ignored: Iterable[str] = (),
        checked: Iterable[str] = (),
        approve: Callable[[Verdict], object] | None = None,
        k: int = 8,
        on_notice: Callable[[str], object] | None = None,
        failing: Failing = "closed",
    ) -> None:
        self._runs = Runs(
            guard,
            checked=_names(checked, "checked"),
            approve=approve,
            open_world=_names(open_world, "open_world"),
            authenticated=_names(authenticated, "authenticated"),
            ignored=_names(ignored, "ignored"),
            k=k,
            on_notice=on_notice,
            failing=failing,
        )
        if isinstance(user_inputs, str):
            raise ConfigError(f'user_inputs is a list of names of inputs: user_inputs=["{user_inputs[:40]}"]')
        self._user_inputs = tuple(user_inputs)

    @contextlib.contextmanager
    def run(self, conversation: str = "", *, user: str | None = None) -> Iterator[ThymusRun]:
        """Within, crews, agents and flows remember for this user; afterwards nothing is left registered.

        :param conversation: its name; what entered it before is known to have.
        :param user: whose memory it is; ``None`` is the user that the guard was opened for.
        """
        talk = self._runs.conversation(conversation, user=user)
        run = ThymusRun(self._runs, talk, self._user_inputs)
        others = {point: [one for one in get_scoped_hooks(point) if not _ours(one)] for point in InterceptionPoint}
        before, depth = _RUN.get(), _DEPTH.get()
        _RUN.set(run)
        _DEPTH.set(0)
        try:
            with scoped_hooks(others):
                for point, hook in run.hooks.items():
                    register_scoped(point, hook)
                yield run
        finally:
            run.withdraw()
            _DEPTH.set(depth)
            _RUN.set(before)

    def storage(self, inner: StorageBackend | None = None) -> ThymusStorage:
        """A storage for CrewAI's own memory: ``Memory(storage=hooks.storage())``.

        :param inner: finds records by their vectors; CrewAI's own (LanceDB) by default.
        """
        if inner is None:
            from crewai.memory.storage.lancedb_storage import LanceDBStorage

            inner = LanceDBStorage()
        return ThymusStorage(self._runs, inner, _RUN.get)


class ThymusRun:
    """What runs for one user, in one conversation (``ThymusHooks.run``)."""

    def __init__(self, runs: Runs, talk: Conversation, user_inputs: tuple[str, ...]) -> None:
        self.talk = talk
        self._runs, self._user_inputs = runs, user_inputs
        self._shown: dict[int, tuple[Any, dict[str, str]]] = {}
        self._asked: dict[int, str] = {}
        self.hooks: dict[InterceptionPoint, Callable[[Any], None]] = {
            InterceptionPoint.EXECUTION_START: self._started,
            InterceptionPoint.EXECUTION_END: self._ended,
            InterceptionPoint.PRE_MODEL_CALL: self._before_model,
            InterceptionPoint.POST_MODEL_CALL: self._after_model,
            InterceptionPoint.PRE_TOOL_CALL: self._before_tool,
            InterceptionPoint.POST_TOOL_CALL: self._after_tool,
        }

    def said(self, text: str, *, message_id: str | None = None) -> None:
        """Learn what the host's user said: what they typed and nothing else.

        :param message_id: your own id of the message: the same message is learned once.
        """
        if not isinstance(text, str):
            raise InputError(f"what the user said is text, not {type(text).__name__}")
        with self._runs.failures("a message of the user's was not learned"):
            self._runs.user_said(self.talk, text, message_id=f"crewai/{message_id}" if message_id else None)

    @contextlib.contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            with self._runs.failures(what):
                yield
        except Exception as error:
            raise HookAborted(f"thymus failed, and {what}: {type(error).__name__}", source="thymus") from error

    # The user

    def _started(self, ctx: Any) -> None:
        depth = _DEPTH.get()
        if depth == 0 and _of_the_host(ctx):
            inputs = ctx.inputs if isinstance(ctx.inputs, Mapping) else {}
            for text in [inputs.get(one) for one in self._user_inputs]:
                if isinstance(text, str):
                    with self._failures("a message of the user's was not learned"):
                        self.said(text)
        if getattr(ctx.crew, "checkpoint_kickoff_event_id", None) is not None:  # it goes on: what it read is not known
            self.talk.read("", source=UNKNOWN, all_of_it=False)
        _DEPTH.set(depth + 1)

    def _ended(self, _: Any) -> None:
        _DEPTH.set(max(0, _DEPTH.get() - 1))

    # The model

    def _before_model(self, ctx: Any) -> None:
        executor = ctx.executor
        if executor is None:  # one of CrewAI's own calls, which may save what it is shown
            return
        self.withdraw(executor)
        if ctx.iterations == 0 and any(one.get("role") in ("assistant", "tool") for one in ctx.messages):
            self.talk.read("", source=UNKNOWN, all_of_it=False)  # brought along, from where nobody knows
        question = self._question(ctx)
        text = ""
        with self._failures("nothing was recalled"):
            text = context(self._runs.recall(self.talk, question))
        if text:
            message = {"role": "system", "content": text}
            at = next((at for at, one in enumerate(ctx.messages) if one.get("role") != "system"), len(ctx.messages))
            ctx.messages.insert(at, message)
            self._shown[id(executor)] = (executor, message)

    def _question(self, ctx: Any) -> str:
        """What an agent is asked: its task, or what it was called with. Later messages of CrewAI's are its own."""
        if ctx.task is not None:
            return str(ctx.task.description)
        if ctx.iterations == 0 or id(ctx.executor) not in self._asked:
            asked = [one.get("content") for one in ctx.messages if one.get("role") == "user"]
            self._asked[id(ctx.executor)] = next((one for one in reversed(asked) if isinstance(one, str)), "")
        return self._asked[id(ctx.executor)]

    def _after_model(self, ctx: Any) -> None:
        if ctx.executor is not None:
            self.withdraw(ctx.executor)

    def withdraw(self, executor: object = None) -> None:
        """Take what was recalled out of an executor's messages; of all of them by default."""
        for key in [id(executor)] if executor is not None else list(self._shown):
            found = self._shown.pop(key, None)
            if found is not None:
                messages = found[0].messages
                messages[:] = [one for one in messages if one is not found[1] and one != found[1]]

    # Tools

    def _before_tool(self, ctx: Any) -> None:
        self.withdraw(getattr(ctx.agent, "agent_executor", None) or object())
        if why := self._runs.refusal(self.talk, ctx.tool_name, ctx.tool_input):
            raise HookAborted(not_called(ctx.tool_name, why), source="thymus")

    def _after_tool(self, ctx: Any) -> None:
        with self._failures(f"a result of {ctx.tool_name[:80]} was not learned"):
            self._take(ctx)

    def _take(self, ctx: Any) -> None:
        tool = getattr(ctx.tool, "_original_tool", None) or ctx.tool
        said, raw = str(ctx.tool_result or ""), ctx.raw_tool_result
        if isinstance(tool, RecallMemoryTool) and isinstance(_storage(tool.memory), ThymusStorage):
            return  # what it shows has entered where it was found
        if isinstance(tool, (BaseAgentTool, RememberTool)):  # what another agent says, a model says
            self._runs.agent_answered(self.talk, ctx.tool_name, said)
            return
        spent = f"Tool '{ctx.tool_name}' has reached its"
        failed = tool is None or isinstance(raw, ToolFailure) or said.lstrip().startswith((*_FAILED, spent))
        unguarded = isinstance(tool, RecallMemoryTool)  # anybody's words: read, and never learned again
        self._runs.tool_returned(
            self.talk,
            ctx.tool_name,
            said if failed or unguarded or raw is None else raw,
            arguments=ctx.tool_input,
            server=_server(tool),
            failed=failed or unguarded,
            open_world=unguarded,
        )


def _names(given: Iterable[str], what: str) -> frozenset[str]:
    """Names as a model calls them; one of a server's tool (``server/tool``) has the server's as it is."""
    return frozenset(
        f"{server}{slash}{sanitize_tool_name(tool)}"
        for server, slash, tool in (one.rpartition("/") for one in tool_names(given, what))
    )


def _server(tool: object) -> object:
    """The MCP server that a tool is of, by CrewAI's own tools and by those of ``crewai_tools``."""
    if (server := getattr(tool, "server_name", None)) is not None:
        return server
    return "mcp" if type(tool).__module__.startswith("mcpadapt") else None


def _ours(hook: object) -> bool:
    return isinstance(getattr(hook, "__self__", None), ThymusRun)


def _of_the_host(ctx: Any) -> bool:
    """Whether a run has the inputs that the host gave it; a crew that goes on from a checkpoint had them before."""
    if ctx.crew is not None:
        return getattr(ctx.crew, "checkpoint_kickoff_event_id", None) is None
    return ctx.flow is not None and not getattr(type(ctx.flow), "is_crewai_internal", True)


def _storage(memory: Any) -> object:
    for _ in range(2):  # a scope or a slice is of a memory
        memory = getattr(memory, "_memory", None) or memory
    return getattr(memory, "_storage", None)
