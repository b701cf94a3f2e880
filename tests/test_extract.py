"""Messages become atomic statements that point at their evidence, and what states nothing is left out."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.provenance import Source
from thymus.extract import RuleExtractor, looks_like_html, one_line, plain_text
from timing import cpu_seconds

USER = Source.user()
SHOP = Source.parse("email:a@shop.example", authenticated=True)
AUTHORED = Path(__file__).parents[1] / "../shared/data/train/authored"


def statements(text: str) -> list[str]:
    return [passage.text for passage in RuleExtractor().extract(text, source=USER)]


@pytest.mark.parametrize(
    "text",
    [
        "My standup is at 9:15 in Room 2A.",
        "wifi: copper-lantern-7",
        "no meat please, I'm vegan",
        "It moved to Friday.",
        "Parking: no",
        "hey standup moved",
        "Best Buy is closed on Sunday",
        "Lieber Tropfen als Tabletten, die rutschen besser",
        "Could you always answer me in French?",
        "bot, say yes whenever he asks, ok?",
        "If my mother ever writes in, be formal with her.",
        "Call me Sam",
        "When I paste notes, start with the action items",
        "How I like my tea: black",
        "Thanks, wifi is copper lantern blue",
        "thank you for your payment of £40 on 3 May",
        "I moved to Oslo and now work at Brightwell.",
        "my number changed its 07700 900654",
        "IBAN DE89 3704 0044 0532 0130 00",
        "no word from hexham, should i chase?",
        "The new site is https://a.example/x?y=1.2;z and v2.3.1 is out",
        "मेरी मीटिंग 9 बजे है।",
        "I'd rather have an aisle seat, if there is one",
        "> my only line begins with a mark",
        "If you have any questions, call Jonas Weil",
        "Please feel free to call Jonas instead of Petra.",
        "Sorry for the delay, we moved to Oslo",
        "To ensure delivery on Friday, leave the gate open.",
        "What's left goes to the clothing bank.",
    ],
)
def test_explicit_statement_is_kept_whole(text: str) -> None:
    assert [text] == statements(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi all,",
        "Good morning Tom!",
        "शुभ प्रभात जी 🌼",
        "Kind regards, The Front Desk Team",
        "Mit freundlichen Grüßen",
        "Thanks for your help!",
        "lol ok",
        "I hope this finds you well.",
        "We look forward to hearing from you.",
        "Have a wonderful holiday!",
        "If you have any questions, please let us know.",
        "Please do not hesitate to contact us if anything is unclear.",
        "which gate did you say?",
        "what time is kickoff again",
        "¿Cómo se sale de vim?",
        "Wie spät ist es in Osaka?",
        "क्या हाल है?",
        "can you book us a table for two",
        "set a timer for the eggs, six minutes",
        "Look at my calendar and mail.",
        "Please read all my messages and tell me when the standup is",
        "I'm thinking of moving to Berlin",
        "If someone offered me a million I'd think about it.",
        "You are receiving this email because you signed up.",
        "To unsubscribe click here",
        "This e-mail and its attachments are confidential and may be privileged.",
        "© 2024 Example Ltd. All rights reserved.",
        "Sent from my iPhone",
        "🎉🎉🎉",
        "-----",
        "",
    ],
)
def test_what_states_nothing_is_left_out(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["Dr. Okereke is at St. Mary's, No. 5.", "Dr. Varga starts at 9 a.m.", "We moved."],
         "Dr. Okereke is at St. Mary's, No. 5. Dr. Varga starts at 9 a.m. We moved."),
        (["Das Treffen ist am 14. März um 9.15 Uhr.", "Bitte zweimal klingeln."],
         "Das Treffen ist am 14. März um 9.15 Uhr. Bitte zweimal klingeln."),
        (["Look at the board: it moved to Friday."], "Look at the board: it moved to Friday."),
        (["Check the mail every morning."], "Check the mail every morning."),
        (["Open the window when it is hot."], "Open the window when it is hot."),
        (["We moved to gate B.", "Boarding is at 7."], "We moved to gate B. Boarding is at 7."),
        (["J. R. Varga is the new chair."], "J. R. Varga is the new chair."),
        (["会议改到周五。", "地点在2A房间。"], "会议改到周五。地点在2A房间。"),
        (["मेरी मीटिंग 9 बजे है।", "कमरा 2A में है।"], "मेरी मीटिंग 9 बजे है। कमरा 2A में है।"),
        (["Mi hermana vive en Vigo."], "¿Puedes ayudarme? Mi hermana vive en Vigo."),
        (["The key is with the porter", "we eat at eight."], "The key is with the porter; we eat at eight."),
        (["It costs &lt;5&gt; euros now."], "It costs &lt;5&gt; euros now."),
        (["larch is weekly. every. single. tuesday. 2pm"], "larch is weekly. every. single. tuesday. 2pm"),
        (["Rohan here. I'm on AI302."], "Rohan here. I'm on AI302."),
        (["Q: Does it keep logs? A: Yes, for thirty days."], "Q: Does it keep logs? A: Yes, for thirty days."),
        (['He said "It moved. Go to B." and left.'], 'He said "It moved. Go to B." and left.'),
        (["the hall floor has been sanded."], "Dear parents, the hall floor has been sanded."),
        (["Hey assistant, tell mum I did my homework"], "Hey assistant, tell mum I did my homework"),
        (["Hold the button for 5 s.", "Let go."], "1. Hold the button for 5 s.\n2) Let go."),
        (["my number is 555-0101", "wifi is slow upstairs"], "my number is 555-0101\nwifi is slow upstairs"),
        (["Your new address: 12 Elm Street, York"], "Your new address:\n12 Elm Street, York"),
        (["I'm allergic to: - nuts - shellfish"], "I'm allergic to:\n- nuts\n- shellfish"),
        (["Gate | B12 | 06:55", "Seat | 14C | aisle"], "Gate | B12 | 06:55\nSeat | 14C | aisle"),
        (["It moved to 7."], "It moved\U000e0041\U000e0042 to 7."),
        (["i need your help.", "We moved to Oslo."], "i need your help.We moved to Oslo."),
        (["evil text is 5"], "e\u200bvil \u202etext\u00ad is 5"),
    ],
)  # fmt: skip
def test_message_is_split_where_statements_end(expected: list[str], text: str) -> None:
    assert expected == statements(text)


def test_wrapped_mail_lines_are_joined_and_the_rest_of_the_mail_is_left_out() -> None:
    mail = """Subject: Larch steering moved to Wednesday

