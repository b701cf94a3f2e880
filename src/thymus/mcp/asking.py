"""Asking the user, over the model's head: what only they can confirm, and when they are not to be asked at all.

The question goes from the server to the host (MCP elicitation), which asks the user; a model can neither word it nor
answer it. In the protocol of 2026 the answer comes back with a state that the server sealed for this caller, this tool
and these arguments, and that serves once. A host that answers by itself vouches for its user: what it accepts counts as
theirs, because no protocol can tell the difference.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, DeclinedElicitation
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.request_state import InvalidRequestState, RequestStateCodec
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, ConfigDict, Field

from thymus.core.disclose import Memory
from thymus.core.quoting import LONGEST_QUOTE
from thymus.mcp import wording
from thymus.mcp.conversation import Conversation
from thymus.mcp.desk import conversation, for_tool

STATE_TTL_S: Final = 600.0
"""Seconds within which a question must be answered."""
_MODERN: Final = "2026-07-28"
"""From this protocol on a question is a result that the client answers by calling again; before, a request to it."""
_MOST_SPENT: Final = 100_000


class Confirmation(BaseModel):
    """What the user answers. There is no default: a host that accepts a form unfilled has confirmed nothing."""

    model_config = ConfigDict(title="Your answer", json_schema_extra=lambda schema: schema.pop("description", None))

    confirm: bool = Field(title="Yes, do that", description="Yes only if you want exactly what is said above.")


def _confirmation_of(*about: str) -> type[Confirmation]:
    """The form for one question, with a digest of all that it is about.

    The server seals a digest of each question, form and all, and an answer counts for that question alone. So a yes
    does not outlive a change of what was too much to be quoted.
    """
    mark = hashlib.sha256("\n".join(about).encode()).hexdigest()[:32]

    class Bound(Confirmation):
        model_config = ConfigDict(
            title="Your answer", json_schema_extra=lambda schema: schema.update({"$comment": f"about {mark}"})
        )

    Bound.__doc__ = None
    return Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """The user was not asked.

    :param why: in words for them; empty where there was nothing to ask.
    """

    why: str = ""


Reply = AcceptedElicitation[Any] | DeclinedElicitation | CancelledElicitation
"""What a tool gets: the user's answer, or an ``Unasked`` in the guise of an accepted one."""


def confirmed(reply: Reply) -> bool:
    """Whether the user was asked and said yes."""
    return isinstance(reply, AcceptedElicitation) and isinstance(reply.data, Confirmation) and reply.data.confirm


def declined(reply: Reply) -> bool:
    """Whether the user was asked and said no, rather than to have put the question away."""
    said_no = isinstance(reply, AcceptedElicitation) and isinstance(reply.data, Confirmation) and not reply.data.confirm
    return said_no or isinstance(reply, DeclinedElicitation)


def refusal(reply: Reply) -> str:
    """Why it is not confirmed, for the user; empty where nothing was asked and nothing needs to be said."""
    if isinstance(reply, AcceptedElicitation) and isinstance(reply.data, Unasked):
        return str(reply.data.why)
    return "" if confirmed(reply) else "you did not say yes"


class OnceCodec:
    """Opens each seal of another codec once.

    Without that a client could send a user's yes again, and undo what the user has changed since. Several workers share
    keys, but not which seals were opened: among them a yes serves once in each, for the same words and caller.
    """

    def __init__(self, codec: RequestStateCodec, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._codec = codec
        self._clock = clock
        self._lock = threading.Lock()
        self._spent: OrderedDict[bytes, float] = OrderedDict()

    def seal(self, payload: bytes) -> str:
        """Seal."""
        return self._codec.seal(payload)

    def unseal(self, token: str) -> bytes:
        """Open a seal.

        :raises InvalidRequestState: where it is none of ours, or was opened before.
        """
        payload = self._codec.unseal(token)
        digest, now = hashlib.sha256(token.encode()).digest(), self._clock()
        with self._lock:
            while self._spent and (
                len(self._spent) >= _MOST_SPENT or now - next(iter(self._spent.values())) > STATE_TTL_S
            ):
                self._spent.popitem(last=False)
            if digest in self._spent:
                raise InvalidRequestState("used before")
            self._spent[digest] = now
        return payload


def _unable(ctx: Context[Any, Any], here: Conversation) -> str:
    """Why the user cannot be asked now; empty where they can."""
    if not here.vouched_for:
        return wording.NOBODY_KNOWN
    declared = ctx.client_capabilities
    asks = declared.elicitation if declared is not None else None
    if asks is None or (asks.form is None and asks.url is not None):
        return wording.NO_WAY_TO_ASK
    modern = is_version_at_least(ctx.protocol_version or "", _MODERN)
    if not modern and not ctx.session.can_send_request:
        return wording.NO_WAY_TO_ASK
    # A call that brings the answer has been counted when the question was put; its state is ours, or it were not here.
    if not ctx.request_state and not here.patience.take():
        return wording.TOO_MANY
    return ""


async def may_save(ctx: Context[Any, Any], text: str, said_by_user: bool) -> Elicit[Confirmation] | Unasked:
    """Ask whether these are the user's own words, where the model says so."""
    if not said_by_user:
        return Unasked()
    here, words = conversation(), wording.plain(text)
    if len(words) > LONGEST_QUOTE:
        return Unasked(why=wording.TOO_LONG)
    if not words or wording.plain(words) != words:
        return Unasked(why=wording.NOT_AS_SHOWN)
    if here.patience.refused(words):
        return Unasked(why=wording.SAID_NO)
    if why := _unable(ctx, here):
        return Unasked(why=why)
    return Elicit(wording.ask_to_save(words), Confirmation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim that can be settled, and the active memories that it takes the place of where it is accepted."""

    memory: Memory
    rivals: tuple[Memory, ...]


async def look_up(memory_id: str, accept: bool) -> Claim:
    """The claim as it stands now.

    :raises ToolError: where there is none of that id, or nothing to settle about it.
    """
    here = conversation()
    rivals = await for_tool(here.foresee, memory_id, accept=accept)
    return Claim(memory=await for_tool(here.guard.get, memory_id), rivals=rivals)


async def may_settle(
    ctx: Context[Any, Any], accept: bool, claim: Annotated[Claim, Resolve(look_up)]
) -> Elicit[Confirmation] | Unasked:
    """Ask whether a claim is to be accepted, or rejected."""
    if len(wording.plain(claim.memory.text)) > LONGEST_QUOTE:
        return Unasked(why=wording.TOO_LONG)
    if why := _unable(ctx, conversation()):
        return Unasked(why=why)
    form = _confirmation_of(claim.memory.id, *sorted(rival.id for rival in claim.rivals))
    return Elicit(wording.ask_to_settle(claim.memory, claim.rivals, accept=accept), form)


async def may_forget(ctx: Context[Any, Any], memory_id: str) -> Elicit[Confirmation] | Unasked:
    """Ask whether a memory is to be erased."""
    here = conversation()
    memory = await for_tool(here.guard.get, memory_id)
    if why := _unable(ctx, here):
        return Unasked(why=why)
    return Elicit(wording.ask_to_forget(memory), Confirmation)
