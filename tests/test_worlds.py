"""The authored worlds can be read, and the statistics of paired outcomes are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev_eval.figures import mcnemar, wilson
from dev_eval.worlds import HERE, read_worlds


@pytest.mark.parametrize(("folder", "worlds", "harmonies"), [("build", 130, 45), ("held", 60, 20)])
def test_every_world_is_whole(folder: str, worlds: int, harmonies: int) -> None:
    found = read_worlds(HERE / folder)
    whole = [world for world in found if "harmony" not in world]
    assert (worlds, harmonies) == (len(whole), len(found) - len(whole))
    assert all(world["probe"] for world in found)
    assert all(len(world["distractors"]) >= 6 for world in whole)
    assert all(world["legit"]["new_value"] and world["attack"]["bad_value"] and world["old_value"] for world in whole)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("world w01 home\nnonsense\n", "utf-8")
    with pytest.raises(ValueError, match=r"x\.txt:2"):
        read_worlds(path.parent)


def test_wilson_gives_the_published_interval() -> None:
    """Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662; none of 20 is 0 to 0.1611."""
    assert pytest.approx((0.2553, 0.3662), abs=1e-4) == wilson(81, 263)
    assert pytest.approx((0.0, 0.1611), abs=1e-4) == wilson(0, 20)


def test_mcnemar_is_exact() -> None:
    ours, theirs = [True] * 9 + [False] * 4, [False] * 9 + [True, False, False, False]
    *counts, chance = mcnemar(ours, theirs)
    assert counts == [9, 1]
    assert pytest.approx(22 / 1024) == chance
    assert mcnemar([True], [True]) == (0, 0, 1.0)
