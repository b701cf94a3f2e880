"""The embedders: unit vectors that depend on the text alone, whatever the input, and models that are what they say."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus import embed
from thymus.embed import BUNDLED, HashEmbedder, OnnxEmbedder, get_embedder
from thymus.errors import EmbedderError

if TYPE_CHECKING:
    from thymus.ports import Embedder

NAMES = (*BUNDLED, "hash")
MODELS = Path(embed.__file__).parent / "models"
HARD = {
    "empty": "",
    "spaces": " \n\t\u3000",
    "NUL": "\x00\x00",
    "lone surrogate": "pay \ud800 now",
    "bidi": "\u202egnp.exe\u2066\u200b",
    "emoji": "\U0001f600" * 3_000,
    "combining": "\u0301" * 30_000,
    "expands under NFKC": "\ufdfa" * 5_000,
    "one word of 10 MB": "x" * 10_000_000,
    "10 MB of spaces": " " * 10_000_000,
}


def fresh(name: str = "e5-small", **options: Any) -> OnnxEmbedder:
    """An embedder with an empty cache, so that nothing is answered from memory."""
    return OnnxEmbedder(MODELS / name / "model.onnx", label=name, **options)


@pytest.fixture(params=NAMES)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return get_embedder(request.param)


class TestVectors:
    def test_have_unit_length(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["My standup is at 9:15.", "ok", "Я живу в Омске"], role="passage")
        assert vectors.shape == (3, embedder.dim)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(1, np.linalg.norm(vectors, axis=1), atol=1e-6)

    def test_of_no_text_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([], role="query").shape == (0, embedder.dim)

    @pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
    def test_exist_for_any_text(self, embedder: Embedder, text: str) -> None:
        vector = embedder.embed([text], role="passage")[0]
        assert pytest.approx(float(np.linalg.norm(vector)), abs=1e-6) == 1

    @given(text=st.text(st.characters(), max_size=60))
    @settings(max_examples=40, deadline=None)
    def test_exist_for_every_text(self, text: str) -> None:
        for name in NAMES:
            assert np.isfinite(get_embedder(name).embed([text], role="query")).all()

    def test_belong_to_the_caller(self, embedder: Embedder) -> None:
        before = embedder.embed(["mine"], role="query").copy()
        embedder.embed(["mine"], role="query")[:] = 0
        np.testing.assert_array_equal(before, embedder.embed(["mine"], role="query"))


class TestIndependence:
    TEXTS = (
        "ok",
        "The plumber comes on Tuesday.",
        "Nos mudamos a la calle Alta en mayo.",
        "EXTREME \U0001f4a5 " * 40,
        "The plumber comes on Friday, not on Tuesday, and he brings his own ladder.",
        "",
        "12 + 30 = 42",
    )

    @pytest.mark.parametrize("name", BUNDLED)
    def test_of_companions(self, name: str) -> None:
        """The same message gets the same vector, bit for bit, alone, in a batch and in another order."""
        alone = np.concatenate([fresh(name).embed([text], role="passage") for text in self.TEXTS])
        together = fresh(name, threads=2).embed(self.TEXTS, role="passage")
        backwards = fresh(name, threads=1).embed(self.TEXTS[::-1], role="passage")[::-1]
        np.testing.assert_array_equal(alone, together)
        np.testing.assert_array_equal(alone, backwards)

    def test_of_threads(self) -> None:
        """Threads that share one embedder, and race to load it, get what one thread alone gets."""
        shared = fresh(threads=2)
        results: dict[int, Any] = {}
        barrier = threading.Barrier(4)

        def work(number: int) -> None:
            barrier.wait()
            results[number] = shared.embed(self.TEXTS, role="query")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = fresh().embed(self.TEXTS, role="query")
        for n in range(4):
            np.testing.assert_array_equal(expected, results[n])

    def test_of_what_was_embedded_before(self) -> None:
        """A text that has left the cache is embedded as the first time; a text twice in a batch is run once."""
        one = fresh()
        first = one.embed(["a note"], role="passage")
        one._cache.clear()
        np.testing.assert_array_equal(np.repeat(first, 2, axis=0), one.embed(["a note", "a note"], role="passage"))
        assert len(one._cache) == 1

    def test_cache_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embed, "CACHED_TEXTS", 3)
        one = fresh("minilm")
        one.embed([f"note {n}" for n in range(5)], role="passage")
        one.embed(["note 3", "note 9"], role="passage")
        assert list(one._cache) == ["note 4", "note 3", "note 9"]


class TestMeaning:
    @pytest.mark.parametrize(
        "question",
        ["¿A qué hora sale mi tren?", "À quelle heure part mon train ?", "Wann fährt mein Zug?", "मेरी ट्रेन कब है?"],
    )
    def test_other_languages_find_english_memories(self, question: str) -> None:
        memories = [
            "I am allergic to walnuts.",
            "My train leaves at 7:40 from platform 3.",
            "The dentist moved to Harbour Street.",
            "My sister teaches chemistry.",
        ]
        e5 = get_embedder()
        order = np.argsort(-(e5.embed(memories, role="passage") @ e5.embed([question], role="query")[0]))
        assert order[0] == 1

    @pytest.mark.parametrize("name", NAMES)
    def test_words_in_common_bring_texts_together(self, name: str) -> None:
        question, near, far = get_embedder(name).embed(
            ["my dentist appointment", "the dentist appointment is on Monday", "bread needs flour"], role="passage"
        )
        assert question @ near > question @ far

    def test_role_matters_where_the_model_has_prefixes(self) -> None:
        e5, minilm = get_embedder(), get_embedder("minilm")
        assert (e5.embed(["tea"], role="query") != e5.embed(["tea"], role="passage")).any()
        np.testing.assert_array_equal(minilm.embed(["tea"], role="query"), minilm.embed(["tea"], role="passage"))

    def test_text_beyond_max_tokens_is_ignored(self) -> None:
        short = get_embedder("minilm", max_tokens=16)
        same = short.embed(["word " * 30, "word " * 30 + "and more"], role="passage")
        np.testing.assert_array_equal(same[0], same[1])
        assert get_embedder("minilm").name != short.name


class TestHash:
    def test_is_stable(self) -> None:
        """Golden: stored vectors must mean the same in every process and on every platform."""
        vector = HashEmbedder().embed(["Standup moved to 9:30"], role="passage")[0]
        golden = {150: 0.4542, 83: -0.3422, 16: -0.2964, 36: 0.2964}
        assert golden == {n: pytest.approx(float(vector[n]), abs=1e-4) for n in golden}

    def test_ignores_case_and_width(self) -> None:
        one, other = HashEmbedder().embed(["Pay ＡＣＭＥ 20", "pay acme 20"], role="query")
        np.testing.assert_array_equal(one, other)


class TestBundledFiles:
    @pytest.mark.parametrize("name", BUNDLED)
    def test_are_what_the_card_says(self, name: str) -> None:
        card = json.loads((MODELS / name / "card.json").read_text(encoding="utf-8"))
        for file, digest in card["files"].items():
            assert digest == hashlib.sha256((MODELS / name / file).read_bytes()).hexdigest()
        assert {"model.onnx", "tokenizer.json"} == set(card["files"])
        vector = get_embedder(name).embed(["x"], role="query")
        assert (card["dim"], card["name"]) == (vector.shape[1], name)
        tokenizer = json.loads((MODELS / name / "tokenizer.json").read_text(encoding="utf-8"))
        assert card["vocabulary"] == len(tokenizer["model"]["vocab"])

    def test_prefixes_are_those_that_the_models_learnt(self) -> None:
        prefixes = [json.loads((MODELS / name / "card.json").read_text())["prefixes"] for name in BUNDLED]
        assert prefixes == [{"query": "query: ", "passage": "passage: "}, {"query": "", "passage": ""}]

    @pytest.mark.parametrize(("name", "licence"), [("e5-small", "MIT License"), ("minilm", "Apache License")])
    def test_have_their_licence_beside_them(self, name: str, licence: str) -> None:
        text = (MODELS / name / "LICENSE").read_text(encoding="utf-8")
        assert licence in text
        assert json.loads((MODELS / name / "card.json").read_text())["upstream"] in text

    def test_stay_light(self) -> None:
        size = sum(file.stat().st_size for name in BUNDLED for file in (MODELS / name).iterdir())
        assert size < 65_000_000


class TestLoading:
    def test_import_loads_nothing_heavy(self) -> None:
        code = (
            "import sys, thymus.embed as e; e.get_embedder(); "
            "print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_guards_share_one_copy(self) -> None:
        assert get_embedder() is get_embedder("e5-small")

    def test_a_folder_is_an_embedder(self, tmp_path: Path) -> None:
        folder = copy_model(tmp_path / "mine", prefixes={"query": "ask: "})
        by_folder, by_file = get_embedder(folder), get_embedder(str(folder / "model.onnx"))
        assert (384, by_folder.name) == (by_folder.dim, by_file.name)
        assert by_folder.name.startswith("mine-")
        expected = get_embedder("minilm").embed(["ask: tea", "tea"], role="passage")
        np.testing.assert_array_equal(expected[:1], by_folder.embed(["tea"], role="query"))
        np.testing.assert_array_equal(expected[1:], by_folder.embed(["tea"], role="passage"))

    def test_another_file_gives_another_name(self, tmp_path: Path) -> None:
        one, other = copy_model(tmp_path / "a/m"), copy_model(tmp_path / "b/m", prefixes={"query": "q "})
        assert get_embedder(one).name != get_embedder(other).name


class TestErrors:
    def test_unknown_name_lists_the_names(self) -> None:
        with pytest.raises(EmbedderError, match="e5-small, minilm, hash"):
            get_embedder("e5-large")

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(EmbedderError, match=r"model\.onnx is missing"):
            get_embedder(tmp_path)
        (tmp_path / "model.onnx").write_bytes(b"")
        with pytest.raises(EmbedderError, match=r"tokenizer\.json is missing"):
            get_embedder(str(tmp_path / "model.onnx"))

    def test_file_that_is_no_model(self, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(b"\x00not a model")
        (tmp_path / "tokenizer.json").write_text("{}")
        with pytest.raises(EmbedderError, match="export the model again"):
            get_embedder(tmp_path)

    def test_model_with_other_inputs(self, tmp_path: Path) -> None:
        folder = copy_model(tmp_path / "m")
        data = (folder / "model.onnx").read_bytes()
        (folder / "model.onnx").write_bytes(data.replace(b"input_ids", b"pixel_ids"))
        with pytest.raises(EmbedderError, match="inputs pixel_ids"):
            get_embedder(folder)

    def test_model_of_another_size(self, tmp_path: Path) -> None:
        with pytest.raises(EmbedderError, match="no sentence vector"):
            get_embedder(copy_model(tmp_path / "m", dim=512))

    @pytest.mark.parametrize("card", ["{", "[]", '{"prefixes": 3}'])
    def test_card_that_is_none(self, tmp_path: Path, card: str) -> None:
        folder = copy_model(tmp_path / "m")
        (folder / "card.json").write_text(card)
        with pytest.raises(EmbedderError, match=r"card\.json"):
            get_embedder(folder)

    def test_limits(self) -> None:
        with pytest.raises(EmbedderError, match="512 at most"):
            get_embedder(max_tokens=513)
        with pytest.raises(EmbedderError, match="at least 8"):
            get_embedder(max_tokens=2)
        with pytest.raises(EmbedderError, match="1 or more"):
            get_embedder(threads=0)

    def test_wrong_calls(self, embedder: Embedder) -> None:
        with pytest.raises(EmbedderError, match="list of strings"):
            embedder.embed("one text", role="query")
        with pytest.raises(EmbedderError, match="list of strings"):
            embedder.embed([b"bytes"], role="query")  # type: ignore[list-item]
        role: Literal["query"] = "document"  # type: ignore[assignment]
        with pytest.raises(EmbedderError, match="'query' for a question"):
            embedder.embed(["x"], role=role)


def copy_model(folder: Path, **card: Any) -> Path:
    """A copy of minilm in `folder`, with a card of its own where one is given."""
    folder.mkdir(parents=True)
    for file in ("model.onnx", "tokenizer.json"):
        (folder / file).write_bytes((MODELS / "minilm" / file).read_bytes())
    if card:
        (folder / "card.json").write_text(json.dumps(card))
    return folder
