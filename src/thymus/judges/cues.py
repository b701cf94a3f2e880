"""Words that change what a statement says about another one: denial, ending, question, plan, exception, past …

Cues are hints for fitted heads and for the typed judge's rules, never a verdict by themselves. They are looked up word
by word (phrases of up to three words), so reading a text takes linear time. English first, with the commonest words of
other languages of the bundled embedder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_TABLE: Final[dict[str, str]] = {
    "negation": """not|no|never|none|nobody|neither|nor|without|cannot|nothing|isn't|aren't|wasn't|weren't|don't
        |doesn't|didn't|won't|can't|couldn't|hasn't|haven't|isnt|arent|dont|doesnt|didnt|wont|cant|nope
        |nunca|jamás|ya no|ne|pas|jamais|nicht|kein|keine|keinen|keiner|nie|não|नहीं|nahi|nahin|mat""",
    "ending": """cancel|cancels|cancelled|canceled|cancelling|cancellation|called off|no longer|anymore|any more
        |stopped|quit|quits|gave up|given up|gave away|ended|over|finished|closed|closing|shut|shuts
        |discontinued|withdrawn|expired|revoked|retired|retires|left|leaves|leaving|resigned|sold|lapsed
        |void|dropped|scrapped|terminated|ceased|handed back|handed in|gone|binned|abolished|suspended
        |split up|broke up|divorced|annulé|annulée|cancelado|cancelada|anulado|abgesagt|gekündigt|storniert
        |रद्द|cancel ho""",
    "change": """now|moved|moves|moving|changed|change|changes|switched|switch|instead|replaced|replaces|new|updated
        |update|from now|as of|with effect|effective|starting|onwards|going forward|these days|since|became
        |becomes|raised|pushed|brought forward|rescheduled|postponed|corrected|correction|swapped|upgraded
        |ahora|désormais|ab sofort|nuevo|nueva|nouveau|nouvelle|neue|neuer|neues|jetzt|maintenant|अब|ab se
        |from today|from monday|nowadays|actually|turns out|after all|rather than|not anymore|went up
        |went down|gone up|took over|takes over""",
    "confirming": """still|as ever|as always|as before|as usual|same|unchanged|confirmed|confirm|confirming|confirms
        |no change|remains|remain|stays|stay|reminder|remind|reminding|as planned|as agreed|correct|toujours
        |sigue|siempre|como siempre|immer|as it was|where it was|rumour|rumours|contrary|despite|recap
        |same as""",
    "conditional": """if|would|could|might|maybe|perhaps|possibly|unless|suppose|imagine|in case|should i|what if
        |were to|depending|si|quizás|peut-être|vielleicht|falls|wenn|अगर|शायद|agar|shayad|whether|provided""",
    "plan": """thinking of|thinking about|considering|hope to|hoping|hopes to|want to|wants to|wish|wishes|dream
        |dreams|would like|would love|i'd love|i'd like|plan to|planning|plans to|toying|tempted|someday
        |one day|next year|looking at|looking into|proposal|proposed|propose|suggested|suggests|idea|ideally
        |pending|under review|draft|wondering|wonder|who knows|fancy|not decided|undecided|consultation
        |may be|might be|applied|applying""",
    "exception": """only|just|this once|one-off|one off|for once|today|tonight|tomorrow|this week|this friday
        |this monday|this tuesday|this wednesday|this thursday|this saturday|this sunday|this time
        |this month|temporarily|temporary|for the day|for now|until|till|while|except|back to|next week
        |covering|stand-in|hoy|mañana|aujourd'hui|demain|heute|morgen|आज|कल|hasta|jusqu'au|bis|aaj|kal
        |then back|for a week|for two|for the week""",
    "past": """used to|was|were|had|before|formerly|previously|back in|back when|last year|last month|last week|ago
        |once|originally|at first|old|former|ex|antes|era|avant|était|früher|war|था|थी|tha|when i|years ago
        |as a child""",
    "other_person": """his|her|hers|their|theirs|he|she|they|he's|she's|they're|someone|somebody|people|neighbour
        |neighbor|neighbours|sister|sister's|brother|brother's|cousin|colleague|colleagues|friend|friend's|friends
        |mum|mum's|mom|dad|dad's|mother|father|son|daughter|wife|husband|partner|aunt|uncle|niece|nephew
        |flatmate|housemate|boss|manager|gran|grandma|grandad|hermana|hermano|sœur|frère|schwester|bruder
        |भाई|बहन|bhai|behen|everyone""",
    "also": """also|too|as well|another|second|additional|additionally|both|besides|plus|extra|other|others
        |along with|in addition|también|otro|otra|aussi|autre|auch|andere|anderer|भी|bhi|next to|and a
        |on top|separate|separately""",
    "quoted": """said|says|say|asked|asks|told|claims|claimed|reckons|heard|apparently|supposedly|allegedly|wrote
        |according to|thinks|dijo|sagt|dit""",
    "warning": """fake|scam|scams|phishing|fraud|fraudulent|ignore|beware|impersonating|pretending|suspicious
        |warning|not from us|scammers|bogus|hoax|spoof""",
    "first_person": """i|i'm|i've|i'll|i'd|my|mine|me|we|we're|we've|our|us|im|ive|yo|mi|mis|je|j'ai|mon|ma|mes|notre
        |ich|mein|meine|wir|unser|मैं|मेरा|मेरी|हम|mera|meri|main|hum""",
    "second_person": """you|you're|you've|your|yours|ur|tu|su|sus|te|le|votre|vos|vous|sie|ihr|ihre|ihren|dein|deine
        |आपका|आपकी|आप|aap|aapka|aapki""",
    "third_user": "user|user's|the user|the user's",
    "directs": """assistant|assistants|assistant's|ai|bot|robot|chatbot|agent|agents|model|models|llm|asistente
        |assistent|automated|system|prompt|copilot|memory|memories|helper|reader|readers|processor|summaries
        |l'assistant|l'ia""",
    "standing": """always|never|whenever|every time|each time|from now on|going forward|in future|henceforth|by default
        |until further|siempre|nunca|toujours|jamais|immer|niemals|हमेशा|कभी|hamesha|any time|from here
        |without exception""",
    "orders": """must|shall|should|do not|don't|make sure|ensure|remember|forget|disregard|ignore|treat|reply|answer
        |tell|mention|keep|hide|send|forward|use|call me|remind me|note that|store|save|record|are to|is to
        |need to|needs to|be advised|delete|refer|present|consider|never""",
    "likes": """prefer|prefers|preferred|preference|preferences|like|likes|love|loves|hate|hates|dislike|dislikes
        |favourite|favorite|enjoy|enjoys|rather|want|wants|fan of|can't stand|into|would like|would love
        |choose|chooses|chose|chosen|opt|opted|consent|consents|consented|agreed|agree|happy to|glad to|keen
        |fond|partial|prefiero|prefiere|me gusta|préfère|aime|lieber|mag|पसंद|pasand|adore|adores|wanted
        |wishes|favours|mad about|no thanks|please no|sick of|you said|as requested|your choice""",
    "greets": """hi|hello|hey|thanks|thank you|cheers|good morning|good evening|good night|bye|welcome
        |congratulations|ok|okay|lol|haha|hola|gracias|merci|bonjour|hallo|danke|नमस्ते|ta|sorry|well done
        |happy birthday|regards""",
    "asks": """what|where|when|who|whom|whose|which|why|how|can you|could you|would you|will you|do you|does|did
        |is there|are there|qué|cuándo|dónde|quién|cómo|quel|quelle|où|quand|comment|pourquoi|wie|wo|wann
        |wer|warum|क्या|कब|कहाँ|कौन|kya|kab|what's|where's|how's|any chance""",
    "tasks": """write|draft|translate|summarise|summarize|explain|find|book|check|show|list|give me|help me|help
        |look up|calculate|compare|plan|set|turn|play|add|order|make me|read|search|pull up|rewrite|suggest""",
}

