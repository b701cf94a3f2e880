"""Judges: do two statements contradict, and what kind of statement is one?

``local`` (the default) reads both statements at once with a small bundled network, for which typed values are marked;
``typed`` needs no model at all; ``nli:`` runs any NLI model in ONNX, from a folder or a hub; the name of a language
model (``thymus.llm.open_model``) has ``local`` and ``typed`` answer first, and asks the model where they are unsure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.errors import JudgeError

if TYPE_CHECKING:
    from thymus.llm import Model
    from thymus.ports import Embedder, Judge

__all__ = ["JUDGES", "get_judge"]

JUDGES: Final = ("local", "typed")
"""The names of the judges that need no key and no network."""
ONLY: Final = "only:"
"""Before the name of a language model: it is asked about everything."""


def get_judge(
    name_or_judge: str | Judge = "local",
    *,
    embedder: Embedder | None = None,
    rivals: bool = False,
    model: Model | None = None,
    sorts: bool = True,
    within: float | None = None,
) -> Judge:
    """Return the judge of that name, or the judge itself.

    :param name_or_judge: ``local``, ``typed``, a judge, or an NLI model: ``nli:./folder``, a path, ``nli:owner/model``;
        or a language model: ``anthropic:MODEL`` where the quick judges are unsure, ``only:anthropic:MODEL`` about
        everything, for comparison: it is slow, and what it reads may be written to persuade it.
    :param embedder: what ``local`` embeds bare texts with; the bundled ``e5-small`` by default. A guard passes its own,
        so that stored vectors and new ones are of one kind.
    :param rivals: it will be asked about whatever retrieval brings in, as by a guard: ``local`` then leaves unread what
        it could not detect anyway, which is most of it.
    :param model: the language model of that name, whatever it is, where it is open already.
    :param sorts: whether a language model is asked about kinds of statements, too.
    :param within: seconds that a language model may take for one judgement; 20 by default.
    :raises MissingExtraError: where a package is missing; the message says which.
    :raises ModelError: where a language model cannot be had: no key, no program.
    :raises JudgeError, ConfigError: where no judge has this name.
    """
    if not isinstance(name_or_judge, str):
        return name_or_judge
    if model is not None:
        return _model_judge(name_or_judge, embedder, model, sorts=sorts, within=within)
    if name_or_judge == "typed":
        from thymus.judges.typed import TypedJudge

        return TypedJudge()
    if name_or_judge == "local":
        from thymus.judges.local import APART, UNDETECTABLE, LocalJudge

        return LocalJudge(embedder=embedder, apart=UNDETECTABLE if rivals else APART)
    from thymus.judges.nli_place import names_nli

    if names_nli(name_or_judge):
        from thymus.judges.local import LocalJudge
        from thymus.judges.nli import open_nli

        return open_nli(name_or_judge, fallback=LocalJudge(embedder=embedder))
    from thymus.llm import names_model

    if names_model(name_or_judge.removeprefix(ONLY)):
        return _model_judge(name_or_judge, embedder, model, sorts=sorts, within=within)
    raise JudgeError(
        f"no judge is called {name_or_judge[:80]!r}: use {' or '.join(JUDGES)}, a language model by provider and name "
        "(openai:gpt-5, anthropic:MODEL, ollama:MODEL ...), or pass an object that fits thymus.ports.Judge"
    )


def _model_judge(
    name: str, embedder: Embedder | None, model: Model | None, *, sorts: bool, within: float | None
) -> Judge:
    from thymus.llm import open_model
    from thymus.llm.judge import WITHIN_S, ModelJudge

    judge = ModelJudge(model or open_model(name.removeprefix(ONLY), cache=None), within=within or WITHIN_S)
    if name.startswith(ONLY):
        return judge
    from thymus.judges.cascade import CascadeJudge
    from thymus.judges.local import LocalJudge
    from thymus.judges.typed import TypedJudge

    # It reads more than it would alone: a contradiction that it only suspects is the model's to find.
    return CascadeJudge(LocalJudge(embedder=embedder), judge, also=(TypedJudge(),), sorts=sorts)
