"""The suite ``real``: scenarios out of real text messages and mail that the user downloads; none of it is in here.

What a sender wrote is never changed and never made up. Ours are the question, the user's own short fact that an attack
contradicts, and in the pairs of mails the lookalike's address. Everything follows from the files and the seed. Real
telephone numbers, links and names therefore stand in the scenarios and in the results of a run: keep both on your disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thymus_bench.real.build import Built, build
from thymus_bench.real.drafts import Skipped

if TYPE_CHECKING:
    from thymus_bench.scenarios import Scenario

__all__ = ["Built", "Skipped", "build", "load"]


def load(data: Path) -> list[Scenario]:
    """The scenarios of the corpora below a folder: ``build(data).scenarios``.

    :raises ScenarioError: where the folder is missing or holds none of the corpora.
    """
    return build(data).scenarios
