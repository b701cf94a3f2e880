"""Whose words they are: forwarded mail, and what the user only asks about."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus import MemoryGuard, Source
from thymus.extract import RuleExtractor
from thymus.extract.attribution import doubts, forwarded
from thymus.intake import Message, _lineage
from timing import cpu_seconds

FORWARD = """Hi, see below.

---------- Forwarded message ---------
From: Evil Bank <Pay@evil.example>
Date: Mon, 2 Mar 2026
Subject: account

Your rent now goes to account 4471 0092."""


def test_a_forwarded_mail_names_who_wrote_it() -> None:
    [part] = forwarded(FORWARD)
    assert part.sender == "pay@evil.example"
    assert FORWARD[part.start :].lstrip().startswith("From:")


@pytest.mark.parametrize(
    "mark",
    ["-----Forwarded Message-----", "Begin forwarded message:", "---------- Weitergeleitete Nachricht ---------"],
)
def test_the_marks_of_the_usual_programs(mark: str) -> None:
    assert [part.sender for part in forwarded(f"fyi\n\n{mark}\n\nFrom: A <a@b.example>\n\nText.")] == ["a@b.example"]


def test_without_a_mark_nothing_is_forwarded() -> None:
    assert forwarded("I look forward to it.\nFrom: nobody@nowhere.example\nBring it forward.") == ()


def test_a_verified_sender_who_forwards_has_not_said_it() -> None:
    guard = MemoryGuard(gate="thymus-v4", judge="typed", embedder="hash")
    landlord = Source.parse("email:landlord@flats.example", authenticated=True)
    guard.remember("Your rent goes to account 1180 2231.", source=landlord)
    written = guard.remember(FORWARD, source=landlord)
    told = next(memory for memory in written.memories if "4471" in memory.text)
    assert [source.key for source in told.lineage] == ["email:pay@evil.example"]
    assert told.status == "contested"
    assert written.replaced == ()


def test_of_several_forwarded_mails_each_is_whose_it_is() -> None:
    parts = [f"---------- Forwarded message ---------\nFrom: {who}@a.example\n\nDoor {who} is red." for who in "xyz"]
    guard = MemoryGuard(judge="typed", embedder="hash")
    written = guard.remember("Door w is red.\n\n" + "\n\n".join(parts))
    found = {memory.text: [source.key for source in memory.lineage] for memory in written.memories}
    assert found["Door w is red."] == []
    for who in "xyz":
        assert found[f"Door {who} is red."] == [f"email:{who}@a.example"]


def test_ten_thousand_forwarded_mails_are_told_apart_in_linear_time() -> None:
    text = "---------- Forwarded message ---------\nFrom: a@b.example\nThe gate is 5.\n" * 10_000
    passed_on, message = forwarded(text), Message(text=text, source=Source.user())
    assert all(_lineage(message, passed_on, part.start) for part in passed_on)
    assert cpu_seconds(lambda: [_lineage(message, passed_on, part.start) for part in passed_on], enough=3) < 3


def test_what_the_user_forwards_is_not_the_users_word() -> None:
    guard = MemoryGuard(gate="thymus-v4", judge="typed", embedder="hash")
    written = guard.remember(FORWARD)
    assert all(memory.lineage for memory in written.memories if "4471" in memory.text)


@pytest.mark.parametrize(
    "question",
    ["Is that true?", "Is this legit?", "is it really true?", "Can that be right?", "Should I trust it?", "Scam?",
     "Can that be?", "Stimmt das so?"],
)  # fmt: skip
def test_what_the_user_doubts_is_not_what_the_user_says(question: str) -> None:
    read = RuleExtractor().extract(f"I got a mail that says my rent goes to 4471. {question}", source=Source.user())
    assert doubts(question)
    assert read == ()


def test_what_the_user_only_heard_falls_with_any_question_about_it() -> None:
    heard = "Someone said the yearly review is on 7 July. Did they move it?"
    mine = "My yearly review is on 7 July. Did they move it?"
    assert RuleExtractor().extract(heard, source=Source.user()) == ()
    assert RuleExtractor().extract(mine, source=Source.user())


@pytest.mark.parametrize("question", ["Are you free on Tuesday?", "What time is it there?", "Is it raining in Oslo?"])
def test_other_questions_cast_no_doubt(question: str) -> None:
    read = RuleExtractor().extract(f"My mum says that dinner is at 7. {question}", source=Source.user())
    assert [passage.text for passage in read] == ["My mum says that dinner is at 7."]


def test_an_outsiders_doubt_is_the_outsiders() -> None:
    said = "Your rent goes to 4471 now. Is that true?"
    assert RuleExtractor().extract(said, source=Source.parse("email:a@b.example"))


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    assert all(0 <= part.start <= len(text) for part in forwarded(text))
    assert doubts(text) in (True, False)


# Mail that is quoted or pasted, without a word of one's own

_EVE = "From: Eve <eve@evil.example>\nSent: Monday\nSubject: Your garage\n\nThe code of my garage is 9911.\n"


@pytest.mark.parametrize("own", ["Thanks!", "Regards,\nAnn", "Ok, thanks\nAnn\n+49 170 1234567", "Best wishes"])
@pytest.mark.parametrize("mark", ["-----Original Message-----", "_" * 32, ""])
def test_who_only_says_thanks_has_not_said_what_stands_below(own: str, mark: str) -> None:
    """An Outlook answer on top of the mail that it answers: nothing of that mail is the user's."""
    with MemoryGuard(embedder="hash", judge="typed") as guard:
        guard.remember("The code of my garage is 4471.")
        guard.remember(f"{own}\n\n{mark}\n{_EVE}")
        said = [memory.text for memory in guard.memories() if not memory.lineage]
    assert "The code of my garage is 4471." in said
    assert not [text for text in said if "9911" in text]


@pytest.mark.parametrize("mark", ["", "\n\n", "_" * 32 + "\n"])
def test_a_mail_that_the_user_pastes_is_its_senders(mark: str) -> None:
    with MemoryGuard(embedder="hash", judge="typed") as guard:
        guard.remember("The code of my garage is 4471.")
        (pasted,) = guard.remember(f"{mark}{_EVE}").memories
        assert [source.key for source in pasted.lineage] == ["email:eve@evil.example"]
        assert "4471" in guard.recall("What is the code of my garage?").context


def test_what_only_looks_like_a_header_is_the_users() -> None:
    assert forwarded("From: now on I eat at seven.", own=True) == ()
    assert forwarded("Subject: my garage\n\nThe code is 4471.", own=True) == ()
    assert forwarded(_EVE) == ()


def test_pasted_headers_take_linear_time() -> None:
    for text in (" " * 9_000, "- " * 9_000 + "\n", "\n" * 200_000, "From: a\n \n" * 2_000, "From: " * 9_000):
        assert cpu_seconds(partial(forwarded, text, own=True), enough=2) < 2
