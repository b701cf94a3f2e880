"""What answers a question is told from what is only near to it, and broken weights say how to get others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from thymus.embed import get_embedder
from thymus.errors import JudgeError
from thymus.judges.answering import LAYOUT, Answering, load_answering


def test_an_answer_has_higher_odds_than_what_is_only_near() -> None:
    embedder = get_embedder("e5-small", threads=1)
    asked = embedder.embed(["What date is my visa appointment?"], role="query")[0]
    said = ["Your visa appointment is on Tuesday 11 March at ten.", "Photographs for the visa must be matt."]
    answer, near = load_answering().odds(asked, embedder.embed(said, role="passage"))
    assert answer > near + 1


def test_the_odds_are_the_weighted_products() -> None:
    weights = np.array([1.0, -2.0], np.float32)
    found = Answering(weights=weights, nearness=0.5, bias=3.0).odds(
        np.array([0.6, 0.8], np.float32), np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    )
    assert found.tolist() == pytest.approx([3.0 + 0.6 * 1.5, 3.0 - 0.8 * 1.5])


@pytest.mark.parametrize("content", ["{", "{}", json.dumps({"layout": LAYOUT, "weights": "x"}), '{"layout": 0}'])
def test_broken_weights_say_what_would_help(tmp_path: Path, content: str) -> None:
    (tmp_path / "answering.json").write_text(content)
    with pytest.raises(JudgeError, match="reinstall"):
        load_answering(tmp_path)
