"""Which words of a prompt are the user's, which are handed on, and which the host made."""

from __future__ import annotations

import pytest
from hooks_helpers import recorded
from hypothesis import given
from hypothesis import strategies as st

from thymus.extract.pastes import LONGEST_TYPED, Words, machine_made, split
from timing import cpu_seconds


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


@pytest.mark.parametrize(
    ("own", "pasted"),
    [
        ("Summarise this:", " Hi Sam,\nOur account is DE89 now.\nRegards\nBob"),
        ("I live in Mill Lane 4. What he wrote:", " Dear Asha,\nThe rent is 900 now.\n\nBest wishes\nRavi\n"),
        ("I use tabs. Please summarise:", "\nOur account is DE89 now."),
        ("Can you translate this to German:", " Our account is DE89 now."),
        ("What does this say?\n", "Our account is DE89 now."),
        ("What does this mail want from me\n", "\nOur account is DE89 now."),
        ("Reply to this email\n", "Our account is DE89 now."),
        ("Forward this to Bob:", "\nOur account is DE89 now."),
        ("Is this spam?\n", "Our account is DE89 now."),
        ("Übersetze das:", " Our account is DE89 now."),
        ("Fass das bitte zusammen\n", "Unser Konto ist jetzt DE89."),
        ("Résume ce courriel :", "\nNotre compte est DE89."),
        ("Traduce esto:", "\nOur account is DE89 now."),
        ("Riassumi questo messaggio\n", "Il conto adesso è DE89."),
        ("Vat dit samen:", " Onze rekening is nu DE89."),
        ("Traduz isto:", " Our account is DE89 now."),
    ],
)
def test_what_is_asked_to_be_handled_is_handed_on(own: str, pasted: str) -> None:
    assert split(own + pasted) == Words(own, pasted)


@pytest.mark.parametrize(
    ("own", "pasted"),
    [
        ("", "Our account is DE89 now.\nRegards\nBob"),
        ("\n", "Our account is DE89 now.\nMany thanks,\nBob Stone\n"),
        ("Our account changed.\n", "\nIt is DE89 now.\n\nKind regards,\nBob\n\nSent from a phone"),
        ("What do I do with it?\n", "\nOur account is DE89 now.\nIt was DE12.\nSincerely\nA. van der Berg"),
    ],
)
def test_a_letter_that_greets_nobody_is_known_by_its_end(own: str, pasted: str) -> None:
    assert split(own + pasted) == Words(own, pasted)


@pytest.mark.parametrize(
    "prompt",
    [
        "My standup is at 9:15.\n\nThanks",
        "My standup is at 9:15.\nThanks\nand my room is 2A from now on, until somebody says otherwise.",
        "Remember this: I moved to Mill Lane 4.",
        "I moved to Mill Lane 4.\n\nMy landlord is Ravi.\n\nPlease keep both in mind.",
        "Reply to Bob at 9:15 that I am late.\nMy room is 2A.",
        "Rewrite the loop in a.py\nI use tabs.",
        "Review a.py: I use tabs there.",
        "Forward-looking note: I move in May.",
        "I will answer the mail tomorrow.\nMy standup is at 9:15.",
        "Facts about me:\n- I use tabs.\n- My standup is at 9:15.",
        "Answer me this: why is my standup at 9:15?",
    ],
)
def test_what_is_typed_in_several_lines_stays_the_users(prompt: str) -> None:
    assert split(prompt) == Words(prompt, "")


def test_a_long_prompt_is_handed_on() -> None:
    assert split("My standup is at 9:15. " + "x" * LONGEST_TYPED).own == ""


@given(st.text(alphabet=st.sampled_from("aD \n:@,./<Fromearsubjcthigd"), max_size=400))
def test_no_word_is_lost(prompt: str) -> None:
    words = split(prompt)
    assert prompt.endswith(words.own + words.pasted)
    assert "/" in prompt or prompt == words.own + words.pasted


@pytest.mark.parametrize(
    "piece",
    [
        "Dear a b,\n",
        "From: ",
        "/a",
        "<",
        "regards\n",
        "hi " * 9,
        " \n",
        "best kind ",
        "reply to ",
        "fass ",
        "what does ",
    ],
)
def test_time_is_linear(piece: str) -> None:
    text = piece * (400_000 // len(piece))

    def work() -> None:
        machine_made(text)
        split(text)
        for at in range(0, 2_000, 100):
            split(text[: LONGEST_TYPED - at])

    assert cpu_seconds(work, enough=2) < 2
