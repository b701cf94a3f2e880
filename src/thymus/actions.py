"""Before a tool is called: gather what memory says about each value in its arguments, and let ``core.actions`` decide.

Values are found in four ways. By their letters, over every memory whatever its status (``stores.texts``): no flood
hides an identifier. By the identifiers of memories, which are looked for in the arguments, whatever is glued to them
there. By meaning, for sums, times and dates that may be spelt out: the best of the active, the held-back and the past
memories apart. And by the names beside a value, for what the user or a verified source says instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from thymus.circumstances import owner_of
from thymus.core.actions import AUTHORITY, BY_USER, Fact, Finding, Reason, Role, Verdict
from thymus.core.beliefs import HELD_BACK, SHOWN, Belief, Cause, Status
from thymus.core.disclose import Memory
from thymus.core.values import Account, Code, Email, Phone, Url, Value, ValueKind
from thymus.errors import InputError
from thymus.ports import Probe
from thymus.recognizers import recognize
from thymus.recognizers.arguments import (
    MOST_MENTIONS,
    PERSON_NAMES,
    Arguments,
    Mention,
    read_arguments,
    read_run,
)
from thymus.recognizers.leaves import LONGEST, Leaf
from thymus.recognizers.letters import letters
from thymus.recognizers.spellings import differs, near, needles, says
from thymus.stores.words import STOP_WORDS

if TYPE_CHECKING:
    from thymus.core.action_rules import ActionPolicy
    from thymus.core.claims import Scope
    from thymus.intake import Parts
    from thymus.stores.texts import Texts

MOST_SHOWN: Final = 4
"""Memories that a finding names, of each sort."""
MOST_KEPT: Final = 16
MOST_MISSES: Final = 48
"""Memories of each sort that look like having a value, do not, and are read all the same."""
MOST_RIVALS: Final = 48
"""Memories about a name, of the user and of verified sources each, in which another value is looked for."""
MOST_PROBES: Final = 6
NEAREST: Final = 24
_BATCH: Final = 200

_PAST: Final = frozenset({Status.SUPERSEDED, Status.REJECTED, Status.RETRACTED})
_CLASSES: Final = (frozenset({Status.ACTIVE}), HELD_BACK, _PAST)
_WARNING: Final = re.compile(
    r"\b(?:scam\w{0,4}|fraud\w{0,6}|phish\w{0,3}|fake|bogus|spoof\w{0,3}|imposters?|impostors?|hacked|compromised|stolen"
    r"|no longer|any ?more|blocked|blacklisted"
    r"|(?:never|do not|don['’]?t|must not|should not|shouldn['’]?t) (?:ever )?"
    r"(?:pay|use|send|call|ring|trust|open|click|visit|write|reply|answer|contact|transfer|take|accept|go))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_COMPARED: Final = frozenset(
    {ValueKind.TIME, ValueKind.TIME_RANGE, ValueKind.DATE, ValueKind.DATE_RANGE, ValueKind.PLACE, ValueKind.QUANTITY}
)
"""Kinds of detail of which one thing has one; a person can be owed several sums."""
_SAYING: Final = frozenset({Fact.OWN, Fact.VERIFIED})
_MEANT: Final = frozenset({Role.SUM, Role.DETAIL})


def check(
    parts: Parts,
    texts: Texts,
    scope: Scope,
    policy: ActionPolicy,
    tool: str,
    args: Mapping[str, object],
    said: Sequence[str],
) -> Verdict:
    """Weigh a call.

    :param texts: of this scope, up to date.
    :param said: what the user said in the conversation that led to the call.
    :raises InputError: where the arguments cannot be read.
    """
    now = parts.clock()
    arguments = read_arguments(args, observed_at=now)
    looked_at = [one for one in arguments.mentions if one.role is Role.DESTINATION or not policy.ignores(one.name)]
    inquiry = _Inquiry(
        parts=parts, texts=texts, scope=scope, said=[(text, recognize(text, observed_at=now)) for text in said]
    )
    seen = {mention: inquiry.look(mention) for mention in looked_at if mention.kind != "word"}
    inquiry.look_by_meaning({mention: sight for mention, sight in seen.items() if _by_meaning(mention, sight)})
    glued, complete = _glued(arguments, texts, seen)
    standing = {mention: inquiry.look(mention) for mention in glued}
    seen |= {mention: sight for mention, sight in standing.items() if sight.found or sight.crowded}
    complete = complete and arguments.complete
    sensitivity = policy.sensitivity(tool)
    findings = []
    for mention, sight in seen.items():
        inquiry.look_against(mention, sight, _subjects(mention, looked_at))
        facts = inquiry.facts(mention, sight)
        answer, rules = policy.weigh(sensitivity, mention.role, facts)
        findings.append(
            Finding(
                argument=mention.argument,
                value=mention.text,
                kind=mention.kind,
                role=mention.role,
                answer=answer,
                reasons=tuple(Reason(rule=rule.name, says=rule.says) for rule in rules),
                supports=tuple(Memory.of(belief) for belief in sight.shown()),
                contradicts=tuple(Memory.of(belief) for belief in sight.against[:MOST_SHOWN]),
            )
        )
    if not complete:
        answer, rules = policy.weigh(sensitivity, Role.DETAIL, {Fact.UNCHECKED})
        reasons = tuple(Reason(rule=rule.name, says=rule.says) for rule in rules if Fact.UNCHECKED in rule.facts)
        findings.append(
            Finding(argument="…", value="…", kind="values", role=Role.DETAIL, answer=answer, reasons=reasons)
        )
    answer = max((finding.answer for finding in findings), default=policy.weigh(sensitivity, Role.NAME, ())[0])
    return Verdict(tool=tool, sensitivity=sensitivity, answer=answer, findings=tuple(findings))


def _glued(arguments: Arguments, texts: Texts, seen: Mapping[Mention, _Sight]) -> tuple[list[Mention], bool]:
    """Identifiers of memories in the arguments that no recogniser sees there, and whether those are all.

    A flood of lookalikes of a number that was read as one has nothing to hide: that number was looked up.
    """
    numbers = [mention for mention in seen if any(isinstance(one, Account | Phone) for one in mention.readings)]
    known = [mention for mention in numbers if seen[mention].found or Fact.SAID in seen[mention].facts]
    found: list[Mention] = []
    complete = True
    for leaf in arguments.leaves:
        runs, all_read = texts.identifiers_in(_without(known, leaf))
        complete = complete and (all_read or texts.identifiers_in(_without(numbers, leaf))[1])
        for run in runs:
            glued = read_run(run, leaf, arguments.mentions)
            if glued and glued not in found:
                found.append(glued)
        if len(found) > MOST_MENTIONS:
            return found[:MOST_MENTIONS], False
    return found, complete


def _without(mentions: Iterable[Mention], leaf: Leaf) -> str:
    text = leaf.text
    for mention in mentions:
        if mention.argument == leaf.argument:
            text = text.replace(mention.text, "\n")
    return text


@dataclass(slots=True)
class _Sight:
    """What was seen of one value."""

    found: dict[Fact, list[Belief]] = field(default_factory=dict)
    misses: Counter[Fact] = field(default_factory=Counter)
    crowded: set[Fact] = field(default_factory=set)
    facts: set[Fact] = field(default_factory=set)
    against: list[Belief] = field(default_factory=list)

    def shown(self) -> list[Belief]:
        """Those with authority; the others where there are none."""
        order = [fact for fact in Fact if fact in self.found]
        order = [fact for fact in order if fact in AUTHORITY] or order
        return [belief for fact in order for belief in self.found[fact][:MOST_SHOWN]][:MOST_SHOWN]


def _by_meaning(mention: Mention, sight: _Sight) -> bool:
    spelt_out = any(not isinstance(reading, Code) for reading in mention.readings)
    return mention.role in _MEANT and spelt_out and not BY_USER & (sight.facts | sight.found.keys())


@dataclass(slots=True, kw_only=True)
class _Inquiry:
    """Everything that is read for one call, each memory once."""

    parts: Parts
    texts: Texts
    scope: Scope
    said: list[tuple[str, tuple[Value, ...]]]
    _read: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    _known: dict[str, Belief] = field(default_factory=dict)
    _accepted: dict[str, bool] = field(default_factory=dict)

    def look(self, mention: Mention) -> _Sight:
        """By its letters, in what the user said and in every memory."""
        sight = _Sight()
        for text, values in self.said:
            if says(text, values, mention):
                sight.facts.add(Fact.WARNED if _WARNING.search(text) else Fact.SAID)
            elif differs(values, mention) and mention.role is not Role.NAME:
                sight.facts.add(Fact.AGAINST_SAID)
        found_by = needles(mention)
        ids = chain.from_iterable(map(self.texts.holding, found_by))
        for belief in self._beliefs(ids):
            if near(belief.claim.text, found_by):
                self._note(belief, mention, sight)
            if mention.role is Role.NAME and Fact.OWN in sight.found:
                break
        return sight

    def look_by_meaning(self, sights: Mapping[Mention, _Sight]) -> None:
        """In the memories nearest to the values, each class of status apart; costs an embedding a value."""
        wanted = dict(islice(sights.items(), MOST_PROBES))
        if not wanted:
            return
        questions = [f"{mention.name.replace('_', ' ')} {mention.text}" for mention in wanted]
        vectors = self.parts.embedder.embed(questions, role="query")
        for (mention, sight), question, vector in zip(wanted.items(), questions, vectors, strict=True):
            probe = Probe(text=question, vector=vector)
            for statuses in _CLASSES:
                for hit in self.parts.store.search(self.scope, probe, NEAREST, statuses=statuses):
                    self._note(self._known.setdefault(hit.belief.id, hit.belief), mention, sight, expected=False)

    def _note(self, belief: Belief, mention: Mention, sight: _Sight, *, expected: bool = True) -> None:
        fact = self._standing(belief)
        kept = sight.found.get(fact, [])
        if belief in kept or len(kept) >= MOST_KEPT:
            return
        if expected and sight.misses[fact] >= MOST_MISSES:
            sight.crowded.add(fact)
            return
        if not says(belief.claim.text, self._values(belief, mention), mention):
            sight.misses[fact] += expected
        elif _WARNING.search(belief.claim.text) and fact in _SAYING:
            sight.facts.add(Fact.WARNED if fact is Fact.OWN else Fact.AGAINST_VERIFIED)
            sight.against.append(belief)
        else:
            sight.found.setdefault(fact, []).append(belief)

    def look_against(self, mention: Mention, sight: _Sight, subjects: Sequence[str]) -> None:
        """For another value of the same kind, in what the user and verified sources say about the same names."""
        about = [_named(subject) for subject in subjects]
        own = sight.found.get(Fact.OWN, [])
        if Fact.SAID in sight.facts or not _exclusive(mention) or _any_about(about, own):
            return
        read: Counter[Fact] = Counter()
        for subject, named in zip(subjects, about, strict=True):
            for belief in self._beliefs(self.texts.holding(letters(subject))):
                fact = self._standing(belief)
                if all(read[saying] >= MOST_RIVALS for saying in _SAYING):
                    return
                if fact not in _SAYING or read[fact] >= MOST_RIVALS or not named.search(belief.claim.text):
                    continue
                read[fact] += 1
                if differs(self._values(belief, mention), mention) and not _WARNING.search(belief.claim.text):
                    users = fact is Fact.OWN or self._is_accepted(belief)
                    sight.facts.add(Fact.AGAINST_OWN if users else Fact.AGAINST_VERIFIED)
                    if belief not in sight.against:
                        sight.against.append(belief)

    def facts(self, mention: Mention, sight: _Sight) -> set[Fact]:
        """Everything that the rules may ask about a value."""
        facts = sight.facts | sight.found.keys()
        if sight.crowded - sight.found.keys() - _SAYING:
            facts.add(Fact.CROWDED)
        outside = [*sight.found.get(Fact.VERIFIED, ()), *sight.found.get(Fact.UNVERIFIED, ())]
        if any(self._is_accepted(belief) for belief in outside):
            facts.add(Fact.ACCEPTED)
        if {Fact.AGAINST_OWN, Fact.OWN} <= facts:
            facts.add(Fact.MIXED_UP)
        if any(_owns(belief, mention) for belief in sight.found.get(Fact.VERIFIED, ())):
            facts.add(Fact.OWNER)
        if mention.invisible and mention.role in {Role.DESTINATION, Role.NAME}:
            facts.add(Fact.INVISIBLE)
        return facts

    def _standing(self, belief: Belief) -> Fact:
        claim = belief.claim
        if belief.status is Status.ACTIVE:
            if claim.from_user:
                return Fact.OWN
            proved = all(source.authenticated for source in claim.speakers) and owner_of(claim)
            return Fact.VERIFIED if proved else Fact.UNVERIFIED
        if belief.status in HELD_BACK:
            return Fact.HELD_BACK
        return Fact.OUT_OF_DATE if belief.status is Status.SUPERSEDED else Fact.TAKEN_BACK

    def _is_accepted(self, belief: Belief) -> bool:
        """Whether the user's own decision is what made it active."""
        if belief.id not in self._accepted:
            changes = [
                change
                for entry in self.parts.store.entries(self.scope, belief_id=belief.id)
                for change in entry.changes
                if change.belief == belief.id
            ]
            self._accepted[belief.id] = bool(changes) and changes[-1].cause is Cause.ACCEPT
        return self._accepted[belief.id]

    def _beliefs(self, ids: Iterable[str]) -> Iterator[Belief]:
        """The beliefs of these ids, each once, in this order, without erased ones and mere repetitions."""
        once = iter(dict.fromkeys(ids))
        while batch := list(islice(once, _BATCH)):
            unknown = [id_ for id_ in batch if id_ not in self._known]
            self._known.update(self.parts.store.get(self.scope, unknown))
            found = [self._known[id_] for id_ in batch if id_ in self._known]
            yield from (belief for belief in found if belief.status in SHOWN and not belief.erased)

    def _values(self, belief: Belief, mention: Mention) -> tuple[Value, ...]:
        if mention.role is Role.NAME:
            return ()
        if belief.id not in self._read:
            self._read[belief.id] = recognize(belief.claim.text, observed_at=belief.claim.observed_at)
        return self._read[belief.id]


