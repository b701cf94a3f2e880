"""A natural-language-inference (NLI) model: what its outputs mean, and how it is loaded and run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thymus.errors import JudgeError
from thymus.judges.nli_place import EXPORT, Place, check_folder
from thymus.runtime import open_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEANINGS: Final = ("contradiction", "neutral", "entailment")
"""What the three outputs mean, in the order in which ``NliModel.run`` gives them."""

_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_UNKNOWN: Final = ("[UNK]", "<unk>")
_EXAMPLE: Final = "?labels=contradiction,neutral,entailment"


def read_labels(folder: Path, given: Sequence[str] = ()) -> tuple[str, ...]:
    """What the outputs mean, in their order: ``given`` where it is, else as ``config.json`` says.

    :raises JudgeError: where that is not once each of contradiction, neutral and entailment.
    """
    named = list(given) or _config_labels(folder)
    labels = tuple(_meaning(name) for name in named)
    if sorted(labels) == sorted(MEANINGS):
        return labels
    shown = ", ".join(name[:30] for name in named[:6]) or "nothing"
    if given:
        raise JudgeError(f"the labels are {shown}: name contradiction, neutral and entailment, each once, in order")
    if all(re.fullmatch(r"label_\d+", name, re.IGNORECASE) for name in named):
        raise JudgeError(
            f"config.json in {folder} calls the outputs {shown}, which says nothing: look up their order in the "
            f"model's card and write it after the judge's name, as in {_EXAMPLE}"
        )
    raise JudgeError(
        f"config.json in {folder} calls the outputs {shown}: a judge needs a model that tells contradiction, neutral "
        f"and entailment apart; where this one does, write their order after its name, as in {_EXAMPLE}"
    )


def _config_labels(folder: Path) -> list[str]:
    named: Any = _read_config(folder).get("id2label")
    try:
        return [str(named[key]) for key in sorted(named, key=int)]
    except (TypeError, ValueError, KeyError) as error:
        raise JudgeError(
            f"config.json in {folder} has no id2label, which says what the outputs mean: look it up in the model's "
            f"card and write it after the judge's name, as in {_EXAMPLE}"
        ) from error


def _read_config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise JudgeError(
            f"config.json in {folder} cannot be read ({error}): fetch or export the model again"
        ) from error
    return config if isinstance(config, dict) else {}


def _meaning(name: str) -> str:
    folded = name.strip().casefold()
    return next((meaning for meaning in MEANINGS if folded.startswith(meaning[:6])), folded)


@dataclass(frozen=True, slots=True, kw_only=True)
class NliModel:
    """A loaded model; safe to share among threads. A text is run alone, so no answer depends on a batch."""

    session: Any
    tokenizer: Any
    inputs: dict[str, str]
    output: str
    order: tuple[int, ...]
    special: frozenset[int]

    def run(self, premise: str, hypothesis: str) -> tuple[NDArray[Any], bool]:
        """The probabilities of ``MEANINGS``, shape (3,), and whether the texts were too long to be read in full.

        :raises JudgeError: where the model cannot be run, or answers something else than three numbers.
        """
        import numpy as np

        encoding = self.tokenizer.encode(premise, hypothesis)
        # A sender may write "[SEP]": what separates the texts is what the tokenizer put there, and nothing else.
        kept = [
            place
            for place, (piece, added) in enumerate(zip(encoding.ids, encoding.special_tokens_mask, strict=True))
            if added or piece not in self.special
        ]
        numbers = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.array([[numbers[name][i] for i in kept]], kind) for name, kind in self.inputs.items()}
        try:
            logits = np.asarray(self.session.run([self.output], feeds)[0], np.float64)
        except Exception as error:
            raise JudgeError(
                f"the model cannot read {len(kept)} tokens ({error}): lower max_tokens, or fetch the model again"
            ) from error
        if logits.shape != (1, len(MEANINGS)):
            raise JudgeError(
                f"the model answers numbers of shape {logits.shape} instead of (1, {len(MEANINGS)}): {EXPORT}"
            )
        if not np.isfinite(logits).all():
            raise JudgeError("the model answers numbers that are none: fetch it again, or choose another ?file=")
        scores = np.exp(logits[0] - logits.max())
        return (scores / scores.sum())[list(self.order)], bool(encoding.overflowing)


def load_model(place: Place, *, max_tokens: int) -> NliModel:
    """Load the model.

    :raises JudgeError: where a file is missing, broken, or of another kind of model.
    """
    file = check_folder(place)
    labels = read_labels(place.folder, place.labels)
    try:
        session, tokenizer = open_model(place.folder / file, place.folder / "tokenizer.json")
        positions = _read_config(place.folder).get("max_position_embeddings")
        longest = min(max_tokens, positions) if isinstance(positions, int) and positions > 0 else max_tokens
        tokenizer.enable_truncation(max_length=longest, strategy="longest_first")
    except JudgeError:
        raise
    except Exception as error:
        raise JudgeError(f"{file} or tokenizer.json in {place.folder} cannot be loaded ({error}): {EXPORT}") from error
    inputs = {node.name: "int32" if "int32" in node.type else "int64" for node in session.get_inputs()}
    outputs = [node.name for node in session.get_outputs()]
    if inputs.keys() - _INPUTS or "input_ids" not in inputs or ("logits" not in outputs and len(outputs) != 1):
        raise JudgeError(
            f"{file} in {place.folder} reads {', '.join(inputs)} and gives {', '.join(outputs)}; a judge needs a "
            f"sequence classifier, which reads input_ids and gives logits: {EXPORT}"
        )
    return NliModel(
        session=session,
        tokenizer=tokenizer,
        inputs=inputs,
        output="logits" if "logits" in outputs else outputs[0],
        order=tuple(labels.index(meaning) for meaning in MEANINGS),
        special=frozenset(
            number
            for number, token in tokenizer.get_added_tokens_decoder().items()
            if token.special and token.content not in _UNKNOWN
        ),
    )
