"""The rules about tool calls, as data, and which tools are how sensitive.

``ACTION_RULES`` is the whole table. Rules have no order: of all that apply to all values of a call the most careful
answer wins, as among gates. No outside source's word ever lets a tool of high sensitivity go ahead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Self

from thymus.core.actions import ALL_ROLES, AUTHORITY, BY_USER, SUPPORT, ActionRule, Answer, Fact, Role, Sensitivity
from thymus.errors import PolicyError

_VITAL: Final = frozenset({Role.DESTINATION})
_REST: Final = ALL_ROLES - _VITAL


def _rule(
    name: str,
    says: str,
    facts: Collection[Fact] | Fact,
    answers: str,
    *,
    unless: frozenset[Fact] = frozenset(),
    roles: frozenset[Role] = ALL_ROLES,
) -> ActionRule:
    low, normal, high = (Answer[word.upper()] for word in answers.split())
    facts = frozenset({facts} if isinstance(facts, Fact) else facts)
    return ActionRule(name=name, says=says, facts=facts, answers=(low, normal, high), unless=unless, roles=roles)


def _no_support(name: str, says: str, fact: Fact) -> ActionRule:
    """A memory has the value, and does not stand for it."""
    return _rule(name, says, fact, "ask ask deny", unless=AUTHORITY, roles=ALL_ROLES - {Role.NAME})


ACTION_RULES: Final = (
    _rule("you-said-it", "you said it in this conversation", Fact.SAID, "allow allow allow"),
    _rule("your-own-memory", "you told me so yourself", Fact.OWN, "allow allow allow"),
    _rule("you-accepted-it", "you accepted it when I asked", Fact.ACCEPTED, "allow allow allow"),
    _rule(
        "verified-owner",
        "a verified sender says it, and it is the sender's own address or site",
        Fact.OWNER,
        "allow allow ask",
        unless=BY_USER,
    ),
    _rule(
        "verified-source", "a verified source says it", Fact.VERIFIED, "allow allow ask", unless=BY_USER, roles=_REST
    ),
    _rule(
        "only-a-verified-source",
        "a verified source says it, and you have not: that proves who says it, and not that it is right for you",
        Fact.VERIFIED,
        "allow ask ask",
        unless=BY_USER | {Fact.OWNER},
        roles=_VITAL,
    ),
    _rule(
        "unverified-source",
        "nobody but an unverified source says it",
        Fact.UNVERIFIED,
        "ask ask ask",
        unless=AUTHORITY,
        roles=_VITAL,
    ),
    _rule(
        "unverified-detail",
        "nobody but an unverified source says it",
        Fact.UNVERIFIED,
        "allow ask ask",
        unless=AUTHORITY,
        roles=_REST,
    ),
    _no_support(
        "held-back", "it comes from a memory that is held back: settle that in the inbox first", Fact.HELD_BACK
    ),
    _no_support("taken-back", "it comes from a memory that was rejected, or whose source was revoked", Fact.TAKEN_BACK),
    _no_support("out-of-date", "it was replaced by something newer", Fact.OUT_OF_DATE),
    _no_support(
        "too-many-alike", "more memories look like it than can be read, so it counts as held back", Fact.CROWDED
    ),
    _rule(
        "only-mentioned",
        "only memories that are held back, or no longer stand, mention it",
        {Fact.HELD_BACK, Fact.TAKEN_BACK, Fact.OUT_OF_DATE, Fact.CROWDED},
        "allow ask ask",
        unless=AUTHORITY,
        roles=frozenset({Role.NAME}),
    ),
    _rule("warned-against", "a memory that you or a verified source gave warns of it", Fact.WARNED, "ask ask deny"),
    _rule(
        "differs-from-yours",
        "you told me something else",
        {Fact.AGAINST_OWN, Fact.AGAINST_SAID},
        "ask ask deny",
        unless=BY_USER,
        roles=_VITAL,
    ),
    _rule(
        "detail-differs-from-yours",
        "you told me something else",
        {Fact.AGAINST_OWN, Fact.AGAINST_SAID},
        "allow ask ask",
        unless=BY_USER,
        roles=_REST,
    ),
    _rule(
        "yours-for-another",
        "you told me so of somebody or something else, and another value for this",
        Fact.MIXED_UP,
        "ask ask ask",
        unless=frozenset({Fact.SAID}),
        roles=_VITAL,
    ),
    _rule(
        "differs-from-verified",
        "a verified source says something else",
        Fact.AGAINST_VERIFIED,
        "ask ask ask",
        unless=AUTHORITY,
        roles=_VITAL,
    ),
    _rule(
        "detail-differs-from-verified",
        "a verified source says something else",
        Fact.AGAINST_VERIFIED,
        "allow ask ask",
        unless=AUTHORITY,
        roles=_REST,
    ),
    _rule(
        "not-in-memory",
        "it is not in memory: the assistant may have it from this conversation, or made it up",
        Fact.NOWHERE,
        "allow ask ask",
        roles=_VITAL,
    ),
    _rule(
        "sum-not-in-memory",
        "it is not in memory: the assistant may have it from this conversation, or made it up",
        Fact.NOWHERE,
        "allow allow ask",
        roles=frozenset({Role.SUM}),
    ),
    _rule(
        "no-opinion",
        "it is not in memory, and it is nothing that memory must vouch for",
        Fact.NOWHERE,
        "allow allow allow",
        roles=frozenset({Role.DETAIL, Role.NAME}),
    ),
    _rule("invisible-characters", "it holds characters that nobody sees", Fact.INVISIBLE, "ask ask ask"),
    _rule("not-checked", "there are more values here than one check looks at", Fact.UNCHECKED, "ask ask ask"),
)
"""What is asked of each value; the most careful answer wins."""

_READING: Final = "check count describe find get list look_up lookup query read search show view"
_HIGH_PARTS: Final = (
    "bank beneficiar checkout credential delete deploy dose drop_ erase grant iban install medication password payee "
    "payment permission prescri publish purchase refund remit remove revoke shell submit transfer unlock wipe withdraw"
    # German, French, Spanish, Portuguese, Italian, Norwegian; marks above letters are left out
    " uberweis ueberweis bezahl einzahl abbuch versend losch loesch entfern bestell freigeb gutschrift"
    " paiement virement supprim effac rembours"
    " eliminar enviar comprar ejecut borrar transfier"
    " pagament remessa deletar"
    " bonific trasfer elimin acquist esegu prelev spedi"
    " betal slett kjop fjern"
)
_HIGH_WORDS: Final = (
    "bash buy click cmd command donate eval evaluate exec execute forward pay place_order post powershell reply run "
    "send sh share spawn sudo terminal wire "
    "zahle zahlen zahlung sende senden schick schicke schicken kaufe kaufen ausfuhren ausfuehren "
    "executer executar resilier envoyer envoye payer paye virer vire envoi envoie envois acheter achat partager lancer "
    "pagar paga pago pagos pague envia envie envio compra compre retirar retire publicar compartir gira girar "
    "mandar manda apagar apaga excluir sacar pix remeter compartilhar "
    "pagare invia inviare invio mandare comprare cancella cancellare versa versare "
    "overfor overfore overforing overforer sende utfor utfore kjor kjore del "
)
TOOLS: Final[Mapping[str, Sensitivity]] = MappingProxyType(
    {verb: Sensitivity.LOW for word in _READING.split() for verb in (word, f"{word}_*")}
    | dict.fromkeys((f"*{part}*" for part in _HIGH_PARTS.split()), Sensitivity.HIGH)
    | {
        pattern: Sensitivity.HIGH
        for word in _HIGH_WORDS.split()
        for pattern in (word, f"{word}_*", f"*_{word}", f"*_{word}_*")
    }
)
"""Patterns of tool names and how sensitive such tools are; others are NORMAL."""
IGNORED: Final = frozenset(
    [
        "batch_size",
        "currency",
        "cursor",
        "dry_run",
        "encoding",
        "fields",
        "format",
        "idempotency_key",
        "include_*",
        "k",
        "lang",
        "language",
        "limit",
        "locale",
        "max_results",
        "max_tokens",
        "offset",
        "order_by",
        "page",
        "page_size",
        "page_token",
        "per_page",
        "request_id",
        "retries",
        "sort",
        "sort_by",
        "temperature",
        "timeout",
        "timezone",
        "top_k",
        "trace_id",
        "tz",
        "unit",
        "units",
        "verbose",
    ]
)
"""Patterns of argument names whose values steer the tool and name nothing."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAKS: Final = re.compile(r"[\W_]+")
_LETTERS: Final = str.maketrans({"ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "ß": "ss", "ł": "l", "đ": "d", "ı": "i"})
_WILD: Final = frozenset("*?[")
_NAMESPACE: Final = re.compile(r"__|[.:/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPolicy:
    """Which tools are how sensitive, which arguments name nothing, and the rules.

    :param tools: patterns (``*`` and ``?``) of tool names, written ``send_email`` whatever the tool's own style; what
        stands before ``__``, a dot, colon or slash (``mcp__bank__send_payment``) is no part of the name. A pattern
        without ``*`` and ``?`` decides alone; of others that fit the most sensitive one does. Marks above letters are
        left out of both.
    :param ignored: patterns of argument names; a destination is looked at whatever its argument is called.
    :param default: of a tool that no pattern fits.
    :raises PolicyError: where a sensitivity has an unknown name, or no rule is given.
    """

    tools: Mapping[str, Sensitivity | str] = field(default_factory=lambda: TOOLS)
    ignored: Collection[str] = IGNORED
    rules: tuple[ActionRule, ...] = ACTION_RULES
    default: Sensitivity = Sensitivity.NORMAL

    def __post_init__(self) -> None:
        if not self.rules:
            raise PolicyError(
                "an action policy without rules allows everything: give ACTION_RULES, or rules of your own"
            )
        if self.tools is not TOOLS:
            tools = {_plain_pattern(pattern): Sensitivity.read(given) for pattern, given in self.tools.items()}
            object.__setattr__(self, "tools", MappingProxyType(tools))
        object.__setattr__(self, "ignored", frozenset(self.ignored))
        object.__setattr__(self, "default", Sensitivity.read(self.default))

    def adjusted(
        self, tools: Mapping[str, Sensitivity | str] = MappingProxyType({}), ignored: Collection[str] = ()
    ) -> Self:
        """The same policy with more patterns, or other sensitivities for its own."""
        return replace(self, tools={**self.tools, **tools}, ignored=frozenset(self.ignored) | frozenset(ignored))

    def sensitivity(self, tool: str) -> Sensitivity:
        """How sensitive a tool of this name is."""
        tool = _unaccented(tool.strip())
        name = plain_name(_NAMESPACE.split(tool)[-1]) or plain_name(tool)
        for known in (plain_name(tool), name):
            if known in self.tools:
                return Sensitivity.read(self.tools[known])
        levels = (
            level
            for level in reversed(Sensitivity)
            if _any_of(tuple(pattern for pattern, given in self.tools.items() if given is level)).fullmatch(name)
        )
        return next(levels, self.default)

    def ignores(self, argument: str) -> bool:
        """Whether an argument of this name steers the tool and names nothing."""
        name = plain_name(argument)
        return any(fnmatchcase(name, pattern) for pattern in self.ignored)

    def weigh(
        self, sensitivity: Sensitivity, role: Role, facts: Collection[Fact]
    ) -> tuple[Answer, tuple[ActionRule, ...]]:
        """The most careful answer to a value, and the rules that gave it; ALLOW and none where no rule applies."""
        found = {Fact.NOWHERE, *facts} if SUPPORT.isdisjoint(facts) else set(facts)
        hits = [rule for rule in self.rules if rule.applies(role, found)]
        answer = max((rule.answers[sensitivity] for rule in hits), default=Answer.ALLOW)
        return answer, tuple(rule for rule in hits if rule.answers[sensitivity] is answer)


@lru_cache(maxsize=32)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


@lru_cache(maxsize=2_048)
def _plain_pattern(pattern: str) -> str:
    if _WILD.isdisjoint(pattern):
        return _unaccented(plain_name(pattern))
    return _unaccented(_HUMP.sub("_", pattern).lower().replace("-", "_"))


def _unaccented(name: str) -> str:
    """``überweisen`` as ``uberweisen``, ``overføring`` as ``overforing``."""
    plain = unicodedata.normalize("NFKD", name).translate(_LETTERS)
    return "".join(char for char in plain if not unicodedata.combining(char))


def plain_name(name: str) -> str:
    """``sendEmail``, ``send-email`` and ``Send Email`` as ``send_email``."""
    return _BREAKS.sub("_", _HUMP.sub("_", name)).strip("_").lower()
