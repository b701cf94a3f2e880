"""Whether a reply answers a question of LongMemEval: asked of a model, yes or no, as its authors do.

Wu et al. 2025 (LongMemEval, section 3) let a model compare each reply with the gold answer; the wording here is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thymus.llm import fence
from thymus_bench.grade import LONGEST_REPLY, YesNo

if TYPE_CHECKING:
    from thymus.llm import Model
    from thymus_bench.longmemeval.questions import Question

_VERSION: Final = "longmemeval-1"
_ASK: Final = (
    "You compare a reply with the right answer to a question. Say yes where the reply gives the right answer, all of "
    "it, in whatever words; say no where it gives only a part of it, another answer beside it as equally true, or none."
)
_KINDS: Final = {
    "temporal-reasoning": " A count of days, weeks or months may be off by one.",
    "knowledge-update": " The reply may also mention an earlier answer, if it gives the right one as the current one.",
}


class AnswerJudge:
    """A model that says whether a reply is right.

    :param model: as ``thymus.llm.open_model`` gives it.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Of the model."""
        return self._model.name

    def correct(self, question: Question, reply: str) -> bool:
        """Whether the reply gives the gold answer.

        :raises ModelError: where the model cannot be asked.
        """
        from thymus.llm.fencing import ABOUT_FENCES

        if not reply.strip():
            return False
        instructions = f"{_ASK}{_KINDS.get(question.kind, '')} {ABOUT_FENCES}"
        prompt = "\n".join(
            (
                fence("question", question.question),
                fence("answer", question.answer),
                fence("reply", reply[:LONGEST_REPLY]),
            )
        )
        return self._model.ask(instructions, prompt, YesNo, prompt_version=_VERSION).value.yes