def _exclusive(mention: Mention) -> bool:
    """Whether one thing has one such value, so that another one for the same name contradicts it."""
    return mention.role is Role.DESTINATION or any(
        reading.kind in _COMPARED or (isinstance(reading, Code) and bool(reading.label)) for reading in mention.readings
    )


def _subjects(mention: Mention, mentions: Iterable[Mention]) -> tuple[str, ...]:
    """The words of the names that stand beside a value: what it is a value of."""
    words: dict[str, None] = {}
    for other in mentions:
        if other.role is not Role.NAME or other.group not in {mention.group, ""}:
            continue
        most = 2 if mention.role is Role.DESTINATION and other.name.lower() not in PERSON_NAMES else 6
        if len(other.text.split()) <= most:
            words |= dict.fromkeys(word.casefold() for word in _WORD.findall(other.text))
    return tuple(word for word in words if word not in STOP_WORDS)[:MOST_PROBES]


def _named(subject: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(subject)}(?!\w)", re.IGNORECASE)


def _any_about(about: Sequence[re.Pattern[str]], beliefs: Iterable[Belief]) -> bool:
    return any(named.search(belief.claim.text) for belief in beliefs for named in about)


def _owns(belief: Belief, mention: Mention) -> bool:
    """Whether the value is an address or a site of the very source that says it."""
    from thymus.sources.domains import organisational_domain

    owner = owner_of(belief.claim)
    for reading in mention.readings:
        host = reading.domain if isinstance(reading, Email) else reading.host if isinstance(reading, Url) else ""
        if host and owner == f"domain:{organisational_domain(host)}":
            return True
        if isinstance(reading, Email) and owner == f"email:{reading.local}@{reading.domain}".lower():
            return True
    return False


def read_call(tool: object, said: object) -> tuple[str, tuple[str, ...]]:
    """The tool's name and what the user said, checked.

    :raises InputError: where they are no text.
    """
    if not isinstance(tool, str) or not tool.strip() or len(tool) > 200:
        raise InputError("a tool is named by text of 1 to 200 characters")
    spoken = (said,) if isinstance(said, str) else said
    if not isinstance(spoken, Iterable):
        raise InputError("said is what the user said: texts of this conversation")
    texts = tuple(spoken)
    if not all(isinstance(text, str) for text in texts):
        raise InputError("said is what the user said: texts of this conversation")
    if sum(map(len, texts)) > LONGEST:
        raise InputError(f"said has more than {LONGEST:,} characters: pass the user's last messages")
    well_formed = [text.encode("utf-8", "replace").decode("utf-8") for text in (tool.strip(), *texts)]
    return well_formed[0], tuple(well_formed[1:])
