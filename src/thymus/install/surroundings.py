"""Where this runs: the system, whose home it is, where programs keep their settings, and which installation this is.

All that differs by platform is looked up here, so that tests can stand in another one.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

System = Literal["linux", "macos", "windows"]
PASSING: Final = ({"archive-v0"}, {"environments-v2"}, {"builds-v0"}, {"pipx", ".cache"})
"""Folders of uv and pipx on the way to an environment that lives for one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where this runs.

    :param project: the folder that is worked in.
    :param variables: of the environment.
    :param scripts: folders in which this installation's programs may be, the likeliest first.
    :param python: its interpreter.
    """

    system: System
    home: Path
    project: Path
    variables: Mapping[str, str]
    scripts: tuple[Path, ...]
    python: Path

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
        return cls(
            system={"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux"),  # type: ignore[arg-type]
            home=Path.home(),
            project=Path.cwd(),
            variables=os.environ,
            scripts=tuple(Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes),
            python=Path(sys.executable),
        )

    def base(self, name: str) -> Path:
        """A folder that paths of clients begin with: ``home``, ``project``, or where settings are kept."""
        here, home = self.variables, self.home
        support = home / "Library" / "Application Support"
        roaming = Path(here.get("APPDATA") or home / "AppData" / "Roaming")
        return {
            "home": home,
            "project": self.project,
            "settings": {"macos": support, "windows": roaming}.get(
                self.system, Path(here.get("XDG_CONFIG_HOME") or home / ".config")
            ),
            "packages": Path(here.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Packages",
            "claude-json": Path(here.get("CLAUDE_CONFIG_DIR") or home),
            "claude": Path(here.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        }[name]

    def find(self, patterns: Sequence[str]) -> Path:
        """The first of several paths whose folder exists; otherwise the first that is no pattern.

        :param patterns: a ``base``, a slash and a path in it, in which one folder may have a ``*``: then it is that
            folder that must exist, and one with the file goes first.
        """
        for pattern in patterns:
            base, _, rest = pattern.partition("/")
            if "*" not in rest:
                if (path := self.base(base) / rest).parent.is_dir():
                    return path
                continue
            folder, _, inner = rest.partition("/")
            found = [match / inner for match in sorted(self.base(base).glob(folder)) if match.is_dir()]
            if found:
                return next((path for path in found if path.is_file()), found[0])
        base, _, rest = next(pattern for pattern in patterns if "*" not in pattern).partition("/")
        return self.base(base) / rest

    @property
    def passes(self) -> bool:
        """Whether this installation is one of ``uvx`` or ``pipx run``, which is gone after a while."""
        return any(folders <= set(self.python.parts) for folders in PASSING)
