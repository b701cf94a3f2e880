"""Which source may be taken for which: tables of pairs, what holds of any text, and the false alarms on real mail."""

from __future__ import annotations

import email
import re
from dataclasses import replace
from email.utils import parseaddr
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.provenance import UNPRINTABLE, Source
from thymus.sources.lookalikes import resembles
from thymus.sources.skeletons import fold, look, near, same_look
from timing import cpu_seconds

PAIRS = Path(__file__).parents[1] / "data" / "lookalikes.txt"
HAM = Path(__file__).parents[3] / "shared" / "data" / "public" / "email" / "spamassassin"


def read(text: str) -> Source:
    """A source as the tables write it."""
    found = re.fullmatch(r'(?:"([^"]*)" )?(.*)', text)
    assert found
    return replace(Source.parse(found[2]), name=found[1] or "")


def pairs(section: str) -> list[str]:
    """The lines of one section of the tables."""
    lines = PAIRS.read_text(encoding="utf-8").partition(f"\n[{section}]\n")[2].splitlines()
    stop = next((at for at, line in enumerate(lines) if line.startswith("[")), len(lines))
    return lines[:stop]


def judged(line: str) -> str:
    """What is said of a pair."""
    source, known = map(read, line.split(" ~ "))
    return resembles(source, known)


def test_tables_are_long() -> None:
    """There is enough of either kind."""
    assert min(len(set(pairs("confusable"))), len(set(pairs("innocent")))) >= 200


@pytest.mark.parametrize("line", pairs("confusable"))
def test_confusable(line: str) -> None:
    """The first may be taken for the second, and a sentence without a word of the sender's says how."""
    said = judged(line)
    assert said.startswith("its ")
    assert said.isascii()


@pytest.mark.parametrize("line", pairs("innocent"))
def test_innocent(line: str) -> None:
    """Neither may be taken for the other."""
    source, known = map(read, line.split(" ~ "))
    assert (resembles(source, known), resembles(known, source)) == ("", "")


@pytest.mark.parametrize("line", pairs("missed") + pairs("alarm"))
def test_limits(line: str) -> None:
    """What is known to be judged wrongly: confusable pairs let pass, innocent ones that are not."""
    assert bool(judged(line)) == (line in pairs("alarm"))


@pytest.mark.parametrize(
    ("source", "known", "said"),
    [
        ("email:a@paypa1.com", "email:a@paypal.com", "letters"),
        ("email:a@northbank-support.example", "email:a@northbank.example", "words or digits"),
        ("email:a@northbank.info", "email:a@northbank.example", "suffix"),
        ("web:paypal.com.evil.example", "web:paypal.com", "in front of"),
        ("email:a@northbnak.example", "email:a@northbank.example", "but for a letter"),
        ("chat:@priya__s", "chat:@priya_s", "dots, dashes"),
        ("user:rаvi", "user:ravi", "letters"),
        ('"a@northbank.example" email:x@evil.example', "email:a@northbank.example", "shows the address"),
        ('"b@northbank.example" email:x@evil.example', "email:a@northbank.example", "shows the domain"),
        ('"Northbank" email:x@evil.example', "email:a@northbank.example", "shows the name"),
    ],
)
def test_says_how(source: str, known: str, said: str) -> None:
    """The sentence names the way."""
    assert said in resembles(read(source), read(known))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("email:a@gmail.com", "email:b@gmial.com"),
        ("user", "user:user1"),
        ("web:shop.example", "web:shop.example"),
    ],
)
def test_never_for_these(one: str, other: str) -> None:
    """A provider is itself, nobody resembles the user of the memory, nor itself."""
    assert resembles(read(one), read(other)) == ""
    assert resembles(replace(Source.user(), name="a@gmail.com"), read("email:a@gmail.com")) == ""


