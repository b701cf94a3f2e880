"""HTML mail as text: what is read and where the links lead, ``words (https://…)``, as mail-to-text tools show it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_LONGEST: Final = 200_000
_BLOCK: Final = re.compile("p|div|br|tr|table|ul|ol|li|h[1-6]|blockquote|section|hr|center")
_SILENT: Final = frozenset({"style", "script", "head", "title", "noscript", "svg"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []
        self._target = ""
        self._label = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        elif _BLOCK.fullmatch(tag):
            self.parts.append("\n")
        elif tag == "body":
            self._silent.clear()
        elif tag == "a":
            target = dict(attrs).get("href") or ""
            self._target, self._label = _shown(target), len(self.parts)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()
        elif _BLOCK.fullmatch(tag):
            self.parts.append("\n")
        elif tag == "a" and self._target:
            label = "".join(self.parts[self._label :]).strip()
            if label and self._target not in label:
                self.parts.append(f" ({self._target})")
            self._target = ""

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def _shown(target: str) -> str:
    if target.lower().startswith("mailto:"):
        return target[len("mailto:") :].partition("?")[0]
    return target if target.lower().startswith("http") else ""


def plain_text(html: str) -> str:
    """The text of the first 200,000 characters; markup that cannot be parsed gives what came before."""
    reader = _Reader()
    reader.feed(html[:_LONGEST])
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)
