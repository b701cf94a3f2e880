"""An environment of its own for each peer, made once and kept below a cache folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thymus_bench.compare.peers import OURS, Peer, PeerError

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHE: Final = Path(".cache") / "peers"
INSTALL_SECONDS: Final = 600


def python_of(peer: Peer, cache: Path = CACHE, *, seconds: float = INSTALL_SECONDS) -> Path:
    """The Python that has a peer installed; ours is the one that runs this.

    What has no requirements runs in ours too, with nothing of Thymus imported.

    :param seconds: how long the installation may take.
    :raises PeerError: it cannot be installed; the message has the installer's last line.
    """
    if peer.name == OURS or not peer.requirements:
        return Path(sys.executable)
    folder = cache / peer.requirements[0].split("==")[0]
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp, wanted = folder / "installed.txt", "\n".join((sys.version.split()[0], *peer.requirements))
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted and python.exists():
        return python.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    for command in _commands(folder, python, peer.requirements):
        _run(command, peer, seconds)
    stamp.write_text(wanted, encoding="utf-8")
    return python.absolute()


def _commands(folder: Path, python: Path, requirements: Sequence[str]) -> list[list[str]]:
    """With uv where it is at hand (seconds), else with what Python brings (a minute)."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv:
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(python), *requirements],
        ]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    return [[sys.executable, "-m", "venv", str(folder)], pip]


def _run(command: list[str], peer: Peer, seconds: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise PeerError(
            f"{peer.name}: not installed within {seconds:.0f} s; run it again, or leave it out with --peer"
        ) from None
    except OSError as error:
        raise PeerError(f"{peer.name}: {command[0]} does not start ({error.strerror})") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise PeerError(f"{peer.name}: cannot be installed ({lines[-1][:300]}); leave it out with --peer")
