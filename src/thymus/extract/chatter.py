"""What in a message states nothing: greetings, thanks, questions, one-off requests, wishes, footers.

Only clear cases count. Whoever directs an assistant for good ("could you always …") states a rule, and is kept.
"""

from __future__ import annotations

import re
from typing import Final

from thymus.extract import phrases

_WORDLIKE = re.compile(r"[^\W_]")
_OPENING = re.compile(r"[^\w¿@#+©(\"“«'£$€₹]*")
_CLOSES: Final = frozenset("?!.)\"”»'%;:,…？！。؟।")
_KISSES = re.compile(r"\sx{1,4}$")
_LONGEST = 800


def after_greeting(text: str, start: int, end: int) -> int:
    """Where the statement begins that follows *Dear Ms Varga,* or *Hi,* in ``text[start:end]``."""
    if not _may_greet(text[start : start + 20]):
        return start
    greeting = phrases.GREETING.match(text, start, min(end, start + 120))
    return greeting.end() if greeting and greeting.end() < end else start


def _may_greet(words: str) -> bool:
    word = words.partition(" ")[0].strip(",.!:;¡").lower()
    return word in phrases.HELLO_WORDS or word.startswith(("hi", "he"))


def is_chatter(sentence: str) -> bool:
    """Whether a sentence (on one line) clearly states nothing that could be remembered; a very long one always may."""
    if not _WORDLIKE.search(sentence):
        return True
    if len(sentence) > _LONGEST:
        return False
    said = _trimmed(sentence)
    words = said.lower()
    bare = words.rstrip(".!,;:… ")
    if len(bare) <= 140:
        if _may_greet(said[:20]) and phrases.HELLO_ALONE.fullmatch(said):
            return True
        if phrases.FAREWELL.fullmatch(said) or phrases.WELL_WISHES.fullmatch(bare):
            return True
        if phrases.GOODBYE.fullmatch(said) or phrases.THANKS.fullmatch(bare) or phrases.SMALL_TALK.fullmatch(bare):
            return True
        if len(bare) <= 40 and all(word.strip(",.!…") in phrases.FILLER_WORDS for word in bare.split()):
            return True
    if phrases.FOOTER.match(bare):
        return True
    filler = phrases.FILLERS.match(words)
    core = words[filler.end() :] if filler else words
    return _is_question(core) or _is_request(core) or _is_hypothetical(core)


def _trimmed(words: str) -> str:
    """Without emoji and dashes at both ends, and without the kisses that close a text message."""
    begin = _OPENING.match(words)
    end = len(words)
    while end and not (words[end - 1].isalnum() or words[end - 1] in _CLOSES):
        end -= 1
    kisses = _KISSES.search(words, max(0, end - 6), end)
    return words[begin.end() if begin else 0 : kisses.start() if kisses else end]


def _is_question(words: str) -> bool:
    """Whether it only asks: not a rule put as a question, nor a statement with *right?* at its end."""
    if not words:
        return True
    if (
        (speaker := phrases.SPEAKER.match(words))
        and speaker.end() < len(words)
        and not phrases.INTERROGATIVE.match(words)
    ):
        words = words[speaker.end() :]
    if words[-1] in "?？؟":
        asks = phrases.INTERROGATIVE.match(words) or words[0] == "¿"
        if (not asks or phrases.DIRECTS.match(words)) and phrases.STANDING.search(words):
            return False
        if not asks and phrases.TAG.search(words, max(0, len(words) - 40)):
            return False
        told, comma, _ = words.rpartition(", ")
        return bool(asks or not comma or told.count(" ") < 3)
    if "?" in words or ": " in words or " · " in words:
        return False
    return bool(phrases.UNMARKED.match(words)) and not (phrases.STANDING.search(words) or phrases.REASON.search(words))


def _is_request(words: str) -> bool:
    asks = phrases.ONE_OFF.match(words) or phrases.LOOK_THERE.match(words.rstrip(".! "))
    return bool(asks) and not (phrases.STANDING.search(words) or phrases.REASON.search(words))


def _is_hypothetical(words: str) -> bool:
    supposes = phrases.WISH.match(words) or (phrases.CONDITION.match(words) and phrases.WOULD.search(words))
    return bool(supposes) and not (phrases.STANDING.search(words) or phrases.SOFT.search(words))
