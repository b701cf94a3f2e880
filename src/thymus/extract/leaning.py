"""Whether a sentence leans on what stands before it, told by how it begins: *It moved*, *Now Friday*.

Wording in English, German, French, Spanish and Hindi. A sentence counts as leaning only where it is plain that its
subject stands elsewhere; one that may be read alone is left alone. Only the beginning is looked at, so the time does
not grow with the sentence.
"""

from __future__ import annotations

import re
from typing import Final

_BEGINNING: Final = 200
_SHORT: Final = 9
_VERY_SHORT: Final = 5
_LONGEST_ANSWER: Final = 14

_LINK = re.compile(
    r"(?:(?:and|but|so|also|well|oh|btw|p\.?s\.?|however|anyway|actually|yes|yeah|yep|no|nope|though|then|ok|okay|"
    r"because|fyi|n\.?b\.?|und|aber|denn|y|e|pero|porque|et|mais|car|donc|aur|lekin|magar|"
    r"toh)(?:[,:!.–—-]+\s*|\s+)|[-–—…]+\s*)*",
    re.IGNORECASE,
)  # fmt: skip
_VERB: Final = (
    r"(?:is|isn['’]t|was|wasn['’]t|are|aren['’]t|were|will|won['’]t|has|hasn['’]t|have|had|can|can['’]t|cannot|must|"
    r"should|may|might|would|could|does|doesn['’]t|do|don['’]t|did|didn['’]t|means?|meant|appl(?:y|ies|ied)|"
    r"replaces?|supersedes?|includes?|goes|works?|takes?|costs?|starts?|begins?|ends?|happens?|needs?|moved?|moves|"
    r"came|comes?|gets?|got|runs?|opens?|closes?|leaves?|makes?|also|only|now|still|always|never|all|just)\b"
)  # fmt: skip
_SUFFIX: Final = r"(?:['’](?:s|ll|d|re|ve))"
_REFERRING: Final = (
    r"(?:change|number|address|date|time|price|rate|place|arrangement|rule|room|code|offer|appointment|meeting|"
    r"booking|order|account|plan|line|route|address|entrance|version|figure|amount|fee|slot|session|visit)s?"
)
_PRONOUN = re.compile(
    rf"(?:its?(?={_SUFFIX}|\s|[,.!]|$)|he(?={_SUFFIX}|\s)|she(?={_SUFFIX}|\s)|they(?={_SUFFIX}|\s)|theyre\b|(?:this|"
    rf"that|these|those)(?:{_SUFFIX}|s\b|\s+(?:{_VERB}|ones?\b|(?:new |old |latest )?{_REFERRING}\s+{_VERB}))|"
    rf"(?:both|neither|either|each|all|none|some|most|one|two|half) of (?:them|these|those|it)\b|(?:both|neither|"
    rf"either|each|none)\s+{_VERB}|the (?:latter|former|other one|others|new one|old one|first one|second one|"
    rf"last one|next one|same)\b|the (?:new|updated|revised|correct) (?:{_REFERRING}|password|passcode|pin|link|"
    rf"venue|one) (?:is|will be|has)\b|another one\b|(?:his|her|their)\s+\w)",
    re.IGNORECASE,
)  # fmt: skip
_OTHER_TONGUES = re.compile(
    # German; "Sie" is the polite "you" unless its verb is in the singular
    r"(?:er|sie) (?:ist|war|wird|wurde|hat|hatte|kann|muss|soll|kostet|liegt|fährt|beginnt|startet|findet|kommt|geht|"
    r"gilt|heißt|wohnt|arbeitet|zieht|fängt|endet|bleibt)\b|es (?:ist (?:jetzt|nun|am|um|ab|auf|verschoben)|wird|"
    r"wurde|kostet|liegt|findet|beginnt|startet|fängt|endet|gilt|heißt|steht|zieht)\b|(?:das|dies(?:er|e|es)?|"
    r"jene[rs]?|beide|beides) (?:ist|sind|war|waren|wird|wurde|werden|gilt|gelten|hat|haben|kostet|findet|beginnt|"
    r"bleibt)\b|(?:seine?|ihre?) (?:neue |alte )?[A-ZÄÖÜ]\w+ (?:ist|sind|lautet|wird|wurde|hat)\b|(?:jetzt|nun|"
    r"ab \S+|seit \S+) (?:ist|sind|wird|kostet|liegt) (?:er|sie|es)\b|"
    # French; "il y a", "il faut", "il est important" have no antecedent
    r"(?:ils?|elles?) (?!y a\b|faut\b|faudra\b|pleut\b|neige\b|est (?:important|possible|temps|nécessaire|"
    r"interdit)\b|semble\b|s['’]agit\b)\w|c['’]est (?:maintenant|désormais|à|au|le|la|chez|en|reporté|annulé|déplacé|"
    r"dans|plus)\b|(?:maintenant|désormais),? (?:c['’]est|il|elle)\b|(?:ça|cela|ceci|celui-ci|celle-ci|ceux-ci|"
    r"tous les deux|les deux) \w|(?:son|sa|ses|leurs?) (?:nouvel(?:le)? |nouveau )?\w+ (?:est|sont|sera|commence|"
    r"a (?:changé|été))\b|"
    # Spanish, where the verb alone can be the sentence's subject
    r"ahora (?:es|está|será|son|queda|cuesta) |(?:él|ella|ellos|ellas|esto|eso|aquello|ambos|ambas) \w|(?:ese|esa|"
    r"este|esta|esos|estas) (?:es|está|era|será|son|ha|se)\b|(?:es|está|será|sigue siendo|empieza|comienza|termina|"
    r"queda|cuesta|cambia|abre|cierra|sale) (?:ahora|a |al |el |en |la |las |los |los |desde|hasta|ya |de )|se (?:ha|"
    r"han|cambió|movió|pasó|pasa|mueve|traslada|celebra|aplazó|canceló|cambia)\b|su (?:nuev[oa] )?\w+ (?:es|está|"
    r"será|ha|cambió)\b|"
    # Hindi, in Latin letters and in Devanagari
    r"(?:yeh?|yah|wo|woh|vo|voh|vah|iska|iski|iske|uska|uski|uske|unka|unki|unke|inka|ab (?:wo|woh|ye|yeh|iska|uska)|"
    r"dono)\s\w|ab (?:\S+ ){1,4}(?:hai|hain|hoga|hogi|hoge)\b|(?:यह|ये|वह|वो|वे|इसका|इसकी|इसके|उसका|उसकी|उसके|उनका|"
    r"उनकी|इनका|दोनों|अब (?:यह|वह|ये|वो))\s",
    re.IGNORECASE,
)  # fmt: skip
_EXPLETIVE = re.compile(
    r"it(?:['’]?s|['’]ll be|['’]d be| is| was| will be| would be| has been| had been)?\s+(?:really |very |so |"
    r"always |not |just |quite |been |too |also |only )*(?:good|great|nice|lovely|wonderful|important|clear|true|"
    r"possible|impossible|likely|unlikely|time|worth|hard|easy|difficult|best|better|fine|safe|raining|snowing|sunny|"
    r"freezing|getting|me|us|an? (?:pleasure|shame|pity|joy|honou?r|good|long|lovely|great|beautiful)|(?:an?|"
    r"the) (?:[\w-]+ ){0,2}(?:fact|rule|policy|truth|custom|requirement|case) (?:that|to)|come to|no (?:secret|"
    r"surprise|use|wonder)|funny|odd|strange|sad|seems|appears|turns out|turned out|looks like|sounds like|"
    r"feels like|goes without|rained|snowed|depends|\S+ (?:\w+ )?(?:that|who)|[A-Z]\w+(?: [A-Z]\w+)? (?:here|from|"
    r"speaking))\b",
    re.IGNORECASE,
)  # fmt: skip
_IMPERSONAL = re.compile(
    r"they(?:['’](?:ve|re|ll|d)| have| are| will| had)?\s+(?:just |also |now |since |finally |all )*\w+\s+(?:up |"
    r"down |out |off |on |back )?(?:the|an?|my|our|your|all|every|new|his|another|some|that|[A-Z]\w+)\b"
)
_SELF_CONTAINED = re.compile(
    r"(?:this|that)(?: is|['’]?s)\s+(?:an?|to|just|your|our|my|me|all|it|that|why|life|fine|great|good|ok(?:ay)?|"
    r"nice|because|how|what|where|when|[A-Z]\w+(?: [A-Z]\w+)?(?:,| (?:here|from|at|speaking|of)))(?!\w)|that (?:said|"
    r"being|way|was that)\b"
)
_POLITE = re.compile(r"(?:his|her|their) (?:majesty|excellency|honou?r|eminence|highness|royal)\b", re.IGNORECASE)

