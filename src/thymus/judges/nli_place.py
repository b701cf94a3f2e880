"""Where a natural-language-inference (NLI) model is: a folder, or a repository of the Hugging Face hub.

Of either, three files are used: the ONNX file that suits this machine, the tokenizer's ``tokenizer.json``, and
``config.json``, which says what the outputs mean. None of them is code.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from thymus.errors import JudgeError, MissingExtraError

EXPORT: Final = (
    "export it again: optimum-cli export onnx --model NAME --task text-classification FOLDER (pip install optimum-onnx)"
)
"""The remedy for a model that lacks a file or is of another kind."""

_PREFIX: Final = "nli:"
_FOR_ARM: Final = "model_qint8_arm64.onnx"
_FOR_MACHINE: Final = {"arm64": _FOR_ARM, "aarch64": _FOR_ARM}
_FOR_OTHERS: Final = "model_quint8_avx2.onnx"
_FOR_ALL: Final = ("model_quantized.onnx", "model_int8.onnx", "model_uint8.onnx", "model.onnx")
_HUB_ID: Final = re.compile(r"(\w[\w.-]{0,95}/\w[\w.-]{0,95})(?:@(\w[\w./-]{0,199}))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a model is.

    :param label: what the judge is called after: the folder's own name or the hub id, never a path of this machine.
    :param file: the ONNX file in the folder, or "" for the one that suits this machine.
    :param labels: what the outputs mean, or none for what ``config.json`` says.
    """

    folder: Path
    label: str
    file: str = ""
    labels: tuple[str, ...] = ()


def names_nli(name: str) -> bool:
    """Whether a judge's name asks for an NLI model: ``nli:…``, or the path of a folder."""
    return name.startswith(_PREFIX) or _is_path(name)


def locate(name: str) -> Place:
    """Find the model that a name asks for, and fetch it where it is on the hub and not in the cache.

    A path begins with ``/``, ``./``, ``../``, ``~`` or a drive; all else after ``nli:`` is a hub id, ``owner/model`` or
    ``owner/model@revision``. What is in the working folder plays no part, so nobody takes a model's place by a folder
    of its name. ``?labels=`` and ``?file=`` follow either.

    :raises JudgeError: where there is no such model, or it cannot be fetched.
    :raises MissingExtraError: for a hub id without the package ``huggingface_hub``.
    """
    where, _, query = name.removeprefix(_PREFIX).partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(options.keys() - {"labels", "file"}):
        raise JudgeError(f"a judge has no option {unknown[0][:40]!r}: write ?labels= or ?file= after its name")
    file = options.get("file", "")
    labels = tuple(options["labels"].split(",")) if "labels" in options else ()
    if _is_path(where):
        folder = Path(where).expanduser()
        return Place(folder=folder, label=folder.resolve().name, file=file, labels=labels)
    asked = _HUB_ID.fullmatch(where)
    if not asked:
        raise JudgeError(
            f"{where[:80]!r} is no model: write nli:owner/model for one of the hub, or nli:./folder for one of yours"
        )
    return Place(folder=_fetch(asked[1], asked[2], file), label=asked[0], file=file, labels=labels)


def _is_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~")) or "\\" in text or text in {".", ".."} or Path(text).is_absolute()


def choose_file(files: Collection[str]) -> str:
    """The ONNX file that suits this machine's processor best.

    Quantised to eight bits (for this processor, else in general), then ``model.onnx``; in the folder ``onnx`` or beside
    ``config.json``. Another is taken only where it is the only one: half precision and four bits are slow here.

    :raises JudgeError: where there is none, or several and none with a known name.
    """
    mine = _FOR_MACHINE.get(platform.machine().lower(), _FOR_OTHERS)
    for name in (mine, *_FOR_ALL):
        for file in (f"onnx/{name}", name):
            if file in files:
                return file
    others = sorted(file for file in files if file.endswith(".onnx"))
    if len(others) == 1:
        return others[0]
    if others:
        raise JudgeError(f"the model has several ONNX files: choose one, as in ?file={others[0][:80]}")
    raise JudgeError(f"the model has no ONNX file: {EXPORT}")


def check_folder(place: Place) -> str:
    """The ONNX file of a folder that has all three files.

    :raises JudgeError: where one is missing; the message says which.
    """
    folder = place.folder
    if not folder.is_dir():
        raise JudgeError(f"there is no folder {folder}: a judge needs one with an ONNX model and its tokenizer.json")
    try:
        file = place.file or choose_file(_models(folder))
    except JudgeError as error:
        raise JudgeError(f"{folder}: {error}") from error
    needed = (file, "tokenizer.json", *(() if place.labels else ("config.json",)))
    if missing := [name for name in needed if not (folder / name).is_file()]:
        raise JudgeError(f"{folder} lacks {missing[0]}: {EXPORT}")
    return file


def _models(folder: Path) -> list[str]:
    found = (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx"))
    return [path.relative_to(folder).as_posix() for path in found]


def _fetch(repo: str, revision: str | None, file: str) -> Path:
    """The folder of a hub's model in its cache. What was fetched once is used as it is, with no question to the hub."""
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise MissingExtraError(
            f'{repo} is on the hub: pip install "thymus-memory[nli]" to fetch it, or pass the folder of a model that '
            "you have, as in nli:./folder"
        ) from error
    if found := _cached(hub, repo, revision, file):
        return found
    try:
        files = {one.rfilename for one in hub.HfApi().model_info(repo, revision=revision).siblings or ()}
        for name in (needed := _needed(files, file)):
            path = Path(hub.hf_hub_download(repo, name, revision=revision))
    except JudgeError as error:
        raise JudgeError(f"{repo}: {error}") from error
    except Exception as error:
        raise JudgeError(f"{repo} is not in the cache and cannot be fetched: {_why(error)}") from error
    return path.parents[needed[-1].count("/")]


def _needed(files: Collection[str], file: str) -> list[str]:
    """What to fetch. The model comes last: where it is in the cache, so is all that it needs."""
    chosen = file or choose_file(files)
    if lacking := [name for name in (chosen, "tokenizer.json") if name not in files]:
        raise JudgeError(f"there is no {lacking[0]} on the hub; choose another model, or {EXPORT}")
    beside = (f"{chosen}_data", f"{chosen}.data", "config.json", "tokenizer.json")
    return [*(name for name in beside if name in files), chosen]


def _cached(hub: Any, repo: str, revision: str | None, file: str) -> Path | None:
    tokenizer = hub.try_to_load_from_cache(repo, "tokenizer.json", revision=revision)
    if not isinstance(tokenizer, str):
        return None
    folder = Path(tokenizer).parent
    there = (folder / file).is_file() if file else bool(_models(folder))
    return folder if there else None


def _why(error: Exception) -> str:
    name = type(error).__name__
    if name == "OfflineModeIsEnabled":
        return "HF_HUB_OFFLINE is set; unset it once, or copy the cache (HF_HOME) of a machine that has the model"
    if name in {"RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"}:
        return "the hub has no such model or revision, or shows it only to those who log in (hf auth login)"
    return f"{name}; check the connection (and HF_ENDPOINT), or pass the folder of a model that you have"
