"""The REST API, under ``/v1``: the guard's methods over HTTP, for the user that the token names.

Endpoints are plain functions, which run in worker threads: the guard computes, and nothing else waits for it.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from thymus.core.beliefs import SHOWN, Status
from thymus.web.callers import Here, OfOwner, OfReader, Role, verifying

LONGEST_TEXT: Final = 200_000
"""Characters of a message over HTTP; longer ones are for ``thymus ingest``."""
MOST: Final = 500
"""Records that one answer holds."""

OPEN_NOTES: Final = frozenset({"accept", "act", "gate", "memory", "over", "since"})
"""What of an act's note is nobody's words: the others name senders, who may call themselves anything."""

_BEARER: Final = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="Made with `thymus token new`. Browsers sign in at /login instead.",
)
router = APIRouter(prefix="/v1", dependencies=[Security(_BEARER)])


def _of_our_times(at: datetime) -> datetime:
    """Dates whose zone can be changed without leaving the calendar."""
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    if not 1900 <= at.year < 9999:
        raise ValueError("a date lies between 1900 and 9998")
    return at


When = Annotated[datetime, AfterValidator(_of_our_times)]
Name = Annotated[str, Field(max_length=100)]
SourceKey = Annotated[str, Field(min_length=1, max_length=1_100)]
Id = Annotated[str, Path(pattern=r"^m_[0-9a-f]{16}$", description="A memory's id.", examples=["m_0123456789abcdef"])]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many to give, newest first.")]


class Body(BaseModel):
    """What a client sends: nothing that is not known."""

    model_config = ConfigDict(extra="forbid")


class Message(Body):
    """Something that somebody said."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    source: SourceKey = Field("user", description="`user`, `email:a@b.example`, `tool:calendar` …")
    authenticated: bool | None = Field(None, description="Whether you verified that it is that identity.")
    observed_at: When | None = Field(None, description="When it was said; now, by default.")
    derived_from: list[SourceKey] = Field(default_factory=list, max_length=100)
    message_id: str | None = Field(None, max_length=1_000, description="The channel's own id: once is enough.")
    hold: bool = Field(False, description="Keep it from the model until the user settles it.")
    over: list[Name] = Field(default_factory=list, max_length=100, description="Memories that it takes the place of.")


class Question(Body):
    """Something that an agent is asked."""

    question: str = Field(min_length=1, max_length=10_000)
    k: int = Field(8, ge=1, le=50, description="How many memories the context may hold.")


class Settlement(Body):
    """What the user decided of a claim."""

    accept: bool
    over: list[Name] = Field(default_factory=list, max_length=100, description="Memories that it takes the place of.")
    dry_run: bool = False


class Revocation(Body):
    """A source that is to count as if it had never spoken."""

    source: SourceKey
    since: When | None = None
    dry_run: bool = False


class Call(Body):
    """A call of a tool that an agent is about to make."""

    tool: str = Field(min_length=1, max_length=300)
    args: dict[str, Any] = Field(default_factory=dict)
    said: list[Annotated[str, Field(max_length=10_000)]] = Field(default_factory=list, max_length=100)


@router.post(
    "/memories",
    status_code=201,
    tags=["memory"],
    summary="Remember what somebody said",
    responses={200: {"description": "Nothing new was stored."}},
)
def remember(message: Message, here: OfOwner, request: Request, response: Response) -> dict[str, Any]:
    """Learn from a message. 200 instead of 201 where nothing new was stored."""
    known = message.model_dump(exclude={"text"})
    written = here.guard.remember(message.text, **known)
    request.app.state.metrics.written(written)
    if not written.memories or written.reasons == ("already-known",):
        response.status_code = 200
    return written.to_dict()


@router.post("/recall", tags=["memory"], summary="What bears on a question")
def recall(asked: Question, here: OfOwner) -> dict[str, Any]:
    """The context for the model, the notice for the user, and the records behind both."""
    return here.guard.recall(asked.question, k=asked.k).to_dict()


@router.get("/memories", tags=["memory"], summary="Memories, newest first")
def memories(here: OfReader, status: Status | None = None, limit: Limit = 100) -> dict[str, Any]:
    """The memories of a status; without one, those of every status."""
    if status is not None and status not in SHOWN:
        return {"memories": []}
    return {"memories": [memory.to_dict() for memory in here.guard.memories(status=status, limit=limit)]}


@router.get("/memories/{memory_id}", tags=["memory"], summary="One memory")
def memory(memory_id: Id, here: OfReader) -> dict[str, Any]:
    """One memory, and why it stands as it does."""
    found = here.guard.explain(memory_id)
    return found.memory.to_dict() | {"because": list(found.lines)}