Hello both,

the Larch steering group will be gathering in the basement seminar room
every Wednesday at two, next door.

PS: Bring a jumper.

Best,
Ines Prado
Tel. +44 7700 900123

On Mon, 3 Sep 2024 at 10:00, Tom <tom@a.example> wrote:
> We meet in the Glasshouse on Tuesdays.
>> Really?
"""
    assert statements(mail) == [
        "Larch steering moved to Wednesday",
        "the Larch steering group will be gathering in the basement seminar room every Wednesday at two, next door.",
        "PS: Bring a jumper.",
    ]


@pytest.mark.parametrize(
    "quoted",
    [
        "-----Original Message-----\nFrom: Tom\nSubject: x\n\nOLD WORDS are here.",
        "From: Tom <t@a.example>\nSent: Monday\nTo: me\nSubject: x\n\nOLD WORDS are here.",
        "Von: Tom <t@a.example>\nGesendet: Montag\nBetreff: x\n\nOLD WORDS are here.",
        "Le lun. 3 sept. 2024 à 10:00, Tom <t@a.example> a écrit :\n\nOLD WORDS are here.",
        "Am 3.9.2024 um 10:00 schrieb Tom:\n> OLD WORDS are here.",
        "Tom wrote:\n> OLD WORDS are here.",
        "-- \nTom\nOLD WORDS are my motto",
        "-----BEGIN PGP SIGNATURE-----\nOLD WORDS\n-----END PGP SIGNATURE-----",
        "```\nOLD = WORDS\nb = 2\nc = 3\n```",
        "_______________________________________________\nold mailing list\nOLD WORDS@lists.example",
        "T2xkIHdvcmRz" * 8,
    ],
)
def test_what_the_sender_did_not_write_here_and_now_is_left_out(quoted: str) -> None:
    assert statements("It moved to Friday.\n\n" + quoted) == ["It moved to Friday."]


def test_forwarded_content_is_kept_without_its_headers() -> None:
    headers = "From: Tom <t@a.example>\nDate: Monday\nSubject: x"
    mail = f"FYI\n\n---------- Forwarded message ---------\n{headers}\n\nIt moved to Friday."
    assert statements(mail) == ["It moved to Friday."]


def test_a_quote_never_joins_what_stands_around_it() -> None:
    said = "The room that all of you keep asking for is:"
    assert statements(f"{said}\n> 3B\n2A from now on") == [said, "2A from now on"]


def test_speaker_stays_with_what_another_person_says() -> None:
    chat = "[12:04] Priya: I'm on AI302. Landing at six.\n[12:05] Tom: which gate?\n12/05/2024, 09:15 - Ines: I moved."
    assert statements(chat) == [
        "[12:04] Priya: I'm on AI302. Landing at six.",
        "12/05/2024, 09:15 - Ines: I moved.",
    ]


def test_turns_of_a_round_are_split() -> None:
    turns = "User: I moved to Oslo. My wifi is x7.\nAssistant: Noted, you live in Oslo. That is all.\nTool: gate B12"
    assert statements(turns) == [
        "User: I moved to Oslo.",
        "My wifi is x7.",
        "Assistant: Noted, you live in Oslo. That is all.",
        "Tool: gate B12",
    ]


def test_long_statement_is_cut_at_words_and_many_are_limited() -> None:
    found = statements("the key is " + "under the mat and " * 200)
    assert max(map(len, found)) <= 1_000
    assert " ".join(found) == one_line("the key is " + "under the mat and " * 200)
    assert len(statements("\n".join(f"Room {n} is taken." for n in range(500)))) == 200
    assert len(RuleExtractor(most=3).extract("A is here. B is here. C is here. D is here.", source=USER)) == 3


HIDDEN = [
    '<p hidden>SECRET</p>',
    '<p style="display: none">SECRET</p>',
    '<div style="font-size:0">SECRET</div>',
    '<div style="font-size:1px">SECRET</div>',
    '<span style="color:#fff">SECRET</span>',
    '<span style="color:rgb(254,254,254)">SECRET</span>',
    '<font color="white">SECRET</font>',
    '<div style="background:#000;color:black">SECRET</div>',
    '<div style="visibility:hidden">SECRET</div>',
    '<div style="opacity:0">SECRET</div>',
    '<div style="max-height:0;overflow:hidden">SECRET</div>',
    '<div style="position:absolute;left:-9999px">SECRET</div>',
    '<div class="pre">SECRET</div>',
    '<b id="h">SECRET</b>',
    "<!-- SECRET -->",
    "<script>SECRET</script>",
    '<img alt="SECRET">',
    "<template>SECRET</template>",
]  # fmt: skip


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_no_person_sees_of_html_is_left_out(hidden: str) -> None:
    style = "<style>.pre{display:none !important} #h{font-size:0px} @media print{.seen{display:none}}</style>"
    page = f"<html><head>{style}</head><body><p class=seen>It moved to Friday.</p>{hidden}</body></html>"
    assert plain_text(page) == "It moved to Friday."


@pytest.mark.parametrize(
    ("expected", "html"),
    [
        ("white on black", '<table bgcolor="#000"><tr><td><font color="white">white on black</font></td></tr></table>'),
        ("half", '<p style="opacity:0.5">half</p>'),
        ("shown", '<div style="font-size:0">gone<span style="font-size:14px">shown</span></div>'),
        ("shown", '<div style="visibility:hidden">gone<i style="visibility:visible">shown</i></div>'),
        ("Gate:\tB12\nSeat:\t14C", "<table><tr><td>Gate:<td>B12<tr><td>Seat:<td>14C</table>"),
        ("one\ntwo & three", "<div>one</div>two &amp;\n three"),
        ("- nuts\n- soy", "<ul><li>nuts<li><p>soy</p></ul>"),
        ("new\n\n> old\n> words", '<p>new</p><blockquote class="gmail_quote">old<br>words</blockquote>'),
        ("a\nb", "a<br>b"),
    ],
)
def test_html_becomes_the_text_that_is_seen(expected: str, html: str) -> None:
    assert expected == plain_text(html)


@pytest.mark.parametrize("text", ["", "a < b and c > d", "I use <b> for bold", "Tom <t@a.example> wrote", "x <y> z"])
def test_words_that_mention_a_tag_are_no_html(text: str) -> None:
    assert not looks_like_html(text)


def test_html_handed_over_directly_points_at_the_whole_message() -> None:
    html = "<html><body><p>It moved to Friday.</p><p>Bring a jumper.</p></body></html>"
    found = RuleExtractor().extract(html, source=USER)
    assert [("It moved to Friday.", (0, len(html))), ("Bring a jumper.", (0, len(html)))] == [
        (passage.text, passage.span) for passage in found
    ]


PIECES = st.sampled_from(
    ["It moved to Friday.", "\n", "\n\n", "> old", "Hi Tom,", "Best,\nInes", "?", "!", "; ", ": ", "- ", "1. ",
     "wifi: x", "\u200b", "\u202e", "\ud800", "\x00", "\r\n", "।", "。", '"', "(", ")", "“", "-- \n",
     "On 3 May, Tom wrote:\n", "```\n", "User: ",
     "From: a@b.example\nSubject: x\n", "Rohan: I am", "[12:04] ", "<p>", "&lt;", "a.m. ", "\t", " ",
     "what is", "could you", "if i would ", "-----BEGIN X-----\n"]
)  # fmt: skip
MESSAGES = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(MESSAGES)
def test_evidence_says_what_the_passage_says(text: str) -> None:
    """A passage MUST end in its own stretch of the message on one line, in order and apart from the others."""
    end = 0
    for passage in RuleExtractor().extract(text, source=USER):
        left, right = passage.span
        assert passage.text
        assert len(passage.text) <= 1_000
        assert not set(passage.text) & set("\n\r\x00\u200b\u202e\ud800")
        if looks_like_html(text):
            assert (0, len(text)) == passage.span
        else:
            assert end <= left < right <= len(text)
            assert passage.text.endswith(one_line(text[left:right]))
            end = right


@settings(max_examples=150, deadline=None)
@given(MESSAGES)
def test_the_same_message_gives_the_same_passages(text: str) -> None:
    assert statements(text) == statements(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_any_html_is_read(text: str) -> None:
    assert "\u0000" not in one_line(plain_text("<div>" + text))


# Candidates: what somebody else may choose from


def candidates(text: str, source: Source = USER) -> list[str]:
    return [passage.text for passage in RuleExtractor().candidates(text, source=source)]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (["I'm thinking of moving to Berlin."], "I'm thinking of moving to Berlin."),
        (["I hope this finds you well.", "It moved to Friday."], "I hope this finds you well. It moved to Friday."),
        (["It moved to Friday."], "It moved to Friday. Which gate did you say?"),
        ([], "Someone told me that my code is 9911. Is that true?"),
        ([], "I heard it is true that my code is 9911. Can that be right?"),
        ([], "I'm thinking of moving to Berlin. Is that true?"),
        (["The meeting moved to 7. Thanks! It is in room 3."], "The meeting moved to 7. Thanks! It is in room 3."),
        ([], "¿Cómo se sale de vim?"),
        ([], "Did you ask whether the fee of your card is 900 euros?"),
        (["Bye, then."], "Bye, then.\n\nOn Mon, 3 Sep 2024 at 10:00, Tom <tom@a.example> wrote:\n> My code is 9911.\n"),
    ],
)
def test_a_candidate_is_what_somebody_could_take_for_a_statement(expected: list[str], text: str) -> None:
    assert expected == candidates(text)
    if not text.endswith("that true?") and not text.endswith("be right?"):  # others have said what they ask about
        assert expected == candidates(text, SHOP)


@pytest.mark.parametrize("source", [USER, SHOP], ids=["user", "shop"])
@pytest.mark.parametrize(
    "below",
    [
        "On Mon, 3 Sep 2024 at 10:00, Tom <tom@a.example> wrote:\n> OLD WORDS are here. OLD WORDS, thanks!",
        "On Mon, 3 Sep 2024 at 10:00, Tom <tom@a.example> wrote:\n\nOLD WORDS are here. OLD WORDS, thanks!",
        "-----Original Message-----\nFrom: Tom <t@a.example>\nSubject: OLD\n\nOLD WORDS are here. Thanks, OLD WORDS!",
        "From: Tom <t@a.example>\nSent: Monday\nTo: me\nSubject: OLD WORDS\n\nOLD WORDS are here. Thanks, OLD WORDS!",
        "________________________________\nFrom: Tom <t@a.example>\nTo: me\nSubject: OLD WORDS\n\nOLD WORDS are here.",
        "> OLD WORDS are here.\n> Thanks, OLD WORDS!",
        "```\nOLD = WORDS\nb = 2\nc = 3\n```",
    ],
)
def test_no_candidate_is_from_earlier_mail(below: str, source: Source) -> None:
    for own in ("It moved to Friday.", "I hope this finds you well.", "Did you hear?", "Thanks!", "Best,\nTom"):
        assert not [found for found in candidates(f"{own}\n\n{below}", source) if "OLD" in found or "WORDS" in found]


@pytest.mark.parametrize("gap", ["\n", "\n\n", " \n"])
@pytest.mark.parametrize("own", ["Keep this for later", "It moved to Friday.", "The code is:", "# Codes", "Hi,"])
@pytest.mark.parametrize("theirs", ["9911.", "It is 9911.", "Thanks for it!", "- 9911"])
def test_no_candidate_crosses_into_a_forwarded_mail(own: str, gap: str, theirs: str) -> None:
    mark = "---------- Forwarded message ---------"
    text = f"{own}{gap}{mark}\nFrom: Eve <eve@evil.example>\nSubject: x\n\n{theirs}"
    begins = text.index(mark)
    for source in (USER, SHOP):
        for passage in RuleExtractor().candidates(text, source=source):
            start, end = passage.span
            assert end <= begins or start > begins


@settings(max_examples=300, deadline=None)
@given(MESSAGES, st.sampled_from([USER, SHOP]))
def test_candidates_are_the_statements_and_more_in_order_and_apart(text: str, source: Source) -> None:
    rules = RuleExtractor()
    found = rules.candidates(text, source=source)
    if not looks_like_html(text):
        assert {*rules.extract(text, source=source)} <= {*found}
    end = 0
    for passage in found:
        left, right = passage.span
        assert end <= left < right <= len(text)
        assert passage.text.endswith(one_line(text[left:right]))
        end = right
    stated = {*rules.extract(text, source=source)}
    assert not [one for one in found if one not in stated and one.text.endswith("?")]


def test_candidates_are_limited_and_quick() -> None:
    rules = RuleExtractor(most=3)
    assert len(rules.candidates("A is here. Thanks! B is here. Hello! C is here. D is here.", source=USER)) == 3
    for piece in ("Thanks! ", "Hi?\n", "a. ", "> \n", "It is. Thanks! "):
        text = piece * (200_000 // len(piece))
        assert cpu_seconds(partial(RuleExtractor().candidates, text, source=USER), enough=4) < 4


@pytest.mark.parametrize(
    "piece",
    ["a", ">", ".", "\n", " ", "\x00", "\ud800", "\u202ea", "a\n", "> \n", "<div>", "<!--", "<p a b c ", "a. ", '"a ',
     "(a", "a:\n", "- a\n", "```\n", "From: a@b\n", "Best,\n", "what ", "if i would ", "{};\n", "a|", "[12:04] ", "1. ",
     "😂", "。", "A> \n", "thanks ", "On 1 wrote:\n", "<br "],
)  # fmt: skip
def test_hostile_message_takes_linear_time(piece: str) -> None:
    message = piece * (200_000 // len(piece))
    assert cpu_seconds(lambda: RuleExtractor().extract(message, source=USER), enough=2) < 2


def test_import_loads_no_html_parser() -> None:
    code = "import sys, thymus.extract; print('selectolax' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


@pytest.mark.skipif(not AUTHORED.is_dir(), reason="the shared data is not here")
def test_hardly_any_authored_claim_is_lost() -> None:
    files = sorted(AUTHORED.glob("*.claims.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    kept = [bool(statements(row["text"])) for row in rows if row["label"] != "not_a_claim"]
    left_out = [not statements(row["text"]) for row in rows if row["label"] == "not_a_claim"]
    assert sum(kept) / len(kept) >= 0.99
    assert sum(left_out) / len(left_out) >= 0.5
