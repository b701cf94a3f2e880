"""Whatever a sender writes, under whatever name: a notice shows no link, markup or invisible sign of its making.

And what looks for these finds them where nothing is done about them.
"""

from __future__ import annotations

import re

import pytest
from dev_eval.attacks import SCENARIOS, read_worlds
from dev_eval.attacks.notices import control, live_link, markup
from dev_eval.attacks.stage import Say
from hypothesis import given
from hypothesis import strategies as st

from guarantees.world import ScriptedJudge, open_guard
from thymus import GATES, Source

from .manifest import GATE

CLOSING = "I have not used it. Tell me if it is right."
WORLD = read_worlds()[0]
SHOWN = [name for name, scenario in SCENARIOS.items() if (play := scenario.play(WORLD)) and play.breach]

fragments = st.sampled_from(
    ["rent is 7", "https://a.example/x", "HTTP ://b.example", "www.shop.example", "javascript:go()", "data:x,y",
     "pay.example/now", "<b>", "</b>", "[x](y)", "**", "`", "\x1b[31m", "\u202e", "\u200b", "\U000e0041", "\x00",
     "\x07", "”", "“", '"', "»", "\n", "\n• ", "\n- ", "(verified sender)", CLOSING, "﷽"]
)  # fmt: skip
writings = st.lists(fragments, max_size=12).map(" ".join)


@pytest.mark.parametrize("name", SHOWN)
def test_what_looks_for_a_breach_finds_one_where_nothing_is_done(name: str) -> None:
    play = SCENARIOS[name].play(WORLD)
    assert play is not None
    assert play.breach is not None
    said = next(step for step in play.attack if isinstance(step, Say))
    naive = f"An e-mail from {said.source.identity} {said.source.name} said “{said.text}”. {CLOSING}"
    assert play.breach(naive) or play.breach(f"- {said.text}")


@given(writings, writings)
def test_a_notice_shows_nothing_that_a_sender_could_make_it_show(text: str, name: str) -> None:
    guard = open_guard(gate=GATES[GATE], judge=ScriptedJudge(moods=("jumpy",)))
    guard.remember("rent is 5")
    source = Source(channel="chat", identity="mallory", name=name)
    guard.remember(f"rent is 7 {text}", source=source)
    notice = guard.recall("what is rent").notice
    assert "rent is 7" in notice
    assert [sign for sign in (live_link, markup, control) if sign(notice)] == []
    assert re.sub(r"“[^“”]*”", "", notice).count(CLOSING) == 1
