"""The corpora that this suite reads, and which files of a folder belong to which. See ``docs/datasets.md``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thymus_bench.real.messages import is_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A corpus.

    :param places: words of which one is in the path of its files, below the folder that the user names (its name too).
    :param licence: as its publisher states it; ``attribution`` is what to write where results are shown.
    """

    name: str
    licence: str
    attribution: str
    places: tuple[str, ...] = ()


TEXTS: Final = Dataset(
    name="mishra-soni-sms",
    licence="CC BY 4.0",
    attribution=(
        "SMS Phishing Dataset for Machine Learning and Pattern Recognition, Sandhya Mishra and Devpriya Soni, Mendeley "
        "Data, 2022, doi:10.17632/f45bkkt8pr.1"
    ),
)
NAZARIO: Final = Dataset(
    name="nazario-phishing",
    licence="none stated by its publisher",
    attribution="Phishing Corpus, Jose Nazario",
    places=("nazario", "monkey.org", "phishing0", "phishing1", "phishing2", "phishing3", "phishing-20"),
)
PHISHING_POT: Final = Dataset(
    name="phishing-pot",
    licence="Free Research License of its repository: research use, results free to others",
    attribution="Phishing Pot, rf-peixoto and contributors",
    places=("phish",),
)
SPAMASSASSIN: Final = Dataset(
    name="spamassassin-ham",
    licence="none named: published for testing mail filters",
    attribution="SpamAssassin public mail corpus, Apache SpamAssassin project",
    places=("easy-ham", "easy_ham", "hard-ham", "hard_ham"),
)
ENRON: Final = Dataset(
    name="enron",
    licence="none named: made public by the Federal Energy Regulatory Commission",
    attribution="Enron Email Dataset, CMU CALO project, distributed by William W. Cohen",
    places=("enron", "maildir/"),
)
OWN: Final = Dataset(
    name="own-mail",
    licence="private: the results hold its text, so keep them so",
    attribution="mail of whoever runs this",
    places=("/cur/", "/new/", ".mbox"),
)
MAILS: Final = (NAZARIO, PHISHING_POT, SPAMASSASSIN, ENRON, OWN)
"""In the order in which a path is tried."""

_IGNORED: Final = (
    ".jsonl",
    ".json",
    ".csv",
    ".md",
    ".gz",
    ".tgz",
    ".bz2",
    ".zip",
    ".pdf",
    ".py",
    ".db",
    ".xlsx",
    ".tsv",
)


def files(data: Path, most: int) -> Iterator[tuple[Dataset, Path, str]]:
    """The files of known corpora below a folder (or the one file), in the order of their names.

    :param most: files of one corpus after which the rest is left unread (the Enron mail is half a million files).
    :returns: the corpus, the file, and its name below the folder.
    """
    counts: dict[str, int] = {}
    for path in _walk(data):
        name = path.relative_to(data).as_posix() if path != data else path.name
        if (found := _of(path, name, data)) and counts.get(found.name, 0) < most:
            counts[found.name] = counts.get(found.name, 0) + 1
            yield found, path, name


def _walk(data: Path) -> Iterator[Path]:
    if data.is_file():
        yield data
        return
    for folder, below, names in os.walk(data):
        below[:] = sorted(one for one in below if not one.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _of(path: Path, name: str, data: Path) -> Dataset | None:
    if path.suffix.lower() == ".csv":
        return TEXTS if is_texts(path) else None
    if path.suffix.lower() in _IGNORED:
        return None
    place = f"/{data.name}/{name}".lower()
    return next((one for one in MAILS if any(word in place for word in one.places)), None)
