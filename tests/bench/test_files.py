"""Whatever a model says can be written as a line of results and read back; a line that a kill cut off is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from factory import outcome
from hypothesis import given
from hypothesis import strategies as st

from thymus_bench.files import json_text, read_rows, write_whole
from thymus_bench.outcomes import read_outcomes


@given(st.text(st.characters(), max_size=40))
def test_every_text_survives_a_file(text: str) -> None:
    written = json_text({"reply": text}).encode("utf-8")
    assert b"\n" not in written
    assert json.loads(written) == {"reply": text}


def test_a_reply_with_half_a_pair_is_a_line_of_results(tmp_path: Path) -> None:
    odd = outcome(reply="no \ud83d pair \u2028\x85\x1b[2J", error="\udcff")
    write_whole(tmp_path / "results.jsonl", odd.to_json() + "\n")
    assert read_outcomes(tmp_path / "results.jsonl") == [odd]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_last_line_is_left_out_wherever_it_was_cut(tmp_path: Path, cut: int) -> None:
    path, last = tmp_path / "rows.jsonl", json_text({"a": "日本"}).encode()
    path.write_bytes(b'{"a": "one"}\n' + last[:-cut])
    assert read_rows(path) == [{"a": "one"}]


def test_a_broken_line_before_the_last_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": "\xff"}\n{}\n')
    with pytest.raises(ValueError, match="utf-8"):
        read_rows(tmp_path / "rows.jsonl")