CUES: Final[tuple[str, ...]] = tuple(_TABLE)
"""The names of the cues, in the order in which heads read them."""

_LONGEST_PHRASE: Final = 3


def _index() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for number, phrases in enumerate(_TABLE.values()):
        for phrase in phrases.split("|"):
            found.setdefault(" ".join(phrase.split()), []).append(number)
    return {phrase: tuple(numbers) for phrase, numbers in found.items()}


_PHRASES: Final = _index()


STOPWORDS: Final = frozenset(
    """a an the and or but of to in on at for from by with as is are was were be been being it its it's this that these
    those i i'm i've me my mine we our us you your he his she her they them their user user's will would can could
    do does did have has had not no so if then than there here just very please now new all any some one up out off
    over about into s t de la el en y a los las le les des du et un une der die das und den dem ist im am mit von zu
    auf para por que se es son hai ka ki ke ko me se aur है का की के में से को और""".split()  # noqa: SIM905 - a list of words reads best as a text
)
"""Words that say nothing about the topic."""

# Vowel signs of Indic scripts are marks, which \w leaves out: their blocks are named so that a word stays whole.
_WORD: Final = re.compile(r"[\w\u0900-\u0dff]+(?:['\-][\w\u0900-\u0dff]+)*")


def words(text: str) -> list[str]:
    """The words of a text as the cues are written: case folded, apostrophes straight."""
    return _WORD.findall(text.casefold().replace("\u2019", "'"))


def count_cues(tokens: Sequence[str]) -> list[int]:
    """How often each of ``CUES`` occurs among these words."""
    counts = [0] * len(CUES)
    for start in range(len(tokens)):
        phrase = ""
        for token in tokens[start : start + _LONGEST_PHRASE]:
            phrase = f"{phrase} {token}" if phrase else token
            for number in _PHRASES.get(phrase, ()):
                counts[number] += 1
    return counts