@router.get("/memories/{memory_id}/history", tags=["memory"], summary="What became of a memory")
def history(memory_id: Id, here: OfReader) -> dict[str, Any]:
    """Every act that changed it, oldest first."""
    return {"acts": [event.to_dict() for event in here.guard.history(memory_id)]}


@router.delete("/memories/{memory_id}", tags=["memory"], summary="Erase a memory for good")
def forget(memory_id: Id, here: OfOwner) -> dict[str, Any]:
    """Its text is gone from everything that is kept, an empty ledger entry stays. Not undoable."""
    return here.guard.forget(memory_id).to_dict()


@router.get("/inbox", tags=["inbox"], summary="Claims that wait for the user")
def inbox(here: OfReader, limit: Limit = 100) -> dict[str, Any]:
    """Contested and quarantined claims, newest first."""
    return {"memories": [claim.to_dict() for claim in here.guard.inbox(limit=limit)]}


@router.post("/memories/{memory_id}/resolve", tags=["inbox"], summary="Settle a claim as the user decided")
def resolve(memory_id: Id, decision: Settlement, here: OfReader) -> dict[str, Any]:
    """Accepting makes it active and supersedes what it contradicts; declining rejects it."""
    done = here.guard.resolve(memory_id, decision.accept, over=decision.over, dry_run=decision.dry_run)
    return done.to_dict()


@router.get("/sources", tags=["sources"], summary="Who said what, and what rests on it")
def sources(here: OfReader) -> dict[str, Any]:
    """One record a source, by the number of its memories."""
    return {"sources": [record.to_dict() for record in here.guard.sources()[:MOST]]}


@router.post("/sources/revoke", tags=["sources"], summary="As if a source had never spoken")
def revoke(what: Revocation, here: OfReader) -> dict[str, Any]:
    """What it said is retracted, and what it had held back or superseded stands again."""
    return here.guard.revoke(what.source, since=what.since, dry_run=what.dry_run).to_dict()


@router.post("/acts/{seq}/undo", tags=["inbox"], summary="As if an act had not been done")
def undo(seq: Annotated[int, Path(ge=1, le=2**53)], here: OfReader) -> dict[str, Any]:
    """A resolve, revoke, remember or undo."""
    return here.guard.undo(seq).to_dict()


@router.post("/check", tags=["memory"], summary="May an agent make this call?")
def check(call: Call, here: OfOwner) -> dict[str, Any]:
    """Which memories the values in the arguments rest on: allow, ask or deny, and why."""
    return here.guard.check_action(call.tool, call.args, said=call.said).to_dict()


@router.get("/ledger", tags=["accounts"], summary="The acts, oldest first")
def ledger(here: Here, after: Annotated[int, Query(ge=0, le=2**53)] = 0, limit: Limit = 100) -> dict[str, Any]:
    """The rows of the hash-chained ledger: what was done and which statuses changed, without any message's text.

    An auditor is not told the names of senders, which are text of theirs.
    """
    found = here.guard.ledger(after=after, limit=limit)
    acts = [entry.to_dict() for entry in found]
    if here.role is Role.AUDITOR:
        for act in acts:
            act["note"] = {name: said for name, said in act["note"].items() if name in OPEN_NOTES}
    return {"acts": acts, "next": found[-1].seq if len(found) == limit else None}


@router.get("/counts", tags=["accounts"], summary="How many memories stand how")
def counts(here: Here) -> dict[str, Any]:
    """The number of this user's memories at each status."""
    total: Counter[Status] = Counter()
    for record in here.guard.sources():
        total.update(record.counts)
    return {"memories": {status.value: total[status] for status in Status if status in SHOWN}}


@router.get("/verify", tags=["accounts"], summary="Is the store as it was written?")
def verify(here: Here, everyone: bool = False) -> dict[str, Any]:
    """Read all that is kept of this user, or (for the user who runs the service) of everyone, against the ledger."""
    with verifying(here, everyone=everyone):
        found = here.guard.verify(own=not everyone)
    return {
        "ok": found.ok,
        "entries": found.entries,
        "memories": found.beliefs,
        "problems": list(found.problems[:MOST]),
    }


@router.get("/export", tags=["accounts"], summary="Everything that is kept")
def export(here: OfOwner) -> dict[str, Any]:
    """In JSON's types; large memories are better exported on the command line."""
    return here.guard.export()


@router.get("/me", tags=["accounts"], summary="Whose token this is")
def me(here: Here) -> dict[str, Any]:
    """The user and role that the token names."""
    return {"tenant": here.tenant, "user": here.user, "role": here.role, "token": here.token_id}
