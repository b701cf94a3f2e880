"""How client and resident speak: one request and one answer a connection, JSON behind its length, over a Unix socket.

The socket is in a private folder and both sides ask the kernel whose the other process is. Where there are no Unix
sockets (Windows) it is a port of the loopback, which the file in the place of the socket names with a secret: whoever
got the port of a resident that ended learns nothing and answers nothing, since each side first proves to the other that
it knows the secret, which is never sent. What is proved names the port, so that nobody can pass it on to another.
Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
import struct

from thymus._version import __version__
from thymus.hooks.places import LONGEST_SOCKET_PATH, account

LONGEST = 4_000_000
"""Bytes of a request or an answer: events themselves go through the spool."""
LOOPBACK = "THYMUS_HOOK_LOOPBACK"
"""Set to use the loopback where there are Unix sockets too (a file system that has none)."""


class WireError(OSError):
    """The other side is not who it should be, or does not speak as agreed."""


def unix(path: str) -> bool:
    """Whether a Unix socket is used there."""
    return hasattr(socket, "AF_UNIX") and not os.environ.get(LOOPBACK) and len(os.fsencode(path)) <= LONGEST_SOCKET_PATH


def ask(path: str, request: dict[str, object], within: float) -> dict[str, object]:
    """Ask the resident.

    :param within: seconds for each step.
    :raises OSError: nobody is there (``FileNotFoundError``, ``ConnectionRefusedError``), or it took too long.
    :raises WireError: somebody else is.
    """
    with _reach(path, within) as line:
        send(line, {"version": __version__, **request})
        return receive(line)


def _reach(path: str, within: float) -> socket.socket:
    local = unix(path)
    line = socket.socket(socket.AF_UNIX if local else socket.AF_INET, socket.SOCK_STREAM)
    try:
        line.settimeout(within)
        if local:
            line.connect(path)
            check_peer(line)
        else:
            port, secret = _named(path)
            line.connect(("127.0.0.1", port))
            _prove(line, secret, port)
    except BaseException:
        line.close()
        raise
    return line


def listen(path: str) -> tuple[socket.socket, str]:
    """Listen where clients look; whoever does so holds the lock. Returns the secret to be known, "" for none."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    if not unix(path):
        return _listen_on_loopback(path)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        line.bind(path)
    finally:
        os.umask(before)
    line.listen(64)
    return line, ""


def _listen_on_loopback(path: str) -> tuple[socket.socket, str]:
    secret = os.urandom(32).hex()
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    line.bind(("127.0.0.1", 0))
    line.listen(64)
    unfinished = f"{path}.new"
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w") as out:
        out.write(f"{line.getsockname()[1]} {secret}")
    os.replace(unfinished, path)
    return line, secret


def _named(path: str) -> tuple[int, str]:
    """The port and the secret that the file of a resident names. :raises WireError: it names none."""
    with open(path, "rb") as found:
        port, _, secret = found.read(200).partition(b" ")
    if not port.isdigit() or not 0 < int(port) < 65_536 or len(secret) < 32:
        raise WireError("the file in the place of the socket names no port and secret")
    return int(port), secret.decode("ascii", "replace")


def _prove(line: socket.socket, secret: str, port: int) -> None:
    """The client's side of the proof, before anything is asked. :raises WireError: the other side does not know it."""
    ours = os.urandom(32).hex()
    send(line, {"nonce": ours})
    answer = receive(line)
    theirs = str(answer.get("nonce"))
    if not _same(answer.get("proof"), _proof(secret, "resident", port, ours, theirs)):
        raise WireError("the process at the port does not know the secret")
    send(line, {"proof": _proof(secret, "client", port, ours, theirs)})


def check_client(line: socket.socket, secret: str) -> None:
    """The resident's side: whose process is at the other end, or whether it knows the secret.

    :raises WireError: it is somebody else's, or does not know it.
    """
    if not secret:
        check_peer(line)
        return
    ours, port = os.urandom(32).hex(), line.getsockname()[1]
    theirs = str(receive(line).get("nonce"))
    send(line, {"nonce": ours, "proof": _proof(secret, "resident", port, theirs, ours)})
    if not _same(receive(line).get("proof"), _proof(secret, "client", port, theirs, ours)):
        raise WireError("the client does not know the secret")


def _proof(secret: str, side: str, port: int, client: str, resident: str) -> str:
    import hmac  # on the loopback only: it takes longer to import than a Unix socket to answer

    said = "\0".join((side, str(port), client, resident))
    return hmac.new(secret.encode(), said.encode("utf-8", "replace"), "sha256").hexdigest()


def _same(said: object, expected: str) -> bool:
    import hmac

    return isinstance(said, str) and hmac.compare_digest(said.encode("utf-8", "replace"), expected.encode())


def check_peer(line: socket.socket) -> None:
    """Ask the kernel whether the other side is this account's. :raises WireError: it is not."""
    if not hasattr(socket, "SO_PEERCRED"):  # macOS, Windows: the private folder alone
        return
    found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    if struct.unpack("3i", found)[1] != account():
        raise WireError("the process at the socket is somebody else's")


def send(line: socket.socket, message: dict[str, object]) -> None:
    """Send one message."""
    packed = json.dumps(message).encode()
    line.sendall(struct.pack("!I", len(packed)) + packed)


def receive(line: socket.socket) -> dict[str, object]:
    """Receive one message. :raises WireError: it is none."""
    (length,) = struct.unpack("!I", _exactly(line, 4))
    if length > LONGEST:
        raise WireError("a message is too long")
    try:
        message = json.loads(_exactly(line, length))
    except (ValueError, RecursionError) as error:
        raise WireError("a message is no JSON") from error
    if not isinstance(message, dict):
        raise WireError("a message is a JSON object")
    return message


def _exactly(line: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = line.recv(min(length, 65_536))
        if not part:
            raise WireError("the other side hung up")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
