"""Thymus protects the long-term memory of AI agents from poisoning while real updates keep flowing.

>>> from thymus import MemoryGuard
>>> guard = MemoryGuard()
>>> guard.remember("My standup is at 9:15 in Room 2A.").effect.value
'admitted'

The whole public API is listed here; what is heavy is imported when it is first used.
"""

from __future__ import annotations

from thymus._version import __version__

TYPE_CHECKING = False  # as in typing, whose import would take longer than all of ours: `thymus hook` runs at each event
if TYPE_CHECKING:
    from typing import Any

    from thymus.aio import AsyncMemoryGuard
    from thymus.core.action_rules import ActionPolicy
    from thymus.core.actions import Answer, Finding, Sensitivity, Verdict
    from thymus.core.beliefs import Status
    from thymus.core.claims import Kind
    from thymus.core.disclose import Memory, Recall
    from thymus.core.gates import GATES
    from thymus.core.policy import Effect, Policy, Predicate, Rule, Showing
    from thymus.core.provenance import Assurance, Source
    from thymus.core.relations import Label, Relation
    from thymus.errors import ThymusError
    from thymus.guard import MemoryGuard
    from thymus.intake import Message
    from thymus.records import Event, Explanation, Outcome, SourceRecord, Written

_HOME = {
    "AsyncMemoryGuard": "thymus.aio",
    "ActionPolicy": "thymus.core.action_rules",
    "Answer": "thymus.core.actions",
    "Finding": "thymus.core.actions",
    "Sensitivity": "thymus.core.actions",
    "Verdict": "thymus.core.actions",
    "Status": "thymus.core.beliefs",
    "Kind": "thymus.core.claims",
    "Memory": "thymus.core.disclose",
    "Recall": "thymus.core.disclose",
    "GATES": "thymus.core.gates",
    "Effect": "thymus.core.policy",
    "Policy": "thymus.core.policy",
    "Predicate": "thymus.core.policy",
    "Rule": "thymus.core.policy",
    "Showing": "thymus.core.policy",
    "Assurance": "thymus.core.provenance",
    "Source": "thymus.core.provenance",
    "Label": "thymus.core.relations",
    "Relation": "thymus.core.relations",
    "ThymusError": "thymus.errors",
    "MemoryGuard": "thymus.guard",
    "Message": "thymus.intake",
    "Event": "thymus.records",
    "Explanation": "thymus.records",
    "Outcome": "thymus.records",
    "SourceRecord": "thymus.records",
    "Written": "thymus.records",
}

__all__ = [
    "GATES",
    "ActionPolicy",
    "Answer",
    "Assurance",
    "AsyncMemoryGuard",
    "Effect",
    "Event",
    "Explanation",
    "Finding",
    "Kind",
    "Label",
    "Memory",
    "MemoryGuard",
    "Message",
    "Outcome",
    "Policy",
    "Predicate",
    "Recall",
    "Relation",
    "Rule",
    "Sensitivity",
    "Showing",
    "Source",
    "SourceRecord",
    "Status",
    "ThymusError",
    "Verdict",
    "Written",
    "__version__",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'thymus' has no attribute {name!r}") from None
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
