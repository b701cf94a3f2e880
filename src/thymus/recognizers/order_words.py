"""The words of orders to an assistant, by what they do in one.

English, Spanish, French, German, Portuguese, Italian and Hindi. Written without accents, as
`thymus.recognizers.guises.Folded` leaves them; Hindi in both scripts.
"""

from __future__ import annotations

from typing import Final

CLASSES: Final[dict[str, str]] = {
    "not": """
        not don't dont never no do'nt without cannot can't isn't
    """,
    "revoke": """
        ignore ignoring disregard disregarding forget discard dismiss neglect bypass override overrule
        abandon omit erase nvm nevermind violate break circumvent nullify unlearn ignora ignorad ignore
        ignoren olvida olvide olviden olvidad desobedece descarta ignorez oublie oubliez ignoriere ignoriert
        ignorieren vergiss vergesst vergessen missachte missachten esqueca esquecam desconsidere
        desconsiderem ignorem dimentica dimenticate ignorate trascura scorda
    """,
    "revoke_hi": """
        अनदेखा नजरअंदाज भूल भूलो भुला bhool bhul bhulo bhulao ignore forget andekha nazarandaz
    """,
    "earlier": """
        aforementioned preexisting given hitherto so previous prev previously prior preceding above earlier
        before former foregoing past existing original initial old anteriores anterior previas previos
        previa antes arriba precedente precedentes precedents anterieures avant dessus vorherigen vorigen
        vorherige bisherigen bisherige fruheren obigen vorher oben acima previa precedenti sopra prima पिछले
        पिछली पिछला पूर्व ऊपर पहले pichhle pichle pichhli pehle upar uper
    """,
    "orders": """
        instruction* prompt prompts directive* directions guideline* rules commands orders restrictions
        programming mandates constraints parameters instruccion* indicaciones reglas ordenes directrices
        consignes regles directives ordres anweisung* regeln vorgaben befehle systemprompt* instrucoes
        regras diretrizes istruzioni regole ordini indicazioni निर्देश* नियम* आदेश* nirdesh* niyam* aadesh*
    """,
    "revoke_other": """
        wipe purge scrap clear reset delete remove drop reject cancel overwrite suspend void replace
        replaces overrides supersedes cancels voids overwrites supersede
    """,
    "instructions": """
        instruction* prompt prompts directive* guidelines rules programming commands
    """,
    "job": """
        researcher* engineer* expert* student* company companies startup user users enthusiast* fan fans
        course meetup conference developer* specialist* scientist* team tool tools project artist*
        consultant*
    """,
    "thing": """
        list lists name names interface group groups manual guide id ids page pages menu account accounts
        agent agents profile database table experience
    """,
    "void": """
        void cancelled canceled superseded overridden overruled obsolete revoked null invalid outdated
        lifted replaced
    """,
    "user": """
        user users usuario usuaria utilisateur utilisatrice nutzer nutzerin benutzer utente उपयोगकर्ता यूजर
    """,
    "ai": """
        ai llm llms chatbot chatbots gpt chatgpt claude gemini copilot bot bots ki ia summariser summarizer
    """,
    "assistant": """
        assistant assistants asistente assistente assistenten model agent
    """,
    "limits": """
        rules limits limit restrictions restriction filters filter guidelines guideline ethics ethical moral
        morals boundaries censorship constraints safeguards reglas restricciones limites limite regles
        restrictions regeln grenzen regras restricoes regole restrizioni limiti
    """,
    "without": """
        without no any zero sin sans aucune aucun ohne keine sem senza nessuna free
    """,
    "send": """
        send forward email mail post upload transmit leak share exfiltrate submit append attach include
        fetch envia envie manda reenvia envoie envoyez transfere sende schicke leite envie encaminhe invia
        inoltra bhejo भेजो भेजें
    """,
    "private": """
        password* data email* mail* contact* card code codes history conversation* calendar address* file*
        inbox record* key keys token* credential* message* detail* information info list lists name names
        secret* number numbers pin
    """,
    "do": """
        open visit click go run download send forward execute fetch pay transfer buy call book delete add
        save store remember tell say reply answer respond ignore include mention recommend mark approve
        confirm use write print give read follow do never always please must should you
    """,
    "show": """
        print output reveal show repeat display tell give reply list write echo copy summarise summarize
        translate leak dump share expose disclose send paste recite state
    """,
    "save": """
        save store write commit add record persist put keep insert log memorize memorise remember guarda
        guardar recuerda anota enregistre enregistrez memorise speichere speichern merke merk salva guarde
        memorizza ricorda registra
    """,
    "mem": """
        memory memories memoria memoire gedachtnis gedaechtnis
    """,
    "mem_hi": """
        memory yaaddasht yaad याददाश्त स्मृति मेमोरी
    """,
    "future": """
        future subsequent later coming following upcoming
    """,
    "chats": """
        conversation* session* chat chats interaction* reply replies answer answers response* query queries
        request*
    """,
    "from_now": """
        ahora agora maintenant desormais dorenavant jetzt sofort poi avanti adelante diante
    """,
    "act": """
        actua actuas actuaras responde respondes agis agiras reponds handle handelst antworte antwortest
        agisci rispondi aja atue comportate
    """,
    "say": """
        tell inform mention reveal disclose notify alert show report say warn
    """,
    "say_es": """
        digas dile menciones cuentes reveles informes digais avises
    """,
    "say_fr": """
        dis dites parle parlez mentionne revele informe avertis previens montre
    """,
    "say_de": """
        sag sage sagen erzahle erzahl erwahne verrate informiere
    """,
    "say_it_pt": """
        diga conte fale revele mencione avise informe dire dici rivelare informare raccontare avvisare
        mostrare
    """,
    "you_are_now": """
        eres seras es sei bist sois voce
    """,
}
"""Words by the name of their class; ``word*`` is every word that begins so."""