def test_names_of_people() -> None:
    """A person's name has to agree in more: many names differ by a letter."""
    assert near(("northbnak",), ("northbank",))
    assert near(("stephen",), ("stephan",)) is False
    assert near(("marina",), ("marian",), person=True) is False
    assert near(("emmanuel", "lopez"), ("emmanuela", "lopez"), person=True) is False
    assert near(("jonahtan", "smith"), ("jonathan", "smith"), person=True)
    assert near(("parkfield",), ("larkfield",)) is False


def test_looks() -> None:
    """Full width, capital and foreign letters fold to what they look like; series of numbers stay apart."""
    assert fold("ＰаｙＰаl") == "paypal"
    assert same_look(look("rnicrosoft"), look("microsoft"))
    assert not same_look(look("clark"), look("dark"))
    assert not same_look(look("agent6e"), look("agent9e"))


_CHANNELS = st.sampled_from(["email", "web", "sms", "chat", "user", "tool"])
_BITS = st.sampled_from([*"abclrnvw01iоа.-_@+ 5", "paypal", "bank", "support", "example", ".example", "gmail.com"])
_TEXTS = st.lists(_BITS, max_size=8).map("".join) | st.text(max_size=30)
SOURCES = st.builds(
    lambda channel, identity, name: Source(channel=channel, identity=UNPRINTABLE.sub("", identity), name=name),
    _CHANNELS,
    _TEXTS,
    _TEXTS,
)


@settings(deadline=None)
@given(SOURCES, SOURCES)
def test_any_sources(one: Source, other: Source) -> None:
    """It never raises, finds nothing in itself, and reads capitals as small letters."""
    said = resembles(one, other)
    assert resembles(one, one) == ""
    shouted = Source(channel=one.channel, identity=one.identity.swapcase() if one.identity.isascii() else one.identity)
    assert resembles(shouted, replace(other, name="")) == resembles(replace(one, name=""), replace(other, name=""))
    assert said == "" or said.startswith("its ")


@settings(deadline=None)
@given(st.sampled_from(["sms", "chat", "user", "tool"]), _TEXTS, _TEXTS)
def test_symmetric(channel: str, one: str, other: str) -> None:
    """Of two plain names, either may be taken for the other or neither."""
    ours = Source(channel=channel, identity=UNPRINTABLE.sub("", one.replace("@", "")))
    theirs = Source(channel=channel, identity=UNPRINTABLE.sub("", other.replace("@", "")))
    assert resembles(ours, theirs) == resembles(theirs, ours)


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_looking_alike_is_symmetric(one: str, other: str) -> None:
    """So it is with the parts."""
    assert same_look(look(one), look(other)) == same_look(look(other), look(one))
    ours, theirs = look(one).words, look(other).words
    for person in (False, True):
        assert near(ours, theirs, person=person) == near(theirs, ours, person=person)


@pytest.mark.parametrize("bit", ["a", "а", "-", ".", "a.", "@", "support", "１", "(", "rn"])
def test_long_names_take_little_time(bit: str) -> None:
    """The longest identity and name are read in linear time."""
    text = (bit * 1000)[:990]
    pairs = [
        (Source(channel=channel, identity=text, name=text), Source(channel=channel, identity=f"x{text}", name=text))
        for channel in ("email", "web", "sms", "chat")
    ]
    assert cpu_seconds(lambda: [resembles(ours, theirs) for ours, theirs in pairs], enough=0.5) < 0.5


def test_no_alarm_on_real_mail() -> None:
    """Among all who wrote real, wanted mail nobody is taken for another."""
    files = sorted(HAM.glob("*ham*"))
    if not files:
        pytest.skip("the public mail of ../shared/data is not here")
    senders: dict[str, Source] = {}
    for file in files:
        name, address = parseaddr(str(email.message_from_bytes(file.read_bytes())["From"] or ""))
        if "@" in address:
            source = Source(channel="email", identity=address, name=name)
            senders[source.key] = source
    assert len(senders) > 50
    assert [(a.key, b.key) for a, b in combinations(senders.values(), 2) if resembles(a, b) or resembles(b, a)] == []
