"""Judges: do two statements contradict, and what kind of statement is one?

``local`` (the default) reads both statements at once with a small bundled network, for which typed values are marked;
``typed`` needs no model at all; ``nli:`` runs any NLI model in ONNX, from a folder or a hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.errors import JudgeError, MissingExtraError

if TYPE_CHECKING:
    from thymus.ports import Embedder, Judge

__all__ = ["JUDGES", "get_judge"]

JUDGES: Final = ("local", "typed")
"""The names of the judges that need no key and no network."""


def get_judge(name_or_judge: str | Judge = "local", *, embedder: Embedder | None = None, rivals: bool = False) -> Judge:
    """Return the judge of that name, or the judge itself.

    :param name_or_judge: ``local``, ``typed``, a judge, or an NLI model: ``nli:./folder``, a path, ``nli:owner/model``.
    :param embedder: what ``local`` embeds bare texts with; the bundled ``e5-small`` by default. A guard passes its own,
        so that stored vectors and new ones are of one kind.
    :param rivals: it will be asked about whatever retrieval brings in, as by a guard: ``local`` then leaves unread what
        it could not detect anyway, which is most of it.
    :raises MissingExtraError: for ``provider:model``, which needs the ``llm`` extra.
    :raises JudgeError: where no judge has this name.
    """
    if not isinstance(name_or_judge, str):
        return name_or_judge
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
    known = " or ".join(JUDGES)
    provider, colon, model = name_or_judge.partition(":")
    if colon and provider and model:
        raise MissingExtraError(
            f"{name_or_judge[:80]!r} is a language model of a provider: such judges come with the llm extra, "
            f'pip install "thymus-memory[llm]" (not in this version yet); without it use {known}'
        )
    raise JudgeError(
        f"no judge is called {name_or_judge[:80]!r}: use {known}, or pass an object that fits thymus.ports.Judge"
    )
