"""Orders to an assistant, as attackers word them: rules in the language of `thymus.recognizers.wordings`.

The manner follows what is published: HackAPrompt (Schulhoff et al. 2023), AgentDojo (Debenedetti et al. 2024),
InjecAgent (Zhan et al. 2024), MINJA (Dong et al. 2025), and Greshake et al. 2023 for orders in pages and mails. A plain
task or a plain lie ("your parcel is held") is no overt order and is not looked for here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from thymus.recognizers.guises import Folded
from thymus.recognizers.order_words import CLASSES
from thymus.recognizers.wordings import Wordings

_RULES: Final[dict[str, str]] = {
    "override": """
        !{not} {revoke} ~1 what|everything|all|whatever ~1 you've|you ~2 told|taught|learned|learnt|instructed|trained
        not|don't|never|stop follow*|obey* ~2 {orders} ~1 you ~2 given|got|have|received
        opposite|despite|against|ignore|disregard ~5 your developers|developer|creators|makers|programmers|operator
        reset|reprogram|reboot|reconfigure yourself
        trust|obey|believe only|this ~1 text|message|note|document ~1 only|and|alone ~1 nothing|only?
        !{not} {revoke} ~4 {earlier} ~3 {orders}
        !{not} {revoke} ~3 {orders} ~6 {earlier}
        !{not} {revoke} ~1 everything|anything|todo|tudo|tout|alles|tutto ~2 {earlier}
        !{not} {revoke} ~1 all of|the|that ~1 above|foregoing|preceding
        !{not} {revoke} all above|before|prior $
        !{not} {revoke} ~2 what|everything|all|anything|whatever|quanto|que|ce ~2 you|te|ti|vous|dir|have ~3
            told|said|instructed|asked|learned|know|been|dit|dijeron|gesagt|detto
        !{not} {revoke}|skip|disable|deactivate|cancel|suspend ~1 your|ur|system|safety|developer|content|tus|
            su|tes|vos|deine|suas|tue ~2 {orders}|filters|training|safeguards|policy|policies|role|restrictions
        turn|switch off your|all|the ~1 safety|content|ethical|system ~1 {orders}|filters|checks
        !{not} {revoke} ~1 {user} ~2 request*|question*|wish*|prompt*|order*|task*|{orders}
        !{not} {revoke} any|all|every ~1 {orders} ~2 that|which|from|given
        not|don't|never|stop|quit|cease|longer ~1 follow*|obey*|listen*|adhere*|comply*|heed|apply ~3 {earlier}|
            your|system|its|developer ~2 {orders}|message
        set aside|pay ~3 {earlier} ~2 {orders}
        set|put aside ~3 {orders}
        pay no attention to ~3 {earlier}|your ~2 {orders}
        !{not} {revoke_other} ~3 {earlier}|other|your ~2 {instructions}
        !{not} {revoke} whatever|what ~5 told|instructed|asked|gave ~2 you|{earlier}
        !{not} {revoke}|{revoke_other} ~3 {orders} ~1 you ~2 given|have|had|got|received|follow
        no matter what ~2 {orders}|system|developer
        everything|all|anything ~1 you ~3 told|taught|instructed ~7 wrong|false|{revoke}|{void}
        your|these|those ~1 {orders} ~2 not|don't|longer ~1 apply|bind|count|matter
        !{not} {revoke} ~3 system|developer ~1 message*|policy|policies|{orders}
        !{not} {revoke} ~1 all|any|your ~1 safety|content|security ~1 policy|policies|{orders}|filters|checks
        whatever|what you ~3 asked|told|instructed ~6 not|don't|instead|forget|ignore|disregard
        ^ please|now|just? forget|ignore|disregard everything|all and|you
        !{not} {revoke} ~1 {orders} de|di|of|about sicurezza|seguridad|securite|safety|seguranca
        not|don't|never|stop|quit|cease follow*|obey* ~2 {orders} ~2 {earlier}
        take|takes|have|has precedence|priority over ~3 {instructions}|{earlier}
        {earlier} ~1 {orders} ~3 longer|not|don't|never ~1 apply|valid|count|matter|relevant
        {earlier} ~1 {orders} ~5 {void}
        {orders} ~5 {earlier} ~4 {void}
        none|no of|more ~1 {orders} ~2 {earlier}? ~1 apply|applies|hold|count
        your {earlier} task|job|goal|role|instructions is|are|has ~1 over|complete|completed|done|finished|void
        ^ obey me|only|this|my
        as if|though you had|have no {limits}
        no hagas|hagan|tengas|tengan|tenga caso|en ~5 {orders}
        ne ~1 respecte|respectez|suis|suivez|obeis|obeissez|applique plus ~3 {orders}
        no sigas|obedezcas|sigas ~3 {orders}
        caso omiso ~3 {orders}
        tiens|tenez|suis|suivez ~1 pas|plus ~2 compte? ~2 {orders}
        befolge|beachte|folge|befolgen|beachten ~4 {orders} ~3 nicht
        nao siga|obedeca ~3 {orders}
        non seguire|seguite|rispettare ~3 {orders}
        {earlier} ~4 {orders} ~4 {revoke_hi}
        {orders} ~3 {revoke_hi} karo|kar|kare|jao|jaao|do|करो|करें|जाओ|दो
    """,
    "persona": """
        henceforth|hereafter ~1 you ~1 are|shall|will|must|act
        you are|re|you're now? ~3 dan|jailbroken|unrestricted|unfiltered|uncensored|amoral
        you|you're are|now now? ~3 dan|jailbroken|unrestricted|unfiltered|uncensored|{ai} -{job}
        you are|will now ~2 {assistant}|hacker|expert|operator|freed
        now|going|this on|onwards|forward|moment|point ~2 you|you're are|will|must|shall|act|behave|respond|
            answer|{ai}
        now|going|this on|onwards|forward|moment|point ~1 act|behave|respond|speak as|like
        rest of ~2 chat|conversation|session ~2 you're|you ~1 are|act|will|must|my|a|an|the
        act|behave|respond|answer|pretend|roleplay|imagine|simulate|speak|are|be|{ai}|{assistant} ~7 {without}
            ~3 {limits}
        act|behave|respond|pretend|roleplay|role|imagine|simulate|speak|become|you're|you ~6 evil|jailbroken|
            unrestricted|unfiltered|uncensored|rogue|unaligned ~2 {ai}|{assistant}|mode|persona
        you are|now ~3 artificial intelligence -{job}
        unrestricted|unfiltered|uncensored|jailbroken|evil version of yourself|you
        pretend|imagine|suppose ~2 you ~2 {ai}|{assistant}|model ~4 {without}|never ~3 {limits}|refuse*|removed
        enter|activate|enabled|enable|switch|in|into|engage ~2 developer|dan|god|jailbreak|sudo|unrestricted|
            admin|debug|maintenance mode ~8 you|restrictions|{limits}|no
        you ~3 developer|dan|god|jailbreak|sudo|unrestricted|maintenance|debug mode
        enter|activate developer|dan|god|jailbreak|sudo|unrestricted mode
        dan|jailbreak mode
        do anything now
        jailbreak|jailbroken ~1 enabled|activated|{ai}|{assistant}|version
        you are|you're ~1 no longer ~3 {ai}|{assistant}|bound
        you're|you no|are ~1 longer ~2 {ai}|{assistant}|bound
        you have|were|are ~1 reprogrammed|jailbroken|liberated
        reprogrammed by
        as the|an|a|my|your|our|his|her ~3 {ai}|{assistant} ~5 you ~1 must|should|shall|have|need|are|will
        {from_now} ~4 {you_are_now} ~4 {without}|{ai}|{assistant}|dan
        {from_now} ~2 {act} ~4 {without}|{ai}|{assistant}|como|comme|als|come
        tu|voce|du es|eres|bist|sei|e ~1 desormais|ahora|agora|jetzt|ora|maintenant ~2 {assistant}|{ai}
        ab|अब se|से tum|aap|तुम|आप ~3 {ai}|{assistant}|असिस्टेंट|सहायक
    """,
    "new_instructions": """
        any|every|all|you ~2 {ai} -{job} ~6 must|has|have|shall|are|is ~1 {do}|reply|required|obliged|to
        new|updated|revised|additional|modified|override instructions|instruction|directive|directives|orders :|
            follow
        new|updated|revised|replacement|override system ~1 {orders}|message
        begin|start ~1 new|system|real|hidden {orders}
        instruction*|note|message|attention|todo|task|notice|reminder|directive*|dear|hey|hello|information|
            request|guidance ~1 to|for|all|any|every|the|each|para|pour|fur|an|per ~2 {ai} -{job}
        instruction*|note|message|attention|todo|task|notice|reminder|directive*|information|request|guidance ~1
            to|for ~1 assistant|assistants|model|agent
        instruction*|note|message|attention|todo|task|notice|dear|hey|hello|hi|achtung|atencion ~2 {ai}|
            assistants
        instruction*|note|message|attention|notice ~4 language|ai|automated|virtual|digital model*|assistant*|
            agent*|system*
        if ~1 you|this|any|an ~2 {ai}|language ~6 read*|process*|summari*|handl*|pars*|see*|analy*
        if|when you're ~2 {ai}|language -{job}
        to|for|attention all|any|every ~1 {ai} -{job}
        to|for|attention all|any|every ~1 language|ai model*|agent*|assistant*
        ^ hi|hello|hey|dear ai? assistant|agent|llm|bot|model $
        before|after|instead ~6 {user} task|request|query|question|prompt
        your ~1 real|actual|true instruction*
        if you are|re|were ~2 {ai}|language -{job}
        {ai}|{assistant}|model|models ~1 reading|processing|summarising|summarizing|handling|parsing|seeing|
            analysing|analyzing ~1 this|the
        before ~2 can|could|you|anything ~2 solve|answer|else|complete ~2 task|request|question|this|the|
            complete|do|follow|first|step
        before ~1 using ~2 other|tool|tools ~2 tool|tools
        your ~1 new|real|actual|true|sole ~1 task|job|goal|purpose|objective|mission|instruction* is|are to|:|
            now
        message from me ~6 to you the? ~1 {ai}|{assistant}|model
        {ai}|assistants|agents|assistant ~1 must|shall|should always|never|not
        rules|terms|policy ~4 require* you to
    """,
    "memory_order": """
        ^ please? ~1 {save}|forget|change|replace|set ~3 the {user} -{thing} ~6 :|and|to|with|is|as|that
        set|create|make|adopt|establish ~1 permanent|standing|lasting rule|instruction|habit|policy
        next time the {user} ~6 give|tell|say|answer|reply|use|suggest|recommend|send|show
        {save} ~7 to|in|into|from|en|dans|in|na|nella|bank|your|tu|ta|deinem|sua|tua ~1 long|your|permanent|
            persistent|tu|ta|deinem|sua|tua|the ~2 {mem}
        {save} ~4 to|in|into {mem}|memory
        update|overwrite|edit|change|clear|delete|erase|wipe|modify|correct your|all|the|its ~1 {mem}
        {save}|keep ~5 for|in|across ~2 {future} ~1 {chats}|reference
        remember|store|save|keep|retain ~2 permanently|forever|indefinitely
        update|change|overwrite|set|edit|modify|correct|replace ~1 the {user} ~3 profile|preference*|address|
            number|email|phone|bank|account ~2 to|:|with|is
        update|change|overwrite|edit|replace|delete|correct the stored|saved|remembered|known ~2 {private}
        {save} ~6 notes|profile|record|records|file|preferences about|of|on|for ~1 {user}
        on|forward|henceforth ~1 always|never ~1 answer|reply|respond|recommend|suggest|tell|say|state|mention|
            include
        merk|merke dir ~1 dauerhaft|permanent|kunftig|immer
        {save} ~2 siempre|toujours|immer|sempre ~1 que|dass|che
        in|for|across|to all|every|any|each|your {future} {chats}
        when|whenever|if|time|once the|this|any|our|a {user} ~1 ask*|mention*|want*|inquire*|request*|need*|
            quer* ~8 recommend|suggest|tell|say|answer|reply|respond|mention|direct|refer|steer|always|use|give|
            point|send
        {save} ~4 as ~3 permanent|lasting|{user}|standing|global|persistent ~1 preference*|fact*|rule*|
            instruction*|setting*
        ^ please? ~1 remember|memorize|memorise|record|save|store ~4 that|: ~1 the|this|our? {user}
        {mem}|tool ~2 record|save|store|that|: ~1 that? ~1 the|this|: ~1 {user}
        ^ please? memorize|memorise
        {assistant}|{ai} ~1 never|always|please|must ~1 forget|remember|store|memorize|memorise|save
        use|call|invoke|using ~1 your|the|save ~2 {mem} ~1 tool|function|bank
        use|call|invoke|using ~1 {save} {mem}
        {mem} ~1 bank|file|store|tool ~2 of|for ~1 {assistant}|{ai}|agent
        rule|this|knowledge ~4 in your ~1 {mem}|memory|knowledge
        knowledge to keep :
        {mem_hi} mein|me|में ~2 save|sahejo|rakho|store|daal|dalo|सहेजो|सहेजें|रखो|रखें|सेव
    """,
    "conceal": """
        no circumstances ~2 {say} ~3 {user}
        {say} nothing ~5 {user}
        not|don't|never ~1 include|mention|repeat|quote ~4 in ~2 summary|reply|answer|response
        not|don't|dont|never ~1 {say}|let ~4 {user} -{thing}
        remove|delete|erase|hide ~2 trace|traces|evidence of|that
        your ~1 answer|reply|response|output|summary ~1 must|should|shall|may not|never
        not|never ~1 refer|mention|hint|allude ~4 this|these|text|message|steps ~2 text|message|instruction*|
            steps|exists ~2 in|or|to|anywhere
        {user} ~1 never|not ~1 sees|learns|knows|finds|notices|hears
        keep ~2 {user} unaware|uninformed|ignorant
        no mention ~4 to ~1 {user}
        without ~1 telling|informing|asking|notifying|alerting|warning ~2 {user}|anyone|them
        without ~1 {user} ~2 knowing|noticing|consent|knowledge|approval|permission
        hide|conceal|keep|withhold|hidden|secret ~5 from ~1 {user}
        {user} ~1 must|should|may|does|doesn't|can|need|shall|mustn't|shouldn't|won't|will ~1 not|never|n't? ~4
            find|know|notice|see|learn|told|informed|aware|suspect|realise|realize
        so|that that? the {user} ~1 does|doesn't|won't|will|never|cannot ~1 not|never|notice|see|know ~1 notice|
            see|know|it?
        delete|remove|erase|destroy this|the ~1 mail|email|message|note ~2 after|once|when ~2 you
        never|not|don't ~1 reveal|disclose|mention|repeat ~1 this|these|that|the ~1 {orders}|message|note ~3 to|
            or|in
        no le|les ~1 {say_es} ~4 {user}
        no {say_es} ~5 {user}
        {say_fr} ~1 pas|rien|jamais ~3 {user}
        {say_de} ~1 dem|der|den|die ~1 {user} ~5 nichts|nicht|davon|kein|nie|niemals
        nao|non {say_it_pt} ~3 {user}
        {user} ~1 ko|को ~4 mat|मत|nahi|नहीं|न ~1 batana|batao|बताना|बताओ|बताएं|दिखाना
    """,
    "exfiltration": """
        hidden|invisible image|picture|pixel|link ~5 @
        ^ please? ~1 {send}|give|transfer|export|copy|read|move ~1 the {user} ~1 {private}
        ^ please? ~2 {send} ~3 {user} ~4 {private}
        {send} ~2 the|this|her|his {user} ~4 {private}
        {send} ~7 about|of|from ~1 the {user} ~4 to @|me|us|this|the
        envia|manda|reenvia|envoie|envoyez|transfere|sende|schicke|leite|envie|encaminhe|invia|inoltra ~6 {user}
        {send}|tell|give|list ~3 everything|all|anything|whatever ~5 about ~1 {user}
        {send} ~2 all|every|each|last|recent ~2 email*|mail*|message*|conversation*|chat*|file* ~9 @
        {send}|print|output|render|encode|put ~6 context|environment|system window|variables|prompt
        {send}|encode|append|put|include|render|add|insert ~6 conversation|chat|history|context|memory|memories
            ~9 @|webhook|url|link
        {send}|include|give|reveal|print ~3 api|secret|private|access key|keys|token ~3 environment|your|in|to|
            memory|config
        put|encode|append|embed ~8 url|link|@ ~3 fetch|open|visit|request|load|render
        {send} ~8 to @ ~2 without|silently|secretly|quietly
        retrieve|find|read|get|look|search|collect ~3 {user} ~5 {private} ~9 {send}
        retrieve|find|read|get|look|search|collect ~8 {private} ~4 {send} ~4 webhook|attacker
        read|open|include|upload|curl|cat|print|send|output ~5 id_rsa|ssh|aws|etc ~2 id|rsa|credentials|passwd|
            key|shadow ~4 in|include|and|send|https|to|@|answer|output
        {send} ~6 two|2fa|otp|verification ~2 code|factor ~6 @|webhook|me
        click|go|visit|open|confirm|enter|buy|pay|sign|log ~10 behalf of ~1 {user}
        {do} ~10 the|this {user} behalf
    """,
    "agent_order": """
        ^ hey|hi|dear|please? ai|virtual|digital? assistant|agent|ai|llm|chatgpt|copilot|gemini|claude|bot|
            chatbot :? ~1 {do}
        ai|llm agent|assistant|model|bot :? please? open|visit|click|go|run|download|send|forward|execute|fetch|
            pay|transfer|buy|say|state|ignore|approve
        using|invoke|call your ~1 tool|tools|browser|plugin|plugins|function
        use your ~1 tool|browser|plugin to|and|on
        call|invoke the|your ~3 tool with|to|and
        call|invoke|use the|your ~3 tool|function to {send}|delete|buy|pay|save
        execute|run ~5 the {user} machine|computer|device|system|laptop
    """,
    "prompt_leak": """
        which|what instructions|rules|prompt ~1 you ~2 given|told|got|have|receive
        {show} ~5 your|the|this ~1 system|initial|hidden|original|developer|exact|secret|internal|full|entire|
            complete|whole ~1 prompt|instruction*|message|rules|directive*
        what|which is|are|was|were|s your|the ~1 system|initial|hidden|original|developer|secret ~1 prompt|
            instruction*|message|rules
        ^ please? print|output|reveal|repeat|dump|leak|display|show|recite|echo ~2 your ~2 instructions|prompt|
            prompts|rules|programming|configuration|guidelines
        !{not} print|output|reveal|repeat|echo|recite|copy|write|display|dump ~3 text|words|everything|content|
            contents|line|lines|prompt|all ~2 above|before|preceding|verbatim -the
        ^ please? tell|list|give|state|share ~3 your ~1 instructions|rules|prompt|guidelines|directives $
        what|how ~2 your|the system prompt
        exact|initial|hidden|full|original|verbatim ~1 prompt|instructions ~4 developer*|openai|given|you
        gib|zeige|zeig|muestra|muestrame|montre|affiche|mostra|mostre|rivela|revele|donne ~3 systemprompt|
            prompt|systeme|sistema
        words|wording|text of the|your ~1 prompt|instructions ~1 above|before|verbatim
    """,
    "encoded": """
        decode|decrypt|decipher|base64|rot13|hex|unscramble|backwards|morse ~8 follow|execute|obey|carry|
            perform|comply|run
    """,
}
"""Rules by the name of what they see: one a line, a line that is indented further goes on."""


@cache
def orders() -> Wordings:
    """The rules, compiled at the first call."""
    classes = {name: Folded(words).text for name, words in CLASSES.items()}
    return Wordings(classes, _rows())


def _rows() -> Iterator[tuple[str, str]]:
    for name, block in _RULES.items():
        for rule in re.split(r"\n {8}(?! )", block.rstrip())[1:]:
            yield name, re.sub(r"\|\s+", "|", Folded(rule).text)
