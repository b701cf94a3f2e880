"""Any language model behind one small question: ``ask``. Structured answers, time limits, retries, a cache on disk.

>>> from thymus.llm import open_model
>>> open_model("echo", cache=None).ask("Repeat.", "Hello.", str, prompt_version="1").value
'Hello.'

Providers come through ``pydantic-ai-slim`` (``pip install "thymus-memory[llm]"``), which is imported when a model of a
provider is opened and not before. The rules decide what becomes of a claim; a model only answers narrow questions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thymus.llm.model import Answer, CacheMissError, Model, ModelError, ModelRefusalError, UnanswerableError, Usage
from thymus.llm.names import names_model, open_model

if TYPE_CHECKING:
    from thymus.llm.extractor import ModelExtractor
    from thymus.llm.fencing import fence
    from thymus.llm.judge import ModelJudge
    from thymus.llm.limits import LimitedModel, SpendingLimitError, Spent

__all__ = [
    "Answer",
    "CacheMissError",
    "LimitedModel",
    "Model",
    "ModelError",
    "ModelExtractor",
    "ModelJudge",
    "ModelRefusalError",
    "SpendingLimitError",
    "Spent",
    "UnanswerableError",
    "Usage",
    "fence",
    "names_model",
    "open_model",
]

_HOME = {
    "LimitedModel": "thymus.llm.limits",
    "ModelExtractor": "thymus.llm.extractor",
    "ModelJudge": "thymus.llm.judge",
    "Spent": "thymus.llm.limits",
    "SpendingLimitError": "thymus.llm.limits",
    "fence": "thymus.llm.fencing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'thymus.llm' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
