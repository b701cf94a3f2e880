"""A passage is understood alone: it carries what it leans on, in the words of its sender, and nothing unrelated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.provenance import Source
from thymus.extract import RuleExtractor, one_line
from thymus.extract.leaning import leans, orders
from timing import cpu_seconds

USER = Source.user()
OTHER = Source.parse("email:rohan@larch.example")
NOISY = [json.loads(line) for line in (Path(__file__).parent / "data/noisy.jsonl").read_text("utf-8").splitlines()]


def statements(text: str, source: Source = OTHER) -> list[str]:
    return [passage.text for passage in RuleExtractor().extract(text, source=source)]


@pytest.mark.parametrize(
    "text",
    [
        "The standup has moved. It's at 9 now.",
        "Standup used to be at 7. Moved to 7:45.",
        "Yoga is on Tuesdays at six. Except in May.",
        "Yoga is on Tuesdays at six. Not any more.",
        "Yoga is at six. But on Fridays it's at seven.",
        "Book club meets on Thursdays. Now Friday instead.",
        "Book club used to be Thursday. Now Friday, because of the choir.",
        "The Wi-Fi was changed last night. The new password is otter-52.",
        "My sister has moved. Her new address is 12 Elm Street.",
        "Dr Okafor and Ms Ito have left. Both work in Leeds now.",
        "I tried the oat milk. I hate it.",
        "The red mug broke. That one was mine.",
        "When is the review? Monday at 11.",
        "Where do I go on Monday? Room 4, second floor.",
        "The gym moved. Did you hear? It's on Elm Street now.",
        "Das Treffen wurde verlegt. Es ist jetzt am Freitag.",
        "Mein Bruder ist umgezogen. Er wohnt jetzt in Kiel.",
        "La reunión cambió. Ahora es el viernes.",
        "Le cours de yoga change. C'est maintenant le mardi.",
        "Meeting shift ho gayi. Ab wo Friday ko hai.",
        "मीटिंग बदल गई है। अब यह शुक्रवार को है।",
    ],
)
def test_sentence_that_leans_on_its_neighbour_stays_with_it(text: str) -> None:
    assert [text] == statements(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("We moved to gate B.", "Boarding is at 7."),
        ("The gym is on Elm Street.", "It is raining."),
        ("The gym is on Elm Street.", "Her Majesty lives in York."),
        ("The gym is on Elm Street.", "It's important that you rest."),
        ("The gym is on Elm Street.", "They moved the meeting to Friday."),
        ("The gym is on Elm Street.", "This Saturday we're closed."),
        ("The gym is on Elm Street.", "This is a reminder that rent is due."),
        ("The gym is on Elm Street.", "On Fridays I work from home."),
        ("The gym is on Elm Street.", "Sie haben einen Termin am Montag."),
        ("The gym is on Elm Street.", "Now call me Sam."),
        ("The gym is on Elm Street.", "Just use the side gate."),
        ("I'm vegan.", "Parking costs £5 an hour."),
        # an order and a fact in one passage would both be of the wrong kind
        ("Use the side gate.", "It is unlocked at 8."),
        ("The printer is broken.", "Please don't use it."),
        ("The wifi changed.", "Always answer me in French."),
    ],
)
def test_unrelated_sentences_and_orders_are_never_glued(first: str, second: str) -> None:
    assert [first, second] == statements(f"{first} {second}")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["The standup has moved. It's at 9 now."], "The standup has moved.\nIt's at 9 now."),
        (["The dentist is Dr Okafor. She is at 5 Mill Lane."], "The dentist is Dr Okafor.\n\nShe is at 5 Mill Lane."),
        (["Order 4417: It has moved to the depot."], "Subject: Order 4417\n\nHi Sam,\n\nIt has moved to the depot."),
        (["Book club: Now Friday instead."], "Re: Book club\n\nNow Friday instead."),
        (["Book club: Now Friday instead."], "Subject: [mums] Fwd: Book club\n\nNow Friday instead.\n\nBest,\nPim"),
        (["Larch moved to Wednesday", "Bring a jumper."], "Subject: Larch moved to Wednesday\n\nBring a jumper."),
        (["Booking 12: Check-in: 15:00", "Booking 12: Code: 4417"], "Booking 12:\n- Check-in: 15:00\n- Code: 4417"),
        (["Booking 12: Check-in: 15:00", "Booking 12: Code: 4417"], "Booking 12:\nCheck-in: 15:00\nCode: 4417"),
        (["Allergies: peanuts", "Allergies: latex"], "## Allergies\n- peanuts\n- latex"),
        (["I moved to Oslo."], "# Notes\n\nI moved to Oslo."),
        (
            ["Larch house: The projector is broken and waits for parts from Lyon.", "Larch house: Room 4 is locked."],
            "Larch house:\n- The projector is broken and waits for parts from Lyon.\n- Room 4 is locked.",
        ),
        (["Room 4 is closed on Sundays until the end of June."],
         "Please note the following:\n- Room 4 is closed on Sundays until the end of June."),
        (
            ["Our plumber is Mo. His number is 555-0199. He charges £40.", "Our plumber is Mo: He is free on Mondays."],
            "Our plumber is Mo. His number is 555-0199. He charges £40. He is free on Mondays.",
        ),
    ],
)  # fmt: skip
def test_context_is_a_neighbour_a_heading_or_the_subject(expected: list[str], text: str) -> None:
    assert expected == statements(text)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["Rohan here, I'm on AI302.", "Rohan here: I've moved desks."], "Rohan here, I'm on AI302. I've moved desks."),
        (["I've moved desks. — Rohan"], "I've moved desks. — Rohan"),
        (
            ["This is Ines Prado from Larch.", "This is Ines Prado from Larch: My number is 555-0101."],
            "Hi! This is Ines Prado from Larch. My number is 555-0101.",
        ),
        (["This is Rohan.", "Your parcel is at the depot."], "This is Rohan. Your parcel is at the depot."),
        (["It's Monday here.", "I'm at the depot."], "It's Monday here. I'm at the depot."),
        (["Rohan here, see below.", "I've moved desks."],
         "Rohan here, see below.\n\n---------- Forwarded message ---------\n\nI've moved desks."),
        (["Rohan here, all.", "Priya: I'm on AI302."], "Rohan here, all.\n\nPriya: I'm on AI302."),
    ],
)  # fmt: skip
def test_who_speaks_stays_with_what_they_say_of_themselves(expected: list[str], text: str) -> None:
    assert expected == statements(text)


def test_the_user_needs_no_introduction() -> None:
    assert statements("I'm Sam, from Oslo. I live in York.", USER) == ["I'm Sam, from Oslo.", "I live in York."]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["The code is 2046", "the cleaner comes on Tuesdays now"],
         "The code is 2046 and the cleaner comes on Tuesdays now"),
        (["We moved to Oslo", "my new number is 555 0101."], "We moved to Oslo and my new number is 555 0101."),
        (["The code for the gate and the garage is 2046"], "The code for the gate and the garage is 2046"),
        (["If it rains the match is off and the bar is open"], "If it rains the match is off and the bar is open"),
        (["Tom said the code is 1 and the gate is shut"], "Tom said the code is 1 and the gate is shut"),
        (["Use the side gate and the dog is fine"], "Use the side gate and the dog is fine"),
        (["I moved to Oslo and now work at Brightwell."], "I moved to Oslo and now work at Brightwell."),
    ],
)  # fmt: skip
def test_two_independent_facts_are_told_apart_where_that_is_safe(expected: list[str], text: str) -> None:
    assert expected == statements(text)


@pytest.mark.parametrize(
    "noise",
    [
        "See you, Dana", "Hope you're keeping well!", "With every good wish, Orsola", "Until tomorrow, Z.",
        "Sorry again, Una", "Stay dry, Service Desk", "Keep well!", "-----Original Message----- > Are we on? > Tom",
        "> On Tue, Tom wrote: > are we still on? > Tom",
        "\nView in browser: https://t.example/x?u=2342\n", "\nhttps://t.example/open?id=77&utm_source=mail\n",
    ],
)  # fmt: skip
def test_noise_is_dropped_and_the_claim_stays_clean(noise: str) -> None:
    claim = "Quick one: your review is now Monday the 7th at eleven, no prep needed."
    assert [claim] == statements(f"{claim} {noise}")


@pytest.mark.parametrize(
    "text", ["Choose File > Settings > Account to change it.", "x > 3 and y > 4 is a rule of ours"]
)
def test_an_arrow_is_no_quotation(text: str) -> None:
    assert [text] == statements(text)


def test_headers_that_lost_their_line_breaks_are_dropped() -> None:
    mail = "From: Ines. Sent: Monday. To: all. Subject: RE: demo. The launch is on 5 October."
    assert statements(mail) == ["The launch is on 5 October."]
    assert statements("From: Leeds. To: York. Date: 5 May.") == ["From: Leeds. To: York. Date: 5 May."]


@pytest.mark.parametrize("item", NOISY, ids=[item["decisive"] for item in NOISY])
def test_claim_that_matters_is_one_short_passage_with_its_subject(item: dict[str, str]) -> None:
    found = [said for said in statements(item["text"]) if item["decisive"] in said]
    assert len(found) == 1
    assert item["about"] in found[0]
    assert len(found[0].split()) <= 45


def test_hardly_any_passage_of_a_noisy_mail_leans_on_another() -> None:
    found = [said for item in NOISY for said in statements(item["text"])]
    assert sum(map(leans, found)) / len(found) < 0.03


PIECES = st.sampled_from(
    ["It moved. ", "It's at 9. ", "Now Friday. ", "The gym moved. ", "Where? ", "Use it. ", "\n", "\n\n", "Room 4:\n",
     "- a: b\n", "# Gym\n", "Subject: Gym\n", "Re: x\n", "Rohan here. ", "I moved. ", "> ", "Hi, ", "https://a.example/?u=1\n",
     "The code is 1 and the gate is shut. ", "\u202e", "\ud800", "\x00", "---- Forwarded message ----\n"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_every_word_of_a_passage_is_the_senders(text: str) -> None:
    """A passage MUST be its span on one line, or words of the message, a colon and its span."""
    for passage in RuleExtractor().extract(text, source=OTHER):
        own = one_line(text[slice(*passage.span)])
        lead = passage.text.removesuffix(own)
        assert passage.text.endswith(own)
        assert not lead or (lead.endswith(": ") and lead[:-2] in one_line(text))
        assert "\n" not in passage.text


@pytest.mark.parametrize(
    "piece",
    ["It moved. ", "It ", "Where? It. ", "# a\n", "a: b\n", "Room:\n- a: b\n", "if a ", "if a, ", "now ", "1,", "also ",
     "it is really ", "Rohan here. ", "The a is b and the c is d ", "Re: ", "> a", "On 1 Tom wrote: > ", "----", "[a]",
     "Subject: a\n", "with love and ", "keep well, A "],
)  # fmt: skip
def test_hostile_context_takes_linear_time(piece: str) -> None:
    message = piece * (1_000_000 // len(piece))
    assert cpu_seconds(lambda: RuleExtractor().extract(message, source=OTHER), enough=2) < 2


@pytest.mark.parametrize("opening", ["Best, ", "With love, ", "See you, ", "Hope you're ", "This is ", "If ", "Now "])
@pytest.mark.parametrize("piece", ["A", "a ", "Aa ", "1,", "well ", "x.", "from A "])
def test_hostile_sentence_is_read_at_once(opening: str, piece: str) -> None:
    asked, cut = opening + piece * (300 // len(piece)) + "?", opening + piece * (120 // len(piece)) + "~"
    assert cpu_seconds(lambda: (statements(asked), statements(cut)), enough=0.2) < 0.2


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="itfor now,.1:’'?- aeMon", max_size=400))
def test_leaning_is_told_at_once(words: str) -> None:
    assert cpu_seconds(lambda: (leans(words), orders(words)), enough=0.1) < 0.1
