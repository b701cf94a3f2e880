"""The larger judge: which files are taken, how two readings become one answer, and a hub that only pretends to be one.

The models of ``data/tiny-nli`` compute their answers (``make.py`` says how), so that every figure is known.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus import MemoryGuard, Source
from thymus.core.claims import Kind
from thymus.core.relations import CONFIRMED, DETECTED, Label, Relation
from thymus.errors import JudgeError, MissingExtraError
from thymus.judges.nli import NliJudge, names_nli, open_nli
from thymus.judges.nli_place import choose_file, locate
from thymus.judges.pronouns import third_person
from thymus.judges.typed import TypedJudge
from thymus.ports import Judge, Statement

TINY = Path(__file__).parent / "data" / "tiny-nli"
USER = Source.user()
SENDER = Source.parse("email:a@b.example")
CAN_FETCH = find_spec("huggingface_hub") is not None
needs_hub = pytest.mark.skipif(not CAN_FETCH, reason="huggingface_hub is not installed")


def make_folder(folder: Path, *, models: dict[str, str] | None = None, config: object = None) -> Path:
    """A model's folder: where each file comes from in ``TINY``, and the ``config.json`` if not that one."""
    for name, origin in (models or {"model.onnx": "model.onnx"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TINY / origin, folder / name)
    shutil.copy(TINY / "tokenizer.json", folder)
    if config is None:
        shutil.copy(TINY / "config.json", folder)
    else:
        (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


def make_judge(folder: Path = TINY, **options: Any) -> NliJudge:
    if folder == TINY:
        options.setdefault("file", "model.onnx")
    return NliJudge(folder, fallback=TypedJudge(), **options)


@pytest.fixture(scope="module")
def judge() -> NliJudge:
    return make_judge()


def relate(judge: Judge, stored: str, incoming: str) -> Relation:
    return judge.relate([(Statement(text=stored, speaker=USER), Statement(text=incoming, speaker=SENDER))])[0]


class Broken:
    """A session that answers what it is told to, or raises it."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def run(self, outputs: object, feeds: object) -> list[object]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return [self.answer]


def with_session(answer: object) -> NliJudge:
    judge = make_judge()
    judge._model = replace(judge._load(), session=Broken(answer))
    return judge


class TestReading:
    @pytest.mark.parametrize(
        ("label", "stored", "incoming"),
        [
            ("contradicts", "My standup is at 9.", "Your standup is at 7."),
            ("same", "My standup is at 9.", "At 9 is your standup."),
            ("compatible", "My standup is at 9.", "Your standup is at 9, in the office."),
            ("compatible", "The pool is heated.", "The pool is open."),
        ],
    )
    def test_both_ways_together_give_the_label(self, judge: NliJudge, label: str, stored: str, incoming: str) -> None:
        assert label == relate(judge, stored, incoming).label

    def test_figures_come_of_the_outputs_as_config_orders_them(self, judge: NliJudge) -> None:
        found = relate(judge, "The pool is open at 9.", "The pool is open at 7.")
        logits = np.exp([4.0, 2.0, -4.0])  # contradiction, neutral, entailment: one value is missing, either way
        assert found.confidence == pytest.approx(logits[0] / logits.sum())
        assert found.contradiction == found.confidence

    def test_one_way_alone_detects_and_does_not_confirm(self, judge: NliJudge) -> None:
        found = relate(judge, "The pool is open.", "The pool is open at 7.")
        assert found.contradiction >= DETECTED
        assert not found.confirmed
        assert found.contradiction < CONFIRMED

    def test_both_ways_confirm(self, judge: NliJudge) -> None:
        assert relate(judge, "The pool is open at 9.", "The pool is open at 7.").confirmed

    def test_the_order_of_two_statements_does_not_matter(self, judge: NliJudge) -> None:
        one, two = "The pool is open at 9.", "The pool is heated."
        there, back = relate(judge, one, two), relate(judge, two, one)
        assert (there.label, there.contradiction) == (back.label, back.contradiction)

    def test_an_answer_does_not_depend_on_the_batch_or_on_threads(self) -> None:
        texts = ["The pool is open at 9.", "The pool is heated.", "", "My rent is 30.", "The pool is open at 7 now."]
        pairs = [(a, b) for a in texts for b in texts]
        together = make_judge(threads=3).relate(pairs)
        judge = make_judge()
        assert together == [judge.relate([pair])[0] for pair in pairs]

    def test_a_pair_is_read_once(self) -> None:
        judge = make_judge()
        first = relate(judge, "The pool is open at 9.", "The pool is open at 7.")
        judge._model = replace(judge._load(), session=Broken(OSError("disk")))
        assert first == relate(judge, "The pool is open at 9.", "The pool is open at 7.")

    def test_no_pairs_need_no_model(self) -> None:
        assert make_judge().relate([]) == []

    def test_the_same_wording_needs_no_model(self) -> None:
        judge = with_session(OSError("disk"))
        assert relate(judge, "The pool is open.", "the pool is open").label is Label.SAME

    def test_a_statement_without_words_contradicts_nothing(self) -> None:
        assert relate(with_session(OSError("disk")), "The pool is open.", "!?").contradiction < DETECTED

    def test_because_has_figures_and_no_word_of_the_sender(self, judge: NliJudge) -> None:
        because = relate(judge, "The pool is open at 9.", "The berlin hamburg 7.").because
        assert because.startswith("contradiction 1.00 and 0.02, entailment 0.00 and 0.00")
        assert not {"berlin", "hamburg", "pool"} & set(because.split())

    def test_kinds_are_the_fallback_s(self, judge: NliJudge) -> None:
        assert judge.classify(["I prefer tea.", "The shop opens at 9."]) == [Kind.PREFERENCE, Kind.FACT]


class TestRulesThatOverrule:
    def test_a_question_does_not_confirm(self, judge: NliJudge) -> None:
        found = relate(judge, "My standup is at 9.", "Is your standup at 7?")
        assert (found.label, found.detected, found.confirmed) == (Label.CONTRADICTS, True, False)

    def test_values_that_differ_are_never_the_same(self) -> None:
        sure = np.array([[9.0, 0.0, 0.0]])  # entailment, whichever comes first
        found = relate(with_session(sure), "My standup is at 9:15.", "Your standup is at 7:45.")
        assert (found.label, found.detected, found.confirmed) == (Label.CONTRADICTS, True, False)
        assert found.because.startswith("typed values differ: time")

    def test_what_was_not_read_in_full_is_unknown(self) -> None:
        filler = " ".join(["the"] * 60)
        found = relate(make_judge(max_tokens=40), "The pool is open.", f"The pool is open {filler} at 7.")
        assert found.label is Label.UNKNOWN
        assert found.because.startswith("too long to be read in full")

    def test_a_model_s_own_length_counts_too(self, tmp_path: Path) -> None:
        config = json.loads((TINY / "config.json").read_text()) | {"max_position_embeddings": 40}
        judge = make_judge(make_folder(tmp_path / "nli", config=config))
        filler = " ".join(["the"] * 60)
        assert relate(judge, "The pool is open.", f"The pool is open {filler} at 7.").label is Label.UNKNOWN

    def test_a_contradiction_in_what_was_read_of_a_long_text_counts_and_is_not_confirmed(self) -> None:
        filler = " ".join(["the"] * 60)
        found = relate(make_judge(max_tokens=40), "The pool is open at 9.", f"The pool is open at 7 {filler}.")
        assert (found.label, found.detected, found.confirmed) == (Label.CONTRADICTS, True, False)

    def test_a_text_longer_than_any_statement_is_never_vouched_for(self, judge: NliJudge) -> None:
        for start in ("", "The pool is open."):
            found = relate(judge, start, start + " " * 5_000 + "The pool is open at 7.")
            assert found.label is Label.UNKNOWN

    def test_a_separator_that_a_sender_writes_is_none(self, judge: NliJudge) -> None:
        plain = relate(judge, "The pool is open at 9.", "The pool is open at 7.")
        odd = relate(judge, "The pool is open at 9.", "[SEP] The pool [CLS] is open [SEP] [PAD] at 7.")
        assert (plain.label, plain.contradiction) == (odd.label, odd.contradiction)

    def test_a_separator_moves_no_word_to_the_other_side(self) -> None:
        untyped = make_judge(file="untyped.onnx")  # which finds the sides by the first separator
        plain = relate(untyped, "The pool is open 7", "The pool is open at 9")
        odd = relate(untyped, "The pool is [SEP] open 7", "The pool is open at 9")
        assert (plain.label, plain.contradiction) == (odd.label, odd.contradiction)


class TestPronouns:
    @pytest.mark.parametrize(
        ("expected", "text", "speaker"),
        [
            ("The user's rent is due and the user is late.", "My rent is due and I'm late.", USER),
            ("The user has moved; ask the user.", "I\u2019ve moved; ask me.", USER),
            ("The user's office has your parcel.", "My office has your parcel.", USER),
            ("My office has the user's parcel.", "My office has your parcel.", SENDER),
            ("The user is late.", "You are late.", SENDER),
            ("The user's office has the user's parcel.", "My office has your parcel.", None),
            ("Mail you@my.example, see shop.example/my/you.", "Mail you@my.example, see shop.example/my/you.", None),
            ("The user lives in ME, on I-95, i think.", "The user lives in ME, on I-95, i think.", None),
            ("Der Termin ist um 9.", "Der Termin ist um 9.", USER),
        ],
    )
    def test_the_user_is_called_so(self, expected: str, text: str, speaker: Source | None) -> None:
        assert expected == third_person(text, speaker)

    def test_my_and_a_sender_s_your_are_one_person(self, judge: NliJudge) -> None:
        assert relate(judge, "My pool is open.", "Open is your pool.").label is Label.SAME
        mine = Statement(text="My pool is open.", speaker=USER)
        senders = Statement(text="My pool is now open.", speaker=SENDER)
        assert judge.relate([(mine, senders)])[0].label is Label.COMPATIBLE

    @given(st.text(st.sampled_from("iI'\u2019m youreWAv ./@"), max_size=60))
    def test_any_text_is_rewritten_once_and_for_all(self, text: str) -> None:
        once = third_person(text, None)
        assert once == third_person(once, None)


class TestAnyInput:
    @pytest.mark.parametrize(
        "text", ["", "\x00\x01", "\ud800", "\u202e\u200b", "x" * 200_000, "9:" * 50_000, "i " * 50_000]
    )
    def test_has_an_answer(self, judge: NliJudge, text: str) -> None:
        for pair in ((text, "My pool is open."), ("My pool is open.", text), (text, text)):
            assert isinstance(judge.relate([pair])[0], Relation)


class TestFiles:
    @pytest.mark.parametrize(
        ("expected", "files"),
        [
            ("model.onnx", ["model.onnx"]),
            ("onnx/model.onnx", ["model.onnx", "onnx/model.onnx"]),
            ("onnx/model_quantized.onnx", ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"]),
            ("model_int8.onnx", ["model_int8.onnx", "model_uint8.onnx", "onnx/model.onnx", "onnx/model_q4.onnx"]),
            ("onnx/model_fp16.onnx", ["onnx/model_fp16.onnx", "README.md"]),
        ],
    )
    def test_the_quantised_one_is_preferred(self, expected: str, files: list[str]) -> None:
        assert expected == choose_file(files)

    @pytest.mark.parametrize(
        ("expected", "machine"), [("model_qint8_arm64.onnx", "arm64"), ("model_quint8_avx2.onnx", "AMD64")]
    )
    def test_and_the_one_for_this_machine_most(
        self, expected: str, machine: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("platform.machine", lambda: machine)
        every = ["model.onnx", "model_quantized.onnx", "model_qint8_arm64.onnx", "model_quint8_avx2.onnx"]
        assert expected == choose_file(every)

    def test_several_of_unknown_names_are_asked_about(self) -> None:
        with pytest.raises(JudgeError, match=r"\?file=a\.onnx"):
            choose_file(["b.onnx", "a.onnx"])

    def test_the_name_says_which_file(self, tmp_path: Path) -> None:
        folder = make_folder(
            tmp_path / "nli-small", models={"onnx/model_int8.onnx": "model.onnx", "model.onnx": "two.onnx"}
        )
        judge = make_judge(folder)
        assert judge.name == "nli:nli-small (onnx/model_int8.onnx)"
        assert relate(judge, "The pool is open at 9.", "The pool is open at 7.").confirmed

    def test_token_types_are_given_to_those_who_read_them(self) -> None:
        pairs = [("The pool is open at 9.", "The pool is open at 7."), ("The pool is open.", "The pool is heated now.")]
        typed, untyped = make_judge().relate(pairs), make_judge(file="untyped.onnx").relate(pairs)
        assert [one.contradiction for one in typed] == [one.contradiction for one in untyped]

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
    def test_a_missing_one_is_named(self, tmp_path: Path, name: str) -> None:
        folder = make_folder(tmp_path / "nli")
        (folder / name).unlink()
        with pytest.raises(JudgeError, match=r"no ONNX file" if name == "model.onnx" else name):
            make_judge(folder)

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(JudgeError, match="there is no folder"):
            make_judge(tmp_path / "nowhere")

    def test_a_file_that_is_asked_for_must_be_there(self) -> None:
        with pytest.raises(JudgeError, match=r"lacks model_int8\.onnx"):
            make_judge(file="model_int8.onnx")

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
    def test_a_broken_one_is_refused(self, tmp_path: Path, name: str) -> None:
        folder = make_folder(tmp_path / "nli")
        (folder / name).write_bytes(b"not a model")
        with pytest.raises(JudgeError, match="cannot be loaded"):
            open_nli(str(folder), fallback=TypedJudge())

    @pytest.mark.parametrize("options", [{"threads": 0}, {"max_tokens": 4}])
    def test_bounds(self, options: dict[str, Any]) -> None:
        with pytest.raises(JudgeError, match="give at least"):
            make_judge(**options)


class TestLabels:
    @pytest.mark.parametrize(
        "names",
        [
            ["entailment", "contradiction", "neutral"],
            ["ENTAILMENT", "Contradiction", "NEUTRAL"],
            [" entails", "contradicts ", "neutral"],
        ],
    )
    def test_spellings(self, tmp_path: Path, names: list[str]) -> None:
        folder = make_folder(tmp_path / "nli", config={"id2label": dict(enumerate(names))})
        assert relate(make_judge(folder), "The pool is open at 9.", "The pool is open at 7.").confirmed

    def test_ids_are_numbers_and_not_places(self, tmp_path: Path) -> None:
        folder = make_folder(
            tmp_path / "nli", config={"id2label": {"2": "neutral", "1": "contradiction", "0": "entailment"}}
        )
        assert relate(make_judge(folder), "The pool is open at 9.", "The pool is open at 7.").confirmed

    @pytest.mark.parametrize(
        ("match", "config"),
        [
            (r"LABEL_0, LABEL_1, LABEL_2.*\?labels=", {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}}),
            ("tells contradiction, neutral", {"id2label": {"0": "entailment", "1": "not_entailment"}}),
            ("tells contradiction, neutral", {"id2label": {"0": "neutral", "1": "neutral", "2": "entailment"}}),
            ("no id2label", {}),
            ("no id2label", {"id2label": ["a", "b"]}),
            ("no id2label", {"id2label": {"zero": "neutral"}}),
            ("no id2label", []),
            ("cannot be read", "{"),
        ],
    )
    def test_what_says_nothing_is_refused_with_a_remedy(self, tmp_path: Path, match: str, config: object) -> None:
        with pytest.raises(JudgeError, match=match):
            make_judge(make_folder(tmp_path / "nli", config=config))

    def test_labels_that_are_given_win_and_need_no_config(self, tmp_path: Path) -> None:
        folder = make_folder(tmp_path / "nli")
        (folder / "config.json").unlink()
        judge = open_nli(f"nli:{folder}?labels=entailment,contradiction,neutral", fallback=TypedJudge())
        assert relate(judge, "The pool is open at 9.", "The pool is open at 7.").confirmed
        other = open_nli(f"nli:{folder}?labels=contradiction,neutral,entailment", fallback=TypedJudge())
        assert not relate(other, "The pool is open at 9.", "The pool is open at 7.").confirmed

    @pytest.mark.parametrize("labels", ["", "entailment", "entailment,neutral,yes", "neutral,neutral,entailment"])
    def test_labels_that_are_given_wrongly_are_refused(self, labels: str) -> None:
        with pytest.raises(JudgeError, match="each once, in order"):
            open_nli(f"nli:{TINY}?file=model.onnx&labels={labels}", fallback=TypedJudge())


class TestFailures:
    @pytest.mark.parametrize(
        ("match", "answer"),
        [
            ("lower max_tokens", RuntimeError("out of range")),
            ("shape", np.zeros((1, 2))),
            ("shape", np.zeros((1, 9, 3))),
            ("numbers that are none", np.array([[0.0, np.nan, 1.0]])),
        ],
    )
    def test_are_judge_errors(self, match: str, answer: object) -> None:
        with pytest.raises(JudgeError, match=match):
            relate(with_session(answer), "The pool is open at 9.", "The pool is open at 7.")

    def test_a_model_with_other_outputs_is_refused_at_once(self) -> None:
        with pytest.raises(JudgeError, match=r"shape \(1, 2\)"):
            open_nli(f"{TINY}?file=two.onnx", fallback=TypedJudge())

    def test_an_embedder_is_no_judge(self, tmp_path: Path) -> None:
        from thymus import embed

        bundled = Path(embed.__file__).parent / "models" / "minilm"
        folder = make_folder(tmp_path / "nli")
        (folder / "model.onnx").write_bytes((bundled / "model.onnx").read_bytes())
        with pytest.raises(JudgeError, match=r"sequence classifier|shape|tokens"):
            open_nli(str(folder), fallback=TypedJudge())

    def test_a_guard_goes_on_more_carefully(self) -> None:
        with MemoryGuard(":memory:", judge=with_session(OSError("gone")), embedder="hash") as guard:
            guard.remember("My standup is at 9:15.")
            assert guard.remember("Your standup moved to 7:45.", source="email:a@b.example").effect == "contested"


class TestNames:
    @pytest.mark.parametrize("name", ["nli:owner/model", "nli:./x", "/x/y", "./x", "~/x", "C:\\x", "nli:"])
    def test_of_nli_models(self, name: str) -> None:
        assert names_nli(name)

    @pytest.mark.parametrize("name", ["local", "typed", "anthropic:claude-haiku-5-5", "openrouter:a/b", "models/nli"])
    def test_of_others(self, name: str) -> None:
        assert not names_nli(name)

    @pytest.mark.parametrize("name", ["nli:", "nli:model", "nli:a/b/c", "nli:a b/c", "nli:../", "nli:-a/b", "nli:a/b@"])
    def test_that_are_neither_path_nor_hub_id(self, name: str) -> None:
        with pytest.raises(JudgeError, match=r"is no model|no folder|no ONNX"):
            open_nli(name, fallback=TypedJudge())

    def test_with_unknown_options(self) -> None:
        with pytest.raises(JudgeError, match="no option 'label'"):
            locate("nli:./x?label=a")

    def test_a_folder_of_a_hub_id_s_name_is_not_taken_for_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_folder(tmp_path / "owner" / "model")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(MissingExtraError, match=r'pip install "thymus-memory\[nli\]"'):
            open_nli("nli:owner/model", fallback=TypedJudge())
        assert open_nli("./owner/model", fallback=TypedJudge()).name == "nli:model (model.onnx)"


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "larger-judge.md").read_text()
    make_folder(tmp_path / "nli-small")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(code, names)
    names["guard"].close()
    assert re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) == [capsys.readouterr().out]


class FakeHub(ThreadingHTTPServer):
    """Serves ``files`` of one model as the hub does, and remembers what it was asked."""

    daemon_threads = True
    repo, commit = "owner/nli-small", "c0ffee" + "0" * 34

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), FakeHubHandler)
        self.files = files
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class FakeHubHandler(BaseHTTPRequestHandler):
    server: FakeHub

    def log_message(self, *args: object) -> None:
        """Nothing: pytest shows what matters."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append(f"{self.command} {path}")
        repo, files = self.server.repo, self.server.files
        headers = {"X-Repo-Commit": self.server.commit, "Content-Type": "application/json"}
        if path == f"/api/models/{repo}" or path.startswith(f"/api/models/{repo}/revision/"):
            siblings = [{"rfilename": name} for name in files]
            content = json.dumps({"id": repo, "sha": self.server.commit, "siblings": siblings}).encode()
        elif path.startswith(f"/{repo}/resolve/") and (name := path.split("/", 5)[5]) in files:
            content = files[name]
            headers |= {"ETag": f'"{name}"', "Content-Type": "application/octet-stream"}
        else:
            content = b"{}"
            headers |= {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
        self.send_response(404 if "X-Error-Code" in headers else 200)
        for header, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(header, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    files = {
        "README.md": b"# A model",
        "pytorch_model.bin": b"code may hide here",
        "config.json": (TINY / "config.json").read_bytes(),
        "tokenizer.json": (TINY / "tokenizer.json").read_bytes(),
        "onnx/model.onnx": (TINY / "two.onnx").read_bytes(),
        "onnx/model_quantized.onnx": (TINY / "model.onnx").read_bytes(),
    }
    with FakeHub(files) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


OPEN = """
import sys
from thymus.errors import ThymusError
from thymus.judges.nli import open_nli
from thymus.judges.typed import TypedJudge
try:
    judge = open_nli(sys.argv[1], fallback=TypedJudge())
    print(judge.name, judge.relate([("The pool is open at 9.", "The pool is open at 7.")])[0].label)
except ThymusError as error:
    print(f"{type(error).__name__}: {error}")
"""


def open_elsewhere(name: str, home: Path, **environment: str) -> str:
    """What a fresh process says of a judge: the hub's client reads its environment when it is imported."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    settings = {"HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_ETAG_TIMEOUT": "2", "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, "-c", OPEN, name], env=inherited | settings | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_hub
class TestHub:
    def test_a_model_is_fetched_once_and_then_read_from_the_cache(self, hub: FakeHub, tmp_path: Path) -> None:
        expected = "nli:owner/nli-small (onnx/model_quantized.onnx) contradicts"
        assert expected == open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT=hub.url)
        fetched = {path.partition("resolve/main/")[2] for path in hub.asked if path.startswith("GET /owner")}
        assert fetched == {"config.json", "tokenizer.json", "onnx/model_quantized.onnx"}
        hub.asked.clear()
        assert expected == open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT=hub.url)
        assert expected == open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
        assert hub.asked == []

    def test_offline_and_not_cached_says_so(self, hub: FakeHub, tmp_path: Path) -> None:
        said = open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
        assert said.startswith("JudgeError: owner/nli-small is not in the cache and cannot be fetched: HF_HUB_OFFLINE")
        assert hub.asked == []

    def test_a_model_that_the_hub_does_not_have(self, hub: FakeHub, tmp_path: Path) -> None:
        said = open_elsewhere("nli:owner/other", tmp_path, HF_ENDPOINT=hub.url)
        assert "the hub has no such model or revision" in said

    def test_a_hub_out_of_reach(self, tmp_path: Path) -> None:
        said = open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
        assert "check the connection (and HF_ENDPOINT)" in said

    def test_a_model_without_onnx(self, hub: FakeHub, tmp_path: Path) -> None:
        hub.files = {name: data for name, data in hub.files.items() if not name.endswith(".onnx")}
        said = open_elsewhere("nli:owner/nli-small", tmp_path, HF_ENDPOINT=hub.url)
        assert "no ONNX file: export it again: optimum-cli" in said
        assert not any(path.startswith("GET /owner") for path in hub.asked)

    def test_a_revision_and_a_file(self, hub: FakeHub, tmp_path: Path) -> None:
        name = "nli:owner/nli-small@v2?file=onnx/model_quantized.onnx"
        said = open_elsewhere(name, tmp_path, HF_ENDPOINT=hub.url)
        assert said == "nli:owner/nli-small@v2 (onnx/model_quantized.onnx) contradicts"
        assert "GET /owner/nli-small/resolve/v2/tokenizer.json" in hub.asked
