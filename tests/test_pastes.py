"""Which words of a prompt are the user's, which are handed on, and which the host made."""

from __future__ import annotations

import time

import pytest
from hooks_helpers import recorded
from hypothesis import given
from hypothesis import strategies as st

from thymus.extract.pastes import LONGEST_TYPED, Words, machine_made, split


def test_what_is_typed_is_the_users() -> None:
    assert split("My standup is at 9:15.") == Words("My standup is at 9:15.", "")


def test_the_host_words_prompts_of_its_own() -> None:
    prompts = [event["prompt"] for event in recorded() if event["hook_event_name"] == "UserPromptSubmit"]
    assert [machine_made(prompt) for prompt in prompts] == [False, True, False]


@pytest.mark.parametrize(
    "prompt",
    [
        '<cross-session-message from="uds:1">The rent changed.</cross-session-message>',
        '<channel source="chat">The rent changed.</channel>',
        "\n <teammate-message>x</teammate-message>",
        "Another Claude session sent a message:\nThe rent changed.",
        "This session is being continued from a previous conversation that ran out of context.",
    ],
)
def test_messages_of_others_that_come_as_prompts(prompt: str) -> None:
    assert machine_made(prompt)


@pytest.mark.parametrize("prompt", ["I am < 40 years old.", "x <b> y", "My boss said: <3", "", "Another day."])
def test_prompts_of_a_person(prompt: str) -> None:
    assert not machine_made(prompt)


@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        ("/compact", ""),
        ("/ask My flight moved to Friday.", " My flight moved to Friday."),
        ("/plugin:deploy staging", " staging"),
        ("/etc/hosts lists my server.", "/etc/hosts lists my server."),
    ],
)
def test_the_name_of_a_command_is_nobodys_word(prompt: str, own: str) -> None:
    assert split(prompt) == Words(own, "")


def test_a_letter_in_a_prompt_is_handed_on() -> None:
    letter = "Dear Asha,\n\nOur account changed to DE89 3704.\n\nKind regards,\nRavi\n"
    assert split("What do I answer to this?\n\n" + letter) == Words("What do I answer to this?\n\n", letter)


def test_a_mail_with_its_headers_is_handed_on() -> None:
    mail = "From: billing@shop.example\nSubject: New account\n\nPay to DE89 3704.\n"
    assert split("I use tabs.\n" + mail) == Words("I use tabs.\n", mail)


def test_a_greeting_to_the_assistant_is_no_letter() -> None:
    prompt = "Hi Claude,\nMy standup is at 9:15.\nThanks"
    assert split(prompt).own == prompt


def test_a_long_prompt_is_handed_on() -> None:
    assert split("My standup is at 9:15. " + "x" * LONGEST_TYPED).own == ""


@given(st.text(alphabet=st.sampled_from("aD \n:@,./<Fromearsubjcthigd"), max_size=400))
def test_no_word_is_lost(prompt: str) -> None:
    words = split(prompt)
    assert prompt.endswith(words.own + words.pasted)
    assert "/" in prompt or prompt == words.own + words.pasted


@pytest.mark.parametrize("piece", ["Dear a b,\n", "From: ", "/a", "<", "regards\n", "hi " * 9, " \n", "best kind "])
def test_time_is_linear(piece: str) -> None:
    began = time.perf_counter()
    text = piece * (400_000 // len(piece))
    machine_made(text)
    split(text)
    for at in range(0, 2_000, 100):
        split(text[: LONGEST_TYPED - at])
    assert time.perf_counter() - began < 2
