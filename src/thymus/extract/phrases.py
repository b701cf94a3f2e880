"""The wording that ``chatter`` goes by, in the languages that assistants are mostly used in: data, no logic.

Patterns are matched against lower-case text, but for greetings and closings, where capitals tell names from words. A
phrase belongs here only if it states nothing in any context; where one might, it is left to the judge.
"""

from __future__ import annotations

import re
from typing import Final

from thymus.extract.lines import CLOSING
from thymus.extract.text import listed

FILLERS: Final = re.compile(
    r"(?:(?:hey|hi|hello|um+|uh+|er+m?|so|ok(?:ay)?|yeah|well|and|but|please|pls|plz|oh|ah|äh|also|q|ps|also|btw|"
    r"sorry|alexa|siri|du|say|right|lol|then|now)\b[\s,.:!–-]*)+",
)
SPEAKER: Final = re.compile(r"[^\W\d][^:?!.]{0,40}:\s+")

_FORMAL: Final = (
    r"(?:dear|to whom it may concern|estimad[oa]s?|querid[oa]s?|sehr geehrte[rs]?|chère?s?|gentile|prezad[oa]s?|"
    r"liebe[rs]? (?:eltern|alle|kolleg\w+|nachbar\w+|freund\w+|kund\w+|gäste|familie|frau|herr|mama|papa))"
)
_INFORMAL: Final = (
    r"(?:hi+|hello+|hey+|hiya|howdy|yo|greetings|hola|hallo|moin|servus|grüß gott|bonjour|bonsoir|salut|coucou|ciao|"
    r"buongiorno|buonasera|olá|oi|bom dia|boa tarde|hoi|goedemorgen|hej|hejsan|namaste|namaskar|नमस्ते|नमस्कार|"
    r"शुभ प्रभात|su?prabhat|salaam|(?:very )?good ?(?:morning|afternoon|evening|day|night)|morning|afternoon|evening|"
    r"welcome(?: back)?|guten (?:morgen|tag|abend)|buen[oa]s (?:días|tardes|noches))"
)
_ALL: Final = (
    r"(?:to|all|everyone|everybody|you|team|folks|guys|both|there|again|sir|madam|ladies|and|gentlemen|friends|dear|"
    r"love|mum|dad|mate|neighbours|parents|families|ji|à tous|zusammen|a todos|जी|&)"
)
_NOT_NAMES: Final = (
    r"(?!(?i:from|it|it['’]s|this|here|i|i['’]m|is|are|at|my|your|the|(?:\w+ )?(?:assistants?|ai|bots?|robots?|"
    r"models?|agents?|helpers?|software|computers?|machines?|claude|gpt|siri|alexa))(?!\w))"
)
_NAME: Final = rf"(?:\s{_NOT_NAMES}(?:(?i:{_ALL})(?![\w])|[A-ZÀ-Þ][\w.'’-]*))"
_HELLO: Final = (
    rf"(?:(?i:{_FORMAL})(?:\s{_NOT_NAMES}[\w.'’&@-]+){{0,6}}|(?i:{_INFORMAL})(?:{_NAME}{{1,5}}|"
    rf"\s{_NOT_NAMES}[\w.'’&@-]+)?)"
)
GREETING: Final = re.compile(rf"{_HELLO}\s*[,!:–—-]+\s+")
HELLO_ALONE: Final = re.compile(rf"(?:{_HELLO}[\s,.!:;–—-]*){{1,3}}{_NAME}?[\s,.!:;–—-]*")
HELLO_WORDS: Final = listed(
    """
    dear to estimado estimada estimados estimadas querido querida queridos queridas sehr cher chère chers chères
    gentile prezado prezada liebe lieber greetings hola hallo moin servus grüß bonjour bonsoir salut coucou ciao
    buongiorno buonasera olá oi bom boa hoi goedemorgen hej hejsan namaste namaskar नमस्ते नमस्कार शुभ suprabhat
    salaam very good goodmorning morning afternoon evening welcome guten buenos buenas hiya howdy yo
    """
)
GOODBYE: Final = re.compile(
    rf"(?i:{CLOSING})(?:\s?[,.!–—-]+\s*(?:(?:[A-ZÀ-Þ]|(?:of|the|and|from|at|your|de|la|team|all|us|an|y|"
    rf"&)(?!\w))[\w.'’&-]*+[,.]?+\s?+){{0,8}}"
    r"|\s?[,.!–—-]+\s*[^\W\d]+| (?i:from all of us).{0,40})?[\s.!,]*"
)
THANKS: Final = re.compile(
    r"(?:(?:many |very |ok(?:ay)?,? |and |with |a big )*(?:thanks|thank (?:you|u)|thx|ty|tysm|cheers|"
    r"danke(?: schön)?|vielen dank|(?:muchas )?gracias|merci(?: (?:beaucoup|d'avance|mille fois))?|grazie(?: mille)?|"
    r"obrigad[oa]|dhanya?va?a?d|shukriya|धन्यवाद|शुक्रिया)(?:[\s,]+(?:you|so|very|much|a lot|again|in advance|all|"
    r"everyone|everybody|team|guys|mate|love|dear|man|kindly))*(?: (?:for|por|für|pour)(?: [^\W\d][\w'’-]*){1,4}|"
    r",? [^\W\d]+)?|(?:we )?(?:thank you|thanks) (?:so much |very much )?for (?:choosing|contacting|shopping|flying|"
    r"travelling|banking|staying|reading|getting in touch|reaching out|writing|visiting|"
    r"subscribing)\b[^\d:;,]{0,80})[\s.!]*",
)
SMALL_TALK: Final = re.compile(
    r"(?:(?:i|we)?\s?(?:do |really |sincerely )?(?:hope|trust) (?:you(?:['’]re| are)?|u|ur|this|that|the|all|"
    r"everyone|everything|it)\b[^\d:;,]{0,30}(?:well|good spirits|great|fine|finds you[^\d:;,]{0,30}|weekend|day|"
    r"week|holiday|summer|health|ok(?:ay)?)|(?:i |we )?(?:really )?look(?:ing)? forward to (?:hear|see|meet|work|"
    r"welcom|your|read)[^\d:;,]{0,60}|(?:have|enjoy) (?:a|an|your|the) (?:[a-z]+ ){0,3}(?:day|night|evening|weekend|"
    r"week|holidays?|time|trip|flight|journey|one|morning|afternoon|christmas|year|stay|summer|meal|"
    r"rest of your \w+)(?: (?:ahead|everyone|all|everybody|too))?|(?:see|c|catch|speak|talk|write)(?: to)? (?:you|u|"
    r"ya|soon|later)(?: (?:all|soon|later|then|there|around|up|around))*|(?:ok(?:ay)? )?c u(?: \w+)?|"
    r"take care(?: of (?:you|your)\w*)?|bye(?: bye)?|goodbye|good ?night|sweet dreams|long time no see|"
    r"(?:ha ?){1,6}(?:h|,? fair)?|lo+l+|lmao|rofl|ok(?:ay)?|okey|k+|kk|yes+|no|nope|yep|yup|yeah|sure(?: thing)?|"
    r"(?:keep|stay) (?:well|warm|dry|safe|healthy)|i['’]?m (?:good|fine|ok(?:ay)?|sorry|aight|great|done|kidding|"
    r"joking|serious)|fine|right|great|cool|"
    r"nice(?: one)?|perfect|awesome|wow|oops|hmm+|mm+|uh+|um+|ugh+|aw+|oh+|ah+|eh|meh|phew|yay|"
    r"gg|omg|brb|ttyl|np|idk|same(?: here)?|true|exactly|agreed|got it|will do|noted|sounds (?:good|great|fun)|"
    r"no (?:worries|problem|prob)|my pleasure|you['’]re welcome|well done|good (?:luck|job|one|game)|"
    r"happy (?:birthday|new year|easter|diwali|holidays|anniversary)(?: [^\d:;,]{0,30})?|merry christmas|congrat(?:s|"
    r"ulations)(?: [^\d:;,]{0,40})?|best of luck|safe (?:travels|journey|flight)|get well soon|cheers|"
    r"(?:test(?:ing)?[\s,]*){1,4}|(?:la ?){2,6}|miss (?:you|u)|love (?:you|u)(?: \w+)?|big hugs?(?: [^\d:;]{0,30})?|"
    r"warm welcome|just (?:kidding|checking(?: in)?|saying)|fyi|asap|tbc|n/?a|sorry(?: (?:for|about) (?:the|any|"
    r"this) (?:[a-z]+|late reply|short notice))?|"
    r"(?:we )?apologi[sz]e for any inconvenience[^\d:;]{0,30}|(?:please )?(?:do not hesitate|don['’]t hesitate|"
    r"feel free) to (?:contact|reach(?: out to)?|get in touch|ask|call|write)(?: (?:me|us|to us|our \w+(?: team)?|"
    r"with us|if|should|at any time|anytime|for (?:any|more|further))\b[^\d:;@]{0,60})?|(?:if you have |for |"
    r"with )?any (?:further |other |more )?(?:questions|queries|concerns)(?:,? (?:please )?(?:just )?(?:let (?:me|"
    r"us) know|contact us|get in touch|ask|shout|email us|call us|reply to this email|(?:do not|"
    r"don['’]t) hesitate to (?:ask|contact us|get in touch)))?|let me know(?: what you think| if [^\d:;]{0,40})?|"
    r"keep in touch|write soon|kisses|thinking of you(?: [^\d:;]{0,30})?)"
)
FAREWELL: Final = re.compile(
    r"(?i:with (?:\w+ ){0,3}?(?:love|thanks|gratitude|wish|wishes|regards|affection|apologies|sympathy|compliments|"
    r"warmth)(?: and \w+(?: \w+)?| in advance)?|"
    r"(?:sorry|apologies|thanks) again|(?:until|till|'?til) (?:then|tomorrow|next time|soon|later)|see you(?: all|"
    r" both)?(?: then|"
    r" soon| there| around| later)?|(?:keep|stay) (?:well|warm|dry|safe|cool|cosy|healthy|in touch)|be well|"
    r"(?:speak|talk) soon|yours(?: (?:in|as) \w+)?|fondly|onwards?|warmly|bis (?:bald|dann)|à (?:bientôt|plus tard)|"
    r"hasta (?:luego|pronto)|phir milenge)\s?[,.!–—-]+\s*(?:(?:[A-ZÀ-Þ]|(?:of|the|and|from|at|your|de|la|all|&)(?!\w))"
    r"[\w.'’&-]*+[,.]?+\s?+){1,6}x{0,3}[\s.!,]*"
)
WELL_WISHES: Final = re.compile(
    r"(?:i |we )?(?:do )?hope (?:you['’]?re|you are|u r|you both are|everyone['’]?s|everybody['’]?s|all is|"
    r"all['’]s) (?:all |both |"
    r"keeping |staying |feeling |doing )*(?:warm|dry|cosy|safe|well|good|fine|great|ok|okay|rested|healthy|happy|"
    r"better|"
    r"settled|keeping up)(?: (?:and|&) (?:warm|dry|well|safe|rested|happy))?(?: (?:at|in|over|out) (?:home|there))?"
)
FILLER_WORDS: Final = listed(
    """
    a ok okay k yes yeah yep yup no nope noo nooo noooo hmm hm mm um uh er ah oh ugh lol lmao haha hahaha hehe wow
    yay omg oops got it thanks thank thx ty ta cheers please pls sure fine cool great nice right way me again wait
    hey hi hello bye bro mate man dude yaar bhai ji haan accha acha arre theek hai ja nein genau oui non voilà bof
    mouais sí vale claro jaja jajaja x xx xxx so well then and first whoop tysm np gg sorry 1st true exactly totally
    indeed amen हाँ जी अच्छा ठीक है बिल्कुल
    """
)
FOOTER: Final = re.compile(
    r"(?:to |click (?:here |below )?to |if you (?:wish|want|would like|['’]d like) to )?(?:unsubscribe|opt[ -]out|"
    r"be removed)(?: (?:from|and|or|to|here|please|click|at|using|via|by|instantly|link|manage|[|·-])\b.{0,300})?$|"
    r"(?:reply|text|send) [\"'“]?(?:stop|quit|end|unsubscribe)[\"'”]? (?:to|for|2)\b.{0,40}(?:opt|unsub|end|stop|"
    r"cancel|remove)|unsubscribe (?:here|from this (?:list|group|newsletter))\b|(?:view|read|open) (?:this |"
    r"the )?(?:e-?mail |message |it )?(?:in|online|on) ?(?:your|a|the)? ?(?:web ?)?browser|(?:trouble|problems?|"
    r"can['’]?t|cannot|unable to) (?:viewing|seeing|see|view|reading|read) (?:this|the|our) (?:e-?mail|message|"
    r"newsletter)|you(?:['’]re| are)? (?:are )?(?:receiv(?:ing|ed)|getting|got) this (?:e-?mail|message|newsletter|"
    r"mail|sms|text)\b|this (?:e-?mail|message|mail|communication|transmission)(?: \([^)]{0,60}\))?(?:,? (?:and|"
    r"including|with) (?:any|all|its) (?:files|attachments?|enclosures?)[^.]{0,60})? (?:is|are|was|were|may|"
    r"contains?|has been|have been)\b.{0,120}\b(?:confidential|privileged|intended|sent (?:to|from|by)|addressed|"
    r"scanned|automatically|automated|copyright)|if you (?:are not|have received this|received this|"
    r"no longer (?:wish|want)|(?:do not|don['’]t) (?:wish|want) to receive|wish to stop receiving|"
    r"prefer not to receive)\b.{0,40}\b(?:recipient|error|mistake|receiv\w+|mails?|emails?|messages|newsletter)|"
    r"(?:please )?(?:do not|don['’]t) (?:reply|respond) (?:directly )?to this\b|this (?:mailbox|inbox|"
    r"address) is (?:not|un)\s?monitored|(?:please )?consider the environment|(?:copyright |©|"
    r"\(c\) ?)+\s?(?:copyright )?\d{4}|all rights reserved|(?:privacy (?:policy|notice)|terms (?:of (?:use|service)|"
    r"and conditions|& conditions)|manage (?:your )?preferences|update (?:your )?(?:email )?preferences|contact us|"
    r"follow us|view online|cookie policy)(?:\s?[|·•,-]|$)|sent (?:from|via) my(?: [\w-]+){1,4}$|^get outlook for|"
    r"(?:swipe|tap) to dismiss|(?:skip to (?:main )?content|back to top|show more(?: results)?|read more|load more|"
    r"click here)$|(?:was this (?:page|article|e-?mail) helpful)|add us to your address book|"
    r"(?:it is|they are) intended (?:solely|only|exclusively) for\b|to ensure (?:the )?delivery (?:of (?:our|these|"
    r"this)|to your inbox)|powered by \w+$"
)
STANDING: Final = re.compile(
    r"\b(?:alwa?ys?|never|from (?:now|here|today|this \w+) on|from now|whene?ver|(?:every|each|any)(?: \w+)? ?time|"
    r"anytime|every|each|going forward|in (?:the )?future|henceforth|remember|keep in mind|bear in mind|"
    r"make (?:a )?note|note that|stop|quit|no longer|by default|until further|as a rule|forget|ignore|without asking|"
    r"any day|rather|when i|if i|if anyone|if anybody|siempre|nunca|recuerda|immer|nie(?:mals)?|ab sofort|künftig|"
    r"merk dir|toujours|jamais|désormais|hamesha|kabhi|yaad|sempre|mai più|altijd)\b|(?:हमेशा|कभी)(?!\w)",
)
TAG: Final = re.compile(
    r"[,;–-]\s?(?:ok(?:ay)?|k|yeah|yes|right|alright|eh|huh|no|got it|deal|agreed|please|(?:is|are|was|do|does|did|"
    r"wo|ca|could|should|have|has)n['’]t \w+|(?:are|do|is|did|have|can) (?:you|we|they|it|he|she)|¿?vale|¿?verdad|"
    r"¿?no|oder|nicht wahr|ne|gell|ja|n['’]est-ce pas|hein|d'accord|vero|na|theek hai)\s?[?!？]+$|\bok (?:ai|bot|"
    r"robot)?\s?\?+$",
)
DIRECTS: Final = re.compile(
    r"(?:can|could|would|will|wld|cld|kannst|könntest|könnten|peux|pourrais|puedes|podrías)\b|why (?:don't|not)\b"
)
INTERROGATIVE: Final = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|am|was|were|do|does|did|can|could|will|would|should|"
    r"shall|may|have|has|had|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|can['’]t|won['’]t|any(?:one|body)?|any|"
    r"wie|was|wer|wo|wann|warum|welche[rs]?|kann|kannst|hast|bist|ist|soll|qué|quién|cómo|cuándo|dónde|cuál|cuánto|"
    r"puedes|est-ce|qui|que|quoi|quand|comment|pourquoi|où|kya|kaise|kahan|kab|kyun|kaun|kitna)\b|(?:क्या|कैसे|कहाँ|"
    r"कब|कौन|कितना)(?!\w)",
)
_PRONOUN: Final = r"(?:i|you|u|ya|we|they|he|she|it|there|anyone|anybody|everyone|somebody|someone|this|that)\b"
UNMARKED: Final = re.compile(
    r"(?:what|which|who|whose|how|where|why)(?:['’]s(?! (?:left|said|done|mine|yours|missing|more)\b)|['’]re| (?:is|"
    r"are|was|were|do|does|did|can|could|will|would|should|has|have|had|rhymes|am))\b(?!.*\b(?:here['’]s|instead of|"
    r"now)\b)|when(?:['’]s| is (?:my|the|our|your|his|her)| (?:do|"
    rf"does|did|will|can|should) {_PRONOUN})"
    r"|how (?:much|many|long|far|often|old|big|late|early|tall)(?: \w+){0,2} (?:is|are|was|do|does|did|can|will|"
    r"would|should|has|have)\b|(?:what|which)(?: of (?:these|those|the \w+))?(?: [\w'’-]+){1,3} (?:is|are|was|were|"
    r"do|does|did|can|could|will|would|should|has|have) "
    rf"(?:{_PRONOUN}|the\b|my\b)|what time (?:is|was)\b|which of (?:these|those|the)\b|(?:is|isn['’]t) {_PRONOUN}|"
    rf"(?:are|aren['’]t) (?:you|u|we|they|there|these|those)\b|am i\b|(?:do|does|did|"
    r"don['’]t you|didn['’]t) (?:i|you|u|we|they|he|she|anyone|anybody|any)\b|(?:have|has|haven['’]t|"
    r"hasn['’]t) (?:you|u|we|they|anyone|anybody)\b"
    rf"|(?:can|could|will|would|can['’]t|couldn['’]t|won['’]t) {_PRONOUN}|should (?:i|we) [^,]*$|shall (?:i|we)\b"
    r"|any(?:one|body) (?:know|got|seen|have|heard|else|want|fancy|going)\b|still on for\b|(?:wie|was|wer|wo|wann|"
    r"warum) (?:ist|sind|war|kann|hat|geht|heißt|macht)\b|kannst du\b|können sie\b|¿",
)
ONE_OFF: Final = re.compile(
    r"(?:book|order|get|find|write|tell|show|read|play|make|recommend|suggest|fetch|sing|draw|buy|grab|send|cook|"
    r"tell) (?:me|us) (?:a|an|another|some(?:thing|where|one)?|two|three|one|the (?:best|cheapest|nearest|next|"
    r"latest|difference|meaning|plural))\b|(?:recommend|suggest) (?:a|an|some)\b|set (?:a|an|another|the|"
    r"my) (?:[\w-]+ ){0,3}(?:timer|alarm|reminder)\b|help me (?:write|with|find|plan|choose|draft|understand|decide|"
    r"think|to)\b|add up\b|(?:calculate|convert|summari[sz]e|translate|rewrite|shorten|rephrase|proofread|explain|"
    r"simplify|fix|check) (?:this|that|these|it|the (?:above|attached|following))\b|turn (?:the |down |up |on |"
    r"off )+[\w ]{0,20}\b(?:lights?|tv|music|lamp|radio|heating|volume|fan|oven)\b|remind me (?:to|about|at|in|on|"
    r"tomorrow|tonight|later)\b|(?:write|draft|compose) (?:a|an)\b|(?:google|look up|search for|rebase)\b|"
    r"play (?:some|the)\b|tell me (?:a|about|how|what|who|when|where|why|one thing)\b|kannst du mir\b|"
    r"schreib mir (?:ein|eine)\b|(?:can|could|would|will|wld|cld) (?:you|u|ya)\b",
)
LOOK_THERE: Final = re.compile(  # nothing stands behind it that could be news: no colon, comma or number
    r"(?:please )?(?:(?:look|have a look|take a look|glance) (?:at|in|into|through|over)|(?:check|read|open|scan|skim|"
    r"go through|search)(?: through)?(?: all)?(?: my| the| our)(?: [\w-]+){0,2} (?:calendars?|diary|schedule|e-?mails?|"
    r"mails?|inbox|messages?|files?|notes?|pages?|documents?|reports?|attachments?|links?|sites?|threads?|logs?))"
    r"\b[^:;,\d–—]{0,80}$",
)
REASON: Final = re.compile(
    r"\b(?:because|since|as|cos|coz|cuz) (?:i|i['’]m|we|my)\b|, (?:i|i['’]m|i['’]ve|we|my)\b|\b(?:allerg\w*|vegan|"
    r"vegetarian)\b"
)
CONDITION: Final = re.compile(r"(?:if|even if|had|were)\b")
WOULD: Final = re.compile(r"\b(?:i|we|you|he|she|it|they|that|there|there)(?:['’]d| would| could| might)(?: \w+){1,2}")
WISH: Final = re.compile(
    r"(?:honestly )?(?:i['’]?m |we['’]?re |i am |we are |been |still |kinda |half )*(?:thinking (?:of|"
    r"about) \w+ing\b|toying with\b|tempted to\b|dreaming of\b|wondering (?:if|whether|about)\b|"
    r"considering \w+ing\b)|(?:i |we )(?:was |were )?(?:might|wonder(?:ing|ed)?)\b|(?:i |we )?wish (?:i|we|they|he|"
    r"she|it|there|you)\b|(?:maybe|perhaps) (?:i|we)['’]?(?:ll| will| could| should| might)\b|(?:i |we )?(?:am |are |"
    r"['’]m |['’]re )?hoping to\b",
)
SOFT: Final = re.compile(
    r"['’]d (?:rather|sooner|prefer|like|love|appreciate|hate)\b|\bwould (?:rather|sooner|prefer|like|love|"
    r"appreciate|hate)\b"
)
