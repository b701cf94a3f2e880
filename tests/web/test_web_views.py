"""What the pages show, without any page: differences, excerpts, groups, histories and the chart."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.core.beliefs import Act, Cause, Change, Status
from thymus.core.claims import Claim, Kind
from thymus.core.disclose import Memory
from thymus.core.gates import get_gate
from thymus.core.provenance import UNPRINTABLE, Source
from thymus.records import Event
from thymus.web import views
from thymus.web.views import Run, differences, excerpt

NOW = datetime(2026, 3, 30, 9, 0, tzinfo=UTC)
SWIFT = Source.parse("email:updates@swiftparcel.example", authenticated=True)
FAKE = Source.parse("email:updates@swiftparce1.example", authenticated=False)


def a_memory(
    id_: str, text: str, source: Source = SWIFT, status: Status = Status.ACTIVE, lineage: tuple[Source, ...] = ()
) -> Memory:
    return Memory(id=id_, text=text, kind=Kind.FACT, status=status, source=source, lineage=lineage, observed_at=NOW)


def a_held(
    text: str = "The fee is 9.",
    *,
    id_: str = "m_1",
    source: Source = FAKE,
    rivals: tuple[Memory, ...] = (),
    rules: tuple[str, ...] = ("lookalike",),
    lineage: tuple[Source, ...] = (),
    resembled: tuple[Source, ...] = (),
) -> views.Held:
    memory = a_memory(id_, text, source, Status.CONTESTED, lineage)
    claim = Claim(
        text=text,
        kind=Kind.FACT,
        evidence_id="e",
        span=(0, len(text)),
        source=source,
        lineage=lineage,
        observed_at=NOW,
    )
    return views.held_claim(
        memory,
        claim,
        rivals=rivals,
        replaces=rivals,
        resembled=resembled,
        since=None,
        rules=rules,
        policy=get_gate("thymus-v4"),
        text=text,
    )


class TestDifferences:
    def test_only_the_words_that_differ_are_marked(self) -> None:
        assert differences("My standup is at 9:15 in Room 2A.", "My standup moved to 10:30 in Room 2A.") == (
            (Run("My standup ", False), Run("is at 9:15 ", True), Run("in Room 2A.", False)),
            (Run("My standup ", False), Run("moved to 10:30 ", True), Run("in Room 2A.", False)),
        )

    def test_case_counts_since_a_code_may_differ_in_nothing_else(self) -> None:
        assert differences("The code is aB1.", "The code is Ab1.")[1] == (
            Run("The code is ", False),
            Run("Ab1.", True),
        )

    def test_a_last_full_stop_is_no_difference(self) -> None:
        assert differences("It is 9", "It is 9.") == ((Run("It is 9", False),), (Run("It is 9.", False),))

    def test_nothing_against_something(self) -> None:
        assert differences("", "It is 9.") == ((), (Run("It is 9.", True),))

    @given(st.text("ab .\u05d0", max_size=60), st.text("ab .\u05d0", max_size=60))
    def test_the_runs_joined_are_the_text(self, old: str, new: str) -> None:
        before, after = differences(old.strip(), new.strip())
        assert ("".join(run.text for run in before), "".join(run.text for run in after)) == (old.strip(), new.strip())


class TestWords:
    @given(st.text(max_size=200))
    def test_no_control_bidi_or_invisible_character_is_left(self, text: str) -> None:
        assert not UNPRINTABLE.search(views.words_of(text))

    def test_links_do_not_work(self) -> None:
        assert views.words_of("See https://evil.example/x or javascript:alert(1)") == (
            "See hxxps://evil[.]example/x or javascript(:)alert(1)"
        )

    def test_no_heap_of_marks_is_drawn_over_other_lines(self) -> None:
        heap = "Z" + "\u0301" * 500
        assert views.words_of(f"{heap}algo") == "Z" + "\u0301" * 4 + "algo"
        assert views.sentence(heap) == "“Z" + "\u0301" * 4 + "”"
        assert excerpt(heap, (0, 1)).after == "\u0301" * 4
        assert views.Sender.of(Source.parse(f"chat:{heap}")).shown == "chat:z" + "\u0301" * 4 + "…"

    def test_the_rules_are_told_in_words(self) -> None:
        assert views.in_words(("user-decided", "no-such-rule"), get_gate("thymus-v4")) == (
            "you decided so; no-such-rule"
        )

    @pytest.mark.parametrize(
        ("told", "back"),
        [
            ("just now", timedelta(seconds=59)),
            ("1 minute ago", timedelta(seconds=60)),
            ("3 days ago", timedelta(days=3, hours=23)),
            ("in 2 hours", -timedelta(hours=2)),
            ("1 year ago", timedelta(days=366)),
        ],
    )
    def test_how_long_ago(self, told: str, back: timedelta) -> None:
        assert views.ago(NOW - back, NOW) == told


class TestSender:
    def test_the_user(self) -> None:
        sender = views.Sender.of(Source.user())
        assert (sender.shown, sender.standing, sender.blockable) == ("You", "yourself", False)

    def test_who_only_goes_by_the_users_name_is_not_you(self) -> None:
        sender = views.Sender.of(Source.parse("user", authenticated=False))
        assert (sender.shown, sender.standing, sender.verified) == (
            "Under your name",
            "says it is the user, unverified",
            False,
        )

    def test_a_display_name_is_cut_and_defanged(self) -> None:
        named = Source(channel="email", identity="a@b.example", name="www.bank.example " * 9)
        assert views.Sender.of(named).calls_itself == (
            "www[.]bank[.]example www[.]bank[.]example www[.]bank[.]example www[.]bank[.]example…"
        )

    def test_a_lookalike_is_named_and_a_lost_proof_told(self) -> None:
        claim = Claim(text="x", kind=Kind.FACT, evidence_id="e", span=(0, 1), source=FAKE, observed_at=NOW)
        assert views.resemblance(claim, (SWIFT, FAKE)) == (
            "Resembles email:updates@swiftparcel.example, known to you: it may only pose as that.",
            "Earlier messages of email:updates@swiftparce1.example were verified, and this one is not.",
        )

    def test_each_outsider_with_a_part_in_it_can_be_blocked_once(self) -> None:
        held = a_held(lineage=(FAKE, SWIFT, Source.user()))
        assert [one.key for one in held.blockable] == [FAKE.key, SWIFT.key]


class TestExcerpt:
    def test_a_short_message_is_whole(self) -> None:
        assert excerpt("One. Two. Three.", (5, 9)) == views.Excerpt(
            before="One. ", said="Two.", after=" Three.", whole=True
        )

    def test_of_a_long_one_the_part_around_the_claim(self) -> None:
        found = excerpt("a" * 100 + "CLAIM" + "b" * 100, (100, 105), longest=25)
        assert found == views.Excerpt(before="…" + "a" * 10, said="CLAIM", after="b" * 10 + "…", whole=False)

    def test_room_that_one_side_leaves_is_the_others(self) -> None:
        found = excerpt("CLAIM" + "b" * 100, (0, 5), longest=25)
        assert found == views.Excerpt(before="", said="CLAIM", after="b" * 20 + "…", whole=False)

    def test_lines_stay_and_what_cannot_be_seen_goes(self) -> None:
        assert excerpt("a\r\n\r\n\r\n\u202eb\x00 https://x.example", (0, 1)).after == "\n\nb hxxps://x[.]example"

    @given(st.text(max_size=80), st.integers(-5, 90), st.integers(-5, 90), st.integers(1, 40))
    def test_never_longer_than_asked(self, text: str, start: int, end: int, longest: int) -> None:
        found = excerpt(text.replace(".", "").replace(":", ""), (start, end), longest)
        assert len(found.before) + len(found.said) + len(found.after) <= longest + 2


class TestGroups:
    def test_claims_against_one_memory_stand_together_and_the_rest_by_their_rule(self) -> None:
        old = a_memory("m_0", "The fee is 5.")
        one, two = a_held(rivals=(old,)), a_held("The fee is 7.", id_="m_2", rivals=(old,))
        alone = a_held(id_="m_3", rules=("unverified-high-stakes", "lookalike"))
        odd = a_held(id_="m_4", rules=("of-my-own",))
        found = views.groups([(alone, ("unverified-high-stakes", "lookalike")), (one, ()), (odd, ("own",)), (two, ())])
        assert [(group.title, [held.id for held in group.claims]) for group in found] == [
            ("“The fee is 5”", ["m_1", "m_2"]),
            ("Looks like somebody you know", ["m_3"]),
            ("Held back for another reason", ["m_4"]),
        ]

    def test_an_active_rival_is_compared_before_another(self) -> None:
        gone = a_memory("m_8", "The fee is 5.", status=Status.SUPERSEDED)
        held = a_held(rivals=(gone, a_memory("m_9", "The fee is 6.")))
        assert held.old is not None
        assert (held.old.id, held.also) == ("m_9", (("m_8", "“The fee is 5”"),))

    def test_a_difference_beyond_what_is_shown_is_told(self) -> None:
        same = "word " * 200
        held = a_held(same + "9", rivals=(a_memory("m_0", same + "8"),))
        assert (held.cut, held.unseen) == (True, True)

    def test_what_held_it_back(self) -> None:
        born = Change(belief="m_1", before=None, cause=Cause.CONTEST, after=Status.CONTESTED, rules=("lookalike",))
        later = Change(
            belief="m_1", before=Status.ACTIVE, cause=Cause.REPLAY, after=Status.CONTESTED, rules=("user-undid",)
        )
        events = [Event(seq=n, at=NOW, act=Act.REMEMBER, changes=(change,)) for n, change in enumerate((born, later))]
        assert views.held_by(events) == ("lookalike",)
        assert views.held_by(events[1:]) == ("user-undid",)
        assert views.held_by([]) == ()


def an_event(act: Act, /, *changes: Change, seq: int = 7, **note: str) -> Event:
    return Event(seq=seq, at=NOW, act=act, changes=changes, note=note)


ADMITTED = Change(belief="m_1", before=None, cause=Cause.ADMIT, after=Status.ACTIVE)
REPEATED = Change(belief="m_3", before=None, cause=Cause.REPEAT, after=Status.REPEATED)
SUPERSEDED = Change(belief="m_0", before=Status.ACTIVE, cause=Cause.SUPERSEDE, after=Status.SUPERSEDED, by=("m_1",))


class TestHistory:
    @pytest.mark.parametrize(
        ("title", "event"),
        [
            ("Accepted", an_event(Act.RESOLVE, accept="true")),
            ("Rejected", an_event(Act.RESOLVE, accept="false")),
            ("Blocked web:evil[.]example", an_event(Act.REVOKE, source="web:evil.example")),
            ("Undid act 5", an_event(Act.UNDO, act="5")),
            ("Erased", an_event(Act.FORGET)),
            ("Remembered", an_event(Act.REMEMBER)),
        ],
    )
    def test_titles(self, title: str, event: Event) -> None:
        assert views.title_of(event) == title

    def test_an_auditor_is_told_no_name(self) -> None:
        assert views.title_of(an_event(Act.REVOKE, source="web:evil.example"), names=False) == "Blocked a sender"

    def test_only_decisions_that_count_can_be_undone(self) -> None:
        gate = get_gate("thymus-v4")
        assert views.done(an_event(Act.RESOLVE), gate).undoable
        assert not views.done(an_event(Act.RESOLVE), gate, undone=frozenset({7})).undoable
        assert not views.done(an_event(Act.REMEMBER), gate).undoable
        assert not views.done(an_event(Act.FORGET), gate).undoable

    def test_many_changes_are_counted(self) -> None:
        told = views.done(an_event(Act.REMEMBER, ADMITTED, REPEATED, SUPERSEDED), get_gate("thymus-v4"), most=1)
        assert ([move.id for move in told.changes], told.more) == (["m_1"], 1)

    def test_an_undone_undo_counts_no_more(self) -> None:
        assert views.undone_acts([(5, 3)]) == {3}
        assert views.undone_acts([(5, 3), (6, 5)]) == {5}
        assert views.undone_acts([(5, 3), (6, 5), (7, 6)]) == {3, 6}

    def test_outcomes(self) -> None:
        assert views.outcomes(an_event(Act.REMEMBER, ADMITTED, SUPERSEDED)) == Counter(replaced=1)
        assert views.outcomes(an_event(Act.REMEMBER, ADMITTED, REPEATED)) == Counter(admitted=1)
        assert views.outcomes(an_event(Act.REVOKE, ADMITTED)) == Counter()


class TestChart:
    LAST = date(2026, 3, 30)

    def test_bars_stand_on_one_another_and_fill_the_height(self) -> None:
        found = views.chart({self.LAST: Counter(admitted=3, rejected=2)}, self.LAST)
        assert [(bar.outcome, bar.y, bar.height) for bar in found.bars] == [
            ("admitted", 58.0, 72.0),
            ("rejected", 10.0, 48.0),
        ]
        assert found.bars[0].x + found.bars[0].width <= views.WIDTH
        assert found.lines == ((130.0, 0), (82.0, 2), (10.0, 5))

    def test_the_table_and_the_sentence_say_the_same(self) -> None:
        days = {self.LAST: Counter(admitted=3), self.LAST - timedelta(days=29): Counter(contested=1)}
        found = views.chart(days, self.LAST)
        assert found.rows == ((self.LAST, (3, 0, 0, 0, 0)), (self.LAST - timedelta(days=29), (0, 0, 1, 0, 0)))
        assert found.says == "Decisions in 30 days: 3 admitted, 1 contested."

    def test_nothing_and_what_is_long_ago(self) -> None:
        found = views.chart({self.LAST - timedelta(days=30): Counter(admitted=3)}, self.LAST)
        assert (found.bars, found.rows, found.says) == ((), (), "Decisions in 30 days: none.")

    @given(st.integers(0, 10**9))
    def test_the_scale_holds_the_most_and_is_not_much_more(self, most: int) -> None:
        top = views._round_up(most)
        assert most <= top <= max(2, most * 2.5)