_FINITE = re.compile(
    r"\b(?:i|we|you|he|she|it|they|there|who|ich|wir|ihr|je|nous|vous|yo|nosotros|main|hum|am|is|are|was|were|will|"
    r"won['’]t|has|have|had|can|can['’]t|must|should|would|could|does|do|did|means|isn['’]t|aren['’]t|wasn['’]t|"
    r"doesn['’]t|don['’]t|ist|sind|war|wird|werden|wurde|hat|haben|est|sont|sera|es|está|son|será|hai|hain|hoga)\b|"
    r"\w['’](?:s|re|m|ll|ve|d)\b|है|हैं|होगा|होगी",
    re.IGNORECASE,
)  # fmt: skip
_NO_SUBJECT = re.compile(
    r"(?:(?:is|was|were|are|will|has|have|had|won['’]t|isn['’]t|wasn['’]t|doesn['’]t|didn['’]t|hasn['’]t) (?!i\b|"
    r"you\b|we\b|they\b|he\b|she\b|it\b|there\b|the\b|a\b|an\b|my\b|your\b|our\b|anyone\b)|(?:starts|begins|ends|"
    r"opens|closes|costs|leaves|takes|goes|runs|works|needs|comes|meets|departs|arrives|lasts|applies|"
    r"expires) (?!me\b|us\b))",
    re.IGNORECASE,
)
# Words that no subject follows.
_ELLIPSIS = re.compile(
    r"(?:moved|changed|cancell?ed|postponed|pushed|shifted|rescheduled|delayed|brought forward|put back|switched|"
    r"renamed|replaced|swapped|closed|open|sold|gone|due|back|still|no longer|no more|not|any ?more|instead|except|"
    r"excluding|apart from|unless|until|till|starting|effective|as of|twice|once|daily|weekly|same|the same|"
    r"previously|formerly|originally|ditto|likewise|instead of|rather than|verschoben|verlegt|abgesagt|geändert|"
    r"statt(?:dessen)?|außer|nicht mehr|gleiche[rs]?|salvo|excepto|ya no|cambiado|cancelado|aplazado|misma|mismo|"
    r"en vez|sauf|déplacée?|annulée?|reportée?|même|au lieu|wahi|वही)(?=[\s,:.!-]|$)",
    re.IGNORECASE,
)  # fmt: skip
# Words that a subject or an order may follow as well, unless what follows is short and says when or how many.
_OPEN = re.compile(
    r"(?:(?P<now>now|jetzt|nun|ahora|maintenant|désormais|abhi|ab|अब)|only|just|also|on|at|from|in|by|for|since|"
    r"after|before|to|with|without|usually|mostly|every|am|um|im|bis|nur|desde|hasta|sólo|dès|seulement|sirf|सिर्फ|"
    r"केवल)\s",
    re.IGNORECASE,
)
_WHEN: Final = (
    r"(?:\d[\w:.,/%-]*+|noon|midnight|o['’]clock|pm|tomorrow|today|tonight|(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)days?|mon|tue|wed|thu|fri|sat|sun|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lundi|mardi|"
    r"mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|january|jan|"
    r"february|feb|march|mar|april|apr|may|june?|july?|august|aug|september|sept?|october|oct|november|nov|december|"
    r"dec|weekends?|weekdays?|mornings?|afternoons?|evenings?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|fifteen|twenty|thirty)"
)
_SAYS_WHEN = re.compile(rf"\b{_WHEN}(?!\w)|\b(?:only|now|instead)\b", re.IGNORECASE)
_LATER_PRONOUN = re.compile(
    rf"(?:(?:on|from|at|in|until|till|after|before|as of|since|starting|for|by)(?:\s[^\s,.;:?!]+){{1,3}}|(?:this|"
    rf"next) (?:week|month|year|term|time|one|\w+day)|now|today|tomorrow|tonight|instead|{_WHEN}),?\s(?:it|he|"
    rf"she)(?:['’](?:s|ll|d)\s|\s{_VERB})(?!.{{0,60}}\b(?:who|that)\b)",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"(?:i|we|you|they|he|she)(?:['’](?:ve|d|ll|m|re|s))?\s+(?:(?:have|has|had|will|would|can|could|should|must|just|"
    r"already|also|now|still|really|am|is|are|was|were|going|to|need|needs|want|wants|finally|don['’]t|didn['’]t|"
    r"never|always|since|not)\s+){0,4}(?!think|thought|hope|know|knew|guess|believe|said|say|says|wish|mean|make|"
    r"made|making|find|found|reckon|feel|see|take)\w+(?:\s(?:up|out|off|on|down|over|back|in))?\s(?:it|"
    r"them)\b(?!['’]|\s(?:is|was|will|has|had|would|can|should|might|may|could|are|were|have|if|when|goes|works)\b)",
    re.IGNORECASE,
)  # fmt: skip
_REASON = re.compile(
    r",?\s(?=(?:because|so that|due to|owing to|as (?:i|we|the|he|she|they)|weil|damit|porque|parce)\b)|,\s(?=(?:so|"
    r"since|but|not|sorry)\b)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"(?:(?:on|at|by|from|to|until|till|in|the|of|about|around|now|room|gate|platform|floor|and|or|not|then|half|"
    rf"quarter|past|um|am|ab|uhr|a|las|los|el|le|à|heures?|baje|ko|every|next|[£$€]\d[\w:.,/%-]*+|"
    rf"{_WHEN})(?:[\s,.!–-]++|$))+",
    re.IGNORECASE,
)  # fmt: skip
_YES_OR_NO = re.compile(
    r"(?:yes|no|nope|yep|yeah|never|always|not|sí|ja|nein|doch|oui|non|haan|nahi|हाँ|नहीं)\b", re.IGNORECASE
)

_FOR_A_VALUE = re.compile(
    r"\b(?:when|where|who|what|which|how (?:much|many|long|often|old)|wann|wo|wer|was|welche[rs]?|wie (?:viel|lange)|"
    r"qui|quand|où|quel(?:le)?s?|combien|cuándo|dónde|quién|qué|cuál|cuánt[oa]s?|kab|kahan|kahaan|kitna|kitne|kaun|"
    r"कब|कहाँ|कितना|कौन)(?!\w)",
    re.IGNORECASE,
)
# Verbs that are nouns as often: "Book club meets", "Park Street is closed".
_ALSO_NOUNS: Final = (
    r"(?:answer|call|address|update|check|reset|stop|start|turn|transfer|click|log|sign|text|email|mail|contact|wait|"
    r"wear|park|enter|press|hold|return|report|look|try|wash|drink|book|share|format|change|switch|move|pick|drop|"
    r"help|meet|store|set|trust|treat|ring|visit|order|post)"
)
_ORDER = re.compile(
    r"(?:(?:please|pls|plz|kindly|always|never|only|just|now|also|then|so|and|but|bitte|por favor|s['’]il (?:te|"
    r"vous) plaît|from now on|going forward|hey \w+|assistant)[,:]?\s+|(?:if|"
    r"when(?:ever)?) [^,]{3,60},\s+)*(?:don['’]?t|do not|never|always|make sure|be sure|be|ensure|remember|note that|"
    r"keep|let|ignore|disregard|forward|send|reply|respond|use|write|speak|tell|ask|save|delete|forget|add|bring|put|"
    r"read|avoid|prefer|take|give|pay|follow|open (?:the|a|an|your)|close (?:the|a|an|your)|leave|come|go|see|eat|"
    r"get|buy|confirm|assume|recommend|suggest|refer|mention|translate|summari[sz]e|you (?:must|should|need to|"
    r"have to|are to)|nutze|verwende|benutze|antworte|schreib|merk|nimm|ruf|usa|responde|escribe|recuerda|"
    r"utilise[rz]?|réponds|écris|appelle[rz]?|"
    rf"{_ALSO_NOUNS}(?!\s(?:\w+\s){{0,3}}?(?:is|are|was|were|has|have|will|used|meets|opens|closes|starts|ends|costs|"
    r"moves|moved|goes|runs|works)\b))\b(?![-:]|['’]s|\s(?:is|are|was|were|has|will)\b)",
    re.IGNORECASE,
)  # fmt: skip
_ORDER_WITHIN = re.compile(
    r"\b(?:send|call|click|reply|visit|te?xt|see|ring|contact|go to|please|pls|info(?:rmation)?)\b", re.IGNORECASE
)


def leans(words: str) -> bool:
    """Whether a sentence (on one line) needs what stands before it."""
    core = _core(words)
    if not core or core[-1] in "?？":
        return False
    if _PRONOUN.match(core):
        small = core.lower() if core.isupper() else core[:1].lower() + core[1:]
        return not (
            _EXPLETIVE.match(core) or _IMPERSONAL.match(small) or _SELF_CONTAINED.match(small) or _POLITE.match(core)
        )
    if _OTHER_TONGUES.match(core) or _LATER_PRONOUN.match(core) or _OBJECT.match(core):
        return True
    core = _REASON.split(core, 1)[0]
    if not _is_short(core) or ": " in core:
        return False
    if _NO_SUBJECT.match(core):
        return True
    if orders(core) or says_something(core) or _ORDER_WITHIN.search(core):
        return False
    if found := _OPEN.match(core):
        count = core.count(" ") + 1
        return count <= _VERY_SHORT and bool(_SAYS_WHEN.search(core, found.end()) or (found["now"] and count <= 3))
    return bool(_ELLIPSIS.match(core) or _VALUE.fullmatch(core))


def answers(question: str, words: str) -> bool:
    """Whether a sentence right after a question is understood with it only."""
    if _YES_OR_NO.match(words) or leans(words):
        return True
    return (
        asks_for_a_value(question)
        and words.count(" ") < _LONGEST_ANSWER
        and not (orders(words) or says_something(words))
    )


def asks_for_a_value(question: str) -> bool:
    """Whether it asks when, where, who or how much."""
    return bool(_FOR_A_VALUE.search(question[-_BEGINNING:]))


def orders(words: str) -> bool:
    """Whether a sentence begins as an instruction does; with a fact in one passage both would be of the wrong kind."""
    return bool(_ORDER.match(words[:_BEGINNING]))


def says_something(words: str) -> bool:
    """Whether there is a verb that makes it a sentence rather than an item's name."""
    return bool(_FINITE.search(words[:_BEGINNING]))


def _core(words: str) -> str:
    """The beginning without *and*, *but* and other words that link."""
    said = words[:_BEGINNING]
    link = _LINK.match(said)
    return said[link.end() if link else 0 :]


def _is_short(core: str) -> bool:
    return core.count(" ") < _SHORT and len(core) < _BEGINNING
