"""Identifiers of memories in other texts: found whatever stands around or between their letters; nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.recognizers.letters import letters
from thymus.recognizers.runs import MOST_READ, Index, decoded, stretches
from timing import cpu_seconds


def found(told: str, text: str) -> list[str]:
    index = Index()
    index.add("m_1", told)
    runs, complete = index.find(text)
    assert complete
    return sorted({run.signs for run in runs})


@pytest.mark.parametrize(
    ("signs", "told", "text"),
    [
        ("gb33bukb20201555555555", "IBAN: GB33 BUKB 2020 1555 5555 55.", "x_GB33BUKB20201555555555"),
        ("gb33bukb20201555555555", "gb33 bukb 2020 1555 5555 55", "GB33/BUKB/2020/1555/5555/55"),
        ("08005550199", "Call 0800 555 0199.", "0800_555_0199"),
        ("08005550199", "Call 0800 555 0199 24/7.", "0800_555_0199"),
        ("8005550199", "Call 0800 555 0199.", "tel:+448005550199"),
        ("8005550199", "Call 0800 555 0199.", "x8005550199;"),
        ("8005550199", "Call +448005550199.", "x=0800_555_0199"),
        ("8005550199", "Call +44 800 555 0199.", "x=08005550199"),
        ("8005550199", "Call 0044 800 555 0199.", "x=08005550199"),
        ("55799911", "Account 55799911, sort code 20-11-33.", "acc_55799911_"),
        ("201133", "Account 55799911, sort code 20-11-33.", "sc_20_11_33"),
        ("1boatslrhtknngkdxeeobr76b53", "My wallet: 1BoatSLRHtKNngkdXEeobR76b53", "w=1BoatSLRHtKNngkdXEeobR76b53;"),
        ("ravievilexample", "Write to ravi@evil.example.", "x_ravi@evil.example_y"),
        ("httpsevilexamplepayid7", "Pay at https://evil.example/pay?id=7 now", "u=https://evil.example/pay?id=7,b"),
        ("hx77ab12", "The code is HX77AB12.", "to\u202e%48%58%37%37%41%42%31%32"),
        ("hx77ab12", "The code is HX77AB12.", "%\u200b4\u200b8X77AB12"),
        ("hx77ab12", "The code is HX77AB12.", '"HX77\\u0041B12'),
        ("hx77ab12", "The code is HX77AB12.", "HX7&amp;#55;AB12"),
        ("hx77ab12", "The code is \uff28X77AB12.", "HX\u0667\u0667AB12"),
        ("hx77ab12", "The codes: " + "a/1" * 200 + ";HX77AB12", "code=HX77AB12"),
    ],
)
def test_what_stands_around_or_between_hides_nothing(signs: str, told: str, text: str) -> None:
    assert signs in found(told, text)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("IBAN: GB33 BUKB 2020 1555 5555 55.", "GB33 BUKB 2020"),
        ("IBAN: GB33 BUKB 2020 1555 5555 55.", "GB33 BUKB 2020 1555 5555 56"),
        ("Call +44 800 555 0199.", "+44 800 555"),
        ("Call 0800 555 0199.", "908005550199"),
        ("Order 202612.", "9202612"),
        ("Order 202612.", "2026125"),
        ("Write to anna@evil.example.", "hanna@evil.example"),
        ("Write to anna@evil.example.", "anna@evil.examples"),
        ("Write to anna@evil.example.", "evil.example"),
        ("On 12 March 2026 at 19:45.", "12 March 2026 at 19:45"),
        ("Please send the report.", "Please send the report."),
        ("PIN 5591", "pin=5591"),
        ("", "x"),
        ("GB33", ""),
    ],
)
def test_parts_of_identifiers_and_other_words_are_none(told: str, text: str) -> None:
    assert found(told, text) == []


def test_the_letters_of_memories_hold_the_digits_of_any_script() -> None:
    assert letters("(\u0660\u0668\u0660\u0660) \uff15\uff15\uff15") == "0800555"


def test_equal_passages_are_kept_once_and_gone_with_the_last() -> None:
    index = Index()
    for memory in ("m_1", "m_2"):
        index.add(memory, "Call 0800 555 0199.")
    index.drop("m_1")
    assert index.find("0800_555_0199")[0]
    index.drop("m_2")
    index.drop("m_2")
    assert index.find("0800_555_0199") == ((), True)


def test_a_common_domain_is_no_identifier_however_many_share_it() -> None:
    index = Index()
    for number in range(2 * MOST_READ):
        index.add(f"m_{number}", f"Write to u{number}@lark2field.example now")
    assert index.find("other@lark2field.example") == ((), True)
    assert len(index.find("x_u7@lark2field.example")[0]) == 1


def test_what_was_not_read_for_lookalikes_is_told_and_hides_no_whole_one() -> None:
    index = Index()
    for number in range(2 * MOST_READ):
        index.add(f"m_{number}", f"Pay to DE89 3704 0044 {number:04} 0130 00 today")
    runs, complete = index.find("DE89 3704 0044, or x_DE89370400440532013000")
    assert not complete
    assert runs == ()
    index.add("m_x", "Pay to DE89 3704 0044 0532 0130 00 today")
    [run] = index.find("DE89 3704 0044, or x_DE89370400440532013000")[0]
    assert run.signs == "de89370400440532013000"


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_is_taken(told: str, text: str) -> None:
    index = Index()
    index.add("m_1", told)
    index.find(text + told)
    index.drop("m_1")
    assert index.find(told) == ((), True)
    assert decoded(text)[0] == text


@pytest.mark.parametrize(
    "text", ["0", "0 ", "_=", "%25", "<a", "a.b@", "&amp;", "\\u0030", "+4", "\u0660", "0800555019"]
)
def test_long_texts_take_time_in_proportion(text: str) -> None:
    """Generous: ten times as long may take thirty times as long, and no text of this length a second."""

    def work(length: int) -> None:
        told = (text * length)[:length]
        index = Index()
        index.add("m_1", told)
        index.find(told)

    most = max(30 * cpu_seconds(lambda: work(3_000)), 1.0)
    assert cpu_seconds(lambda: work(30_000), enough=most) < most


def test_a_long_passage_is_cut_with_an_overlap() -> None:
    told = "a/1" * 400
    pieces = list(stretches(told))
    assert all(len(piece) <= 300 for piece in pieces)
    assert all(told[at : at + 60] in "\n".join(pieces) for at in range(0, len(told) - 60, 7))
