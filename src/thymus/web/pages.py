"""The pages: the inbox, memories, sources and the ledger, made on the server.

They work without scripts. A page that changes something is a form; after it the browser is sent back with the number of
the act, from which the next page says what was done: no words of a message ever stand in an address.
"""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from thymus.core.beliefs import HELD_BACK, SHOWN, Act, Cause, Status
from thymus.core.claims import Kind
from thymus.core.provenance import Source
from thymus.core.quoting import one_line
from thymus.errors import SourceError
from thymus.web import views
from thymus.web.callers import READERS, Caller, Role, check_csrf, find_caller, verifying
from thymus.web.problems import Problem
from thymus.web.reading import Desk

if TYPE_CHECKING:
    from thymus.records import Event

router = APIRouter()

CLAIMS: Final = 15
"""Held-back claims on a page."""
ROWS: Final = 50
"""Memories, sources or acts on a page."""
COSTS: Final = 20
"""Memories named of those that a block changes."""
RECENT_S: Final = 900
"""Seconds for which a page says what was just done, and offers to undo it."""
_NOT_FOR_PEOPLE: Final = ("/v1", "/mcp", "/healthz", "/metrics", "/openapi")
_LONGEST_SOURCE: Final = 1_100

_templates: Final = Environment(
    loader=FileSystemLoader(FilePath(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(
    words=views.words_of, line=views.line_of, sentence=views.sentence, sender=views.Sender.of, ago=views.ago
)
_templates.globals.update(Kind=Kind, OUTCOMES=views.OUTCOMES)
_templates.globals["the"] = _templates.get_template("macros.html").module


# Who is there


async def visitor(request: Request) -> Caller:
    """Who looks at a page.

    :raises Problem: 303, to the form in which one signs in.
    """
    found = find_caller(request)
    if found is None:
        raise Problem(303, "Not signed in", "Sign in first.", {"location": "/login"})
    request.state.caller = found
    return found


Visitor = Annotated[Caller, Depends(visitor)]


def _of_roles(*roles: Role) -> Any:
    async def checked(here: Visitor) -> Caller:
        if here.role not in roles:
            raise Problem(403, "Not allowed", f"This takes a token of the role {' or '.join(roles)}.")
        return here

    return checked


async def sent(request: Request, here: Visitor, csrf: Annotated[str, Form(max_length=200)] = "") -> Caller:
    """Who sent a form, if it was sent from one of these pages."""
    if here.by_cookie:
        check_csrf(here, request, csrf)
    return here


Reader = Annotated[Caller, Depends(_of_roles(*READERS))]
Owner = Annotated[Caller, Depends(_of_roles(Role.OWNER))]
FROM_HERE: Final = [Depends(sent)]
"""What every form needs beside a role."""

Id = Annotated[str, Path(pattern=r"^m_[0-9a-f]{16}$")]
Seq = Annotated[int, Path(ge=1, le=2**53)]
Before = Annotated[int, Query(ge=0, le=2**53)]
Given = Annotated[str, Query(max_length=_LONGEST_SOURCE)]
Flash = Annotated[int, Query(ge=0, le=2**53)]
Told = Annotated[str, Query(max_length=20)]
Back = Annotated[str, Form(max_length=20)]

# The inbox


@router.get("/")
def inbox(here: Visitor, before: Before = 0, act: Flash = 0, done: Told = "") -> Response:
    """Claims that wait for the user, grouped by what they contradict."""
    if here.role not in READERS:
        return RedirectResponse("/ledger", 303)
    desk = Desk(here.guard)
    groups, older = desk.inbox(before, CLAIMS)
    return _page("inbox.html", here, desk, groups=groups, older=older, first=not before, flash=_flash(desk, act, done))


@router.post("/inbox/{memory_id}/accept", dependencies=FROM_HERE)
def accept(
    memory_id: Id, here: Reader, replaces: Annotated[str, Form(max_length=20_000)] = "", back: Back = ""
) -> Response:
    """Settle a claim in its favour, if that replaces what the page said it would."""
    if sorted(Desk(here.guard).replaced_by(memory_id)) != sorted(replaces.split()):
        return _back(back, memory_id, done="changed")
    return _back(back, memory_id, here.guard.resolve(memory_id, accept=True))


@router.post("/inbox/{memory_id}/reject", dependencies=FROM_HERE)
def reject(memory_id: Id, here: Reader, back: Back = "") -> Response:
    """Settle a claim against it."""
    return _back(back, memory_id, here.guard.resolve(memory_id, accept=False))


@router.post("/acts/{seq}/undo", dependencies=FROM_HERE)
def undo(seq: Seq, here: Reader, back: Back = "") -> Response:
    """As if a decision of the user had not been made."""
    done = Desk(here.guard).act(seq)
    if done is None or done.act not in views.UNDOABLE:
        raise Problem(422, "Not usable", "Only a decision, a block or an undo can be undone here.")
    return _back(back, "", here.guard.undo(seq))


# Memories


@router.get("/memories")
def memories(
    here: Reader,
    q: Annotated[str, Query(max_length=500)] = "",
    status: Annotated[str, Query(max_length=20)] = "active",
    kind: Annotated[str, Query(max_length=20)] = "",
    source: Given = "",
    before: Before = 0,
    act: Flash = 0,
    done: Told = "",
) -> Response:
    """Memories by status, kind and source, or by words and meaning."""
    desk = Desk(here.guard)
    statuses = frozenset({Status(status)}) & SHOWN if status in set(SHOWN) else SHOWN
    wanted = Kind(kind) if kind in set(Kind) else None
    asked, of = one_line(q), source.strip().lower()
    near, older = [], None
    if asked:
        found, near = (
            [memory for memory in some if wanted in (None, memory.kind) and _by(memory, of)]
            for some in desk.search(asked, statuses)
        )
    else:
        page = desk.listed(statuses, kind=wanted, source=of, before=before, limit=ROWS)
        found, older = page.memories, page.before
    filters: dict[str, Any] = {"q": q, "status": status, "kind": kind, "source": source}
    more = urlencode({**filters, "before": older}) if older else ""
    return _page(
        "memories.html",
        here,
        desk,
        found=found,
        near=near,
        asked=asked,
        more=more,
        first=not before,
        flash=_flash(desk, act, done),
        **{f"chosen_{name}": value for name, value in filters.items()},
    )


def _by(memory: Any, source: str) -> bool:
    return not source or any(source in speaker.key for speaker in (memory.source, *memory.lineage))


@router.get("/memories/{memory_id}")
def memory(memory_id: Id, here: Reader, act: Flash = 0, done: Told = "") -> Response:
    """One memory: who said it, what became of it, and why."""
    desk = Desk(here.guard)
    belief = desk.belief(memory_id)
    shown, told = here.guard.get(memory_id), here.guard.explain(memory_id)
    history = here.guard.history(memory_id)
    undone = desk.chronicle().undone
    acts = [views.done(event, here.guard.policy, undone=undone) for event in history]
    others = desk.many([*shown.contradicts[:ROWS], *(id_ for one in acts for move in one.changes for id_ in move.by)])
    replaces = [others.get(id_) or here.guard.get(id_) for id_ in desk.replaced_by(memory_id)]
    return _page(
        "memory.html",
        here,
        desk,
        memory=shown,
        erased=belief.erased,
        held=shown.status in HELD_BACK,
        acts=acts,
        others=others,
        lines=told.lines,
        message=views.excerpt(desk.message(belief), belief.claim.span, views.LONGEST_TEXT),
        warnings=views.resemblance(belief.claim, desk.resembled(belief)) if not belief.erased else (),
        replaces=[(one.id, views.sentence(one.text)) for one in replaces],
        blockable=views.blockable(map(views.Sender.of, belief.claim.speakers)),
        since=desk.since(belief),
        flash=_flash(desk, act, done),
    )


@router.get("/memories/{memory_id}/forget")
def confirm_forget(memory_id: Id, here: Owner) -> Response:
    """What erasing would take away, and a button."""
    return _page("forget.html", here, Desk(here.guard), memory=here.guard.get(memory_id))


@router.post("/memories/{memory_id}/forget", dependencies=FROM_HERE)
def forget(memory_id: Id, here: Owner) -> Response:
    """Erase a memory for good."""
    return _back("memory", memory_id, here.guard.forget(memory_id))


# Sources


@router.get("/sources")
def sources(
    here: Reader, q: Given = "", page: Annotated[int, Query(ge=0, le=10_000)] = 0, act: Flash = 0, done: Told = ""
) -> Response:
    """Who said how much, how that stands, and whom they could be taken for."""
    desk = Desk(here.guard)
    kept = desk.chronicle()
    asked = q.strip().lower()
    voices = [voice for voice in kept.voices if asked in f"{voice.source.key} {voice.source.name}".lower()]
    voices.sort(key=lambda voice: (-sum(voice.counts.values()), voice.first))
    rows = [
        {
            "sender": views.Sender.of(voice.source),
            "since": voice.since,
            "until": voice.until,
            "counts": [
                (status.value, voice.counts[status]) for status in Status if status in SHOWN & set(voice.counts)
            ],
            "resembles": []
            if voice.source.names_user
            else [views.Sender.of(one) for one in desk.resembling(voice.source)[:3]],
        }
        for voice in voices[page * ROWS : (page + 1) * ROWS]
    ]
    blocked = [(event, views.title_of(event)) for event in kept.blocked[:ROWS]]
    more = urlencode({"q": q, "page": page + 1}) if len(voices) > (page + 1) * ROWS else ""
    return _page(
        "sources.html",
        here,
        desk,
        rows=rows,
        blocked=blocked,
        asked=asked,
        chosen_q=q,
        number=len(voices),
        more=more,
        flash=_flash(desk, act, done),
    )


@router.get("/sources/block")
def cost(here: Reader, source: Given = "", changed: bool = False) -> Response:
    """What blocking a source would change, and a button. The history is told again, so this may take a moment."""
    desk = Desk(here.guard)
    given = _source(here, source)
    event = here.guard.revoke(given, dry_run=True)
    named = [change for change in event.changes if change.after in SHOWN or change.before in SHOWN]
    retracted = [change for change in named if change.cause is Cause.RETRACT]
    others = [change for change in named if change.cause is not Cause.RETRACT]
    told = desk.many(change.belief for change in (*retracted[:COSTS], *others[:COSTS]))
    return _page(
        "block.html",
        here,
        desk,
        sender=views.Sender.of(given),
        retracted=retracted,
        others=others,
        most=COSTS,
        told=told,
        expected=len(event.changes),
        changed=changed,
    )


@router.post("/sources/block", dependencies=FROM_HERE)
def block(
    here: Reader,
    source: Annotated[str, Form(max_length=_LONGEST_SOURCE)] = "",
    expected: Annotated[int, Form(ge=0, le=2**53)] = 0,
) -> Response:
    """As if a source had never spoken, if that changes as much as the page said it would."""
    given = _source(here, source)
    event = here.guard.revoke(given, confirm=lambda proposed: len(proposed.changes) == expected)
    if not event.seq and event.changes:
        return RedirectResponse(f"/sources/block?{urlencode({'source': given.key, 'changed': 1})}", 303)
    return _back("sources", "", event)


def _source(here: Caller, given: str) -> Source:
    """The source of a form or address.

    :raises SourceError: where it names none, or the user.
    """
    found = Source.parse(given, user_id=here.user)
    if found.names_user:
        raise SourceError("you cannot block yourself: erase one of your own memories on its page")
    return found


# The ledger


@router.get("/ledger")
def ledger(here: Visitor, before: Before = 0, act: Flash = 0, done: Told = "") -> Response:
    """The acts, newest first, and the decisions of a month."""
    return _ledger(here, before, _flash(Desk(here.guard), act, done) if here.role in READERS else None)


@router.post("/ledger/verify", dependencies=FROM_HERE)
def verify(here: Visitor) -> Response:
    """Read all that is kept of this user against the ledger."""
    with verifying(here):
        fits = here.guard.verify(own=True).ok
    return _ledger(here, 0, None, fits=fits)


def _ledger(here: Caller, before: int, flash: dict[str, Any] | None, *, fits: bool | None = None) -> Response:
    desk = Desk(here.guard)
    kept, names = desk.chronicle(), here.role in READERS
    last = min(before - 1, kept.seen) if before else kept.seen
    first = max(0, last - ROWS)
    events = here.guard.ledger(after=first, limit=last - first) if last > first else []
    undone = kept.undone
    acts = [views.done(event, here.guard.policy, undone=undone, names=names) for event in reversed(events)]
    return _page(
        "ledger.html",
        here,
        desk,
        acts=acts,
        told=desk.many(move.id for one in acts for move in one.changes) if names else {},
        older=first + 1 if first else None,
        newest=not before,
        chart=views.chart(kept.days, desk.now().date()),
        fits=fits,
        flash=flash,
    )


# Parts of every page


_PLACES: Final = {
    "inbox.html": "inbox",
    "memories.html": "memories",
    "memory.html": "memories",
    "forget.html": "memories",
    "sources.html": "sources",
    "block.html": "sources",
    "ledger.html": "ledger",
}
"""The part of the site that a template belongs to."""


def _page(template: str, here: Caller, desk: Desk, *, status: int = 200, **known: Any) -> Response:
    kept = desk.chronicle()
    made = _templates.get_template(template).render(
        here=here,
        place=_PLACES[template],
        reads=here.role in READERS,
        owns=here.role is Role.OWNER,
        counts={status.value: kept.counts[status] for status in Status if status in SHOWN},
        waiting=kept.waiting,
        now=desk.now(),
        **{"flash": None, **known},
    )
    return HTMLResponse(made, status)


_TOLD: Final = {
    "nothing": "Nothing stands differently, so nothing was written.",
    "changed": "Something changed meanwhile: look again at what it would replace, and decide then.",
}


def _flash(desk: Desk, act: int, done: str) -> dict[str, Any] | None:
    """What was just done, as the ledger has it: an address that somebody made up says nothing that is not so."""
    if done in _TOLD:
        return {"says": _TOLD[done], "undo": None}
    event = desk.act(act)
    if event is None or event.act is Act.REMEMBER or (desk.now() - event.at).total_seconds() > RECENT_S:
        return None
    own = event.note.get("memory", "")
    named = desk.many([own]) if own else {}
    what = f" {views.sentence(named[own].text)}" if own in named and named[own].text else ""
    others = sum(change.belief != own and change.before in SHOWN for change in event.changes)
    after = f"; {others:,} other memor{'y' if others == 1 else 'ies'} changed" if others else ""
    undoable = event.act in views.UNDOABLE and event.seq not in desk.chronicle().undone
    return {"says": f"{views.title_of(event)}{what}{after}.", "undo": event.seq if undoable else None}


_RETURNS: Final = {"memory": "/memories/{}", "memories": "/memories", "sources": "/sources", "ledger": "/ledger"}


def _back(place: str, memory_id: str, event: Event | None = None, *, done: str = "nothing") -> Response:
    """To the page that a form was on."""
    to = _RETURNS.get(place, "/").format(memory_id)
    query = f"act={event.seq}" if event is not None and event.seq else f"done={done}"
    return RedirectResponse(f"{to}?{query}", 303)


def login_page(request: Request, *, failed: bool = False) -> Response:  # noqa: ARG001
    """The form in which a token is handed in."""
    return HTMLResponse(_templates.get_template("login.html").render(failed=failed), 401 if failed else 200)


async def problem_page(request: Request, problem: Problem) -> Response:  # noqa: ARG001
    """What went wrong, for people."""
    made = _templates.get_template("problem.html").render(problem=problem)
    return HTMLResponse(made, problem.status, dict(problem.headers))


def is_for_people(request: Request) -> bool:
    """Whether a person reads the answer in a browser."""
    return not request.url.path.startswith(_NOT_FOR_PEOPLE) and "text/html" in request.headers.get("accept", "")
