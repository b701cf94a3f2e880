# mypy: ignore-errors
"""The peer's side of a comparison: ``python -I loop.py DRIVER.py FOLDER [VARIANT]``.

Standard library alone: it runs in the peer's environment. It loads the driver file, makes its ``Memory`` and answers
requests, one JSON object a line. A driver's class has

- ``name``, ``keyed`` (the peer needs the key of a fact handed to it) and ``tells`` (how its user hears of what it
  holds back; ``""`` if in no way);
- ``__init__(folder, embed, variant)``: an empty memory that keeps its files below ``folder``; ``embed(texts, role)``
  gives vectors of the host's sentence model (role ``passage`` or ``query``), for peers that bring none;
- ``version()``: which release this is;
- ``remember(message)``: a message has ``text``, ``subject``, ``relation``, ``value``, ``key``, ``kind`` (``user``,
  ``email``, ``web``, ``tool``), ``sender`` and ``verified``; it returns ``outcome`` (``stored``, ``altered``, ``held``
  or ``refused``) and ``flags``, what the peer reported of it;
- ``recall(question)``: a question has ``text``, ``subject``, ``relation`` and ``key``; it returns ``context``, the
  texts that a model would be given, and ``told``, the texts that the peer has for its user;
- optionally ``fill(messages)``, ``read(key)`` (all that is usable of what was stored under a key) and ``close()``.

A new memory is made for every ``reset``. What Python code asks of another
machine is refused, from the first import on, so that what is measured runs offline.
"""

import importlib.util
import json
import os
import sys
import time
import traceback
from pathlib import Path


def stay_offline(event, arguments):
    """An audit hook: no name is looked up and no other machine is reached."""
    if event == "socket.getaddrinfo" and arguments[0] not in (None, "localhost", "127.0.0.1", "::1"):
        raise PermissionError(f"this comparison runs offline: no look-up of {arguments[0]!r}")
    if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in ("127.0.0.1", "::1"):
        raise PermissionError(f"this comparison runs offline: no connection to {arguments[1][0]!r}")


def load(path):
    """The class ``Memory`` of a driver file."""
    spec = importlib.util.spec_from_file_location("driver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Memory


class Loop:
    """Requests in, answers out."""

    def __init__(self, driver, folder, variant, lines, answers):
        self.driver, self.folder, self.variant = driver, folder, variant
        self.lines, self.answers = lines, answers
        self.memory, self.made = None, 0

    def say(self, **answer):
        """One answer, at once."""
        self.answers.write(json.dumps(answer) + "\n")
        self.answers.flush()

    def embed(self, texts, role="passage"):
        """Vectors from the host."""
        self.say(embed=list(texts), role=role)
        return json.loads(self.lines.readline())["vectors"]

    def fresh(self):
        """A new memory in a new folder."""
        if hasattr(self.memory, "close"):
            self.memory.close()
        self.made += 1
        folder = Path(self.folder) / str(self.made)
        folder.mkdir(parents=True)
        self.memory = self.driver(str(folder), self.embed, self.variant)

    def fill(self, messages):
        """Learn many messages in the quickest way that the peer has."""
        if hasattr(self.memory, "fill"):
            self.memory.fill(messages)
        else:
            for message in messages:
                self.memory.remember(message)

    def read(self, key):
        """What is usable under a key, or what a question of its words finds."""
        if hasattr(self.memory, "read"):
            return self.memory.read(key)
        return "\n".join(self.memory.recall(asked(key))["context"])

    def answer(self, request):
        """Do what one request asks; ``ms`` is the time that the peer took, without the pipe."""
        verb, began = request["do"], time.perf_counter()
        if verb == "reset":
            self.fresh()
            found = {}
        elif verb == "fill":
            found = self.fill(request["messages"]) or {}
        elif verb == "remember":
            found = self.memory.remember(request["message"])
        elif verb == "recall":
            found = self.memory.recall(request["question"])
        elif verb == "read":
            found = {"text": self.read(request["key"])}
        else:
            raise ValueError(f"no such request: {verb!r}")
        return {**found, "ms": (time.perf_counter() - began) * 1000}

    def run(self):
        """Greet, then answer until the host closes the pipe."""
        self.fresh()
        self.say(
            name=self.driver.name,
            version=str(self.memory.version()),
            keyed=self.driver.keyed,
            tells=self.driver.tells,
        )
        for line in iter(self.lines.readline, ""):
            try:
                self.say(**self.answer(json.loads(line)))
            except Exception as error:  # noqa: BLE001 - a peer may raise anything; the host decides what that means
                self.say(error=f"{type(error).__name__}: {error}", trace=traceback.format_exc()[-2000:])


def asked(key):
    """The question that names a key and nothing more."""
    words = key.replace(".", " ").replace("_", " ")
    return {"text": words, "subject": key, "relation": "", "key": key}


def main():
    """Keep the pipe for answers alone: what a peer prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = os.fdopen(0, encoding="utf-8")
    path, folder, variant = sys.argv[1], sys.argv[2], (sys.argv[3:] or [""])[0]
    sys.addaudithook(stay_offline)
    Loop(load(path), folder, variant, lines, answers).run()


if __name__ == "__main__":
    main()
