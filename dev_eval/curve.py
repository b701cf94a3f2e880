"""The learning curve: what more training pairs brought, as the training wrote it down."""

from __future__ import annotations

import json
from pathlib import Path

from dev_eval.figures import DataMissingError, Part, Sheet

FILE = Path(__file__).parent.parent / "training" / "judge" / "curve.json"
_WIDTH = 40


def measure(file: Path = FILE) -> Part:
    """Show the rows ``{"model", "pairs", "macro_f1", "f1_contradicts"}`` of the file.

    :raises DataMissingError: where it is not there.
    """
    if not file.is_file():
        raise DataMissingError(f"{file.name} is not there: the learning curve is left out")
    points = sorted(json.loads(file.read_text(encoding="utf-8")), key=lambda one: (one["model"], one["pairs"]))
    sheet = Sheet(
        title=f"Learning curve (a bar of {_WIDTH} is a macro F1 of 1)",
        columns=("model", "pairs", "macro F1", "F1 contradicts", ""),
        rows=[
            (
                one["model"],
                f"{one['pairs']:,}",
                f"{one['macro_f1']:.3f}",
                f"{one['f1_contradicts']:.3f}",
                ("█" * round(one["macro_f1"] * _WIDTH)).ljust(_WIDTH),
            )
            for one in points
        ],
    )
    return Part(name="curve", sheets=[sheet], figures={"points": points})
