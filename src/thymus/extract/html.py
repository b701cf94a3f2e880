"""The text that a person sees of an HTML mail or page.

What is hidden from people (``display: none``, no size, white on white, off the screen, comments) is left out: text
for machines only is the oldest way to plant an instruction. Parsed by lexbor, which follows the WHATWG HTML standard;
no style sheet is applied beyond simple ``.class`` and ``#id`` rules, which is what mail uses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from thymus.extract.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selectolax.lexbor import LexborNode

_OPENS = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|(?:html|head|body|meta|title|style|table|div|p|center|span|font|"
    r"h[1-6]|ul|ol|br|img|a)(?=[\s/>]))",
    re.IGNORECASE | re.DOTALL,
)
_CLOSES = re.compile(r"</(?:html|body|div|p|table|tr|td|ul|li|blockquote|h[1-6])\s{0,9}>", re.IGNORECASE)

_SKIPPED: Final = listed(
    """
    head title script style template noscript iframe object svg math select option datalist audio video
    """
)
_BLOCKS: Final = listed(
    """
    address article aside blockquote body center dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5
    h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul
    """
)
_SPACED: Final = listed("p h1 h2 h3 h4 h5 h6 table ul ol blockquote")

_GONE = re.compile(
    r"display:none|mso-hide:all|opacity:0?\.?0*(?![.\d])|text-indent:-\d{3,}|(?:left|top|right):-\d{3,}|"
    r"clip:rect\((?:0(?:px)?[, ]*){4}\)|clip-path:inset\((?:50|100)%|transform:scale\(0\)"
)
_SQUASHED = re.compile(r"(?:^|;)(?:max-)?(?:height|width):0(?:px|em|pt|%)?(?:!important)?(?:;|$)")
_FONT_SIZE = re.compile(r"font-size:(\d{0,6}\.?\d{0,6})(px|pt|em|rem|%)?")
_COLOUR = re.compile(r"(?:^|;)color:([^;!]{1,40})")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]{1,200})")
_VISIBILITY = re.compile(r"visibility:(visible|hidden|collapse)")
_RULE = re.compile(r"([^{}]{1,500})\{([^{}]{0,2000})\}")
_SIMPLE = re.compile(r"[a-z0-9]{0,12}([.#][\w-]{1,60})")
_RGB = re.compile(r"rgba?\(([\d.]{1,6}),([\d.]{1,6}),([\d.]{1,6})(?:,([\d.]{1,6}))?\)")
_NAMED: Final = {"white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240)}

# Elements that never nest in themselves without a closing tag, or have no content at all.
_FLAT: Final = listed(
    """
    p li td th tr tbody thead tfoot dd dt option optgroup br hr img input meta link area base col embed source track
    wbr html head body
    """
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,30})([^>]*)")
_SPACES = re.compile(r"[ \t\r\n\f]+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")

_Colour = tuple[int, int, int]
_LONGEST = 1_000_000
_WRAPPED = 40  # from here a line could be taken for one that a mail program wrapped: an empty line follows it
_DEEPEST = 800
_WIDEST = 1_000


class _Look(NamedTuple):
    """How text inside an element looks; a background of ``None`` is a picture, against which nothing is hidden."""

    colour: _Colour | None
    background: _Colour | None
    hidden: bool
    tiny: bool
    literal: bool


def looks_like_html(text: str) -> bool:
    """Whether a text is HTML source rather than words that mention a tag."""
    return "<" in text and bool(_OPENS.match(text) or _CLOSES.search(text) or text.count("<br") > 2)


def plain_text(html: str) -> str:
    """The visible text: blocks become lines, cells of a row are parted by a tab, quoted mail is marked with ``>``.

    At most one million characters of source are read, and nothing after the point where elements nest deeper than 800
    or one tag holds more than 1,000 unquoted characters: lexbor needs quadratic time for these, and no mail has them.
    """
    from selectolax.lexbor import LexborHTMLParser

    source = _readable(html[:_LONGEST].encode("utf-8", "replace").decode("utf-8"))
    root = LexborHTMLParser(source).root
    if root is None:
        return ""
    page = _Page(_style_rules(root))
    page.read(root)
    return page.text()


def _readable(source: str) -> str:
    depth = 0
    for tag in _TAG.finditer(source):
        if len(tag[3]) > _WIDEST and len(_QUOTED.sub("", tag[3])) > _WIDEST:
            return source[: tag.start()]
        if tag[2].lower() not in _FLAT:
            depth = max(0, depth - 1) if tag[1] else depth + 1
            if depth > _DEEPEST:
                return source[: tag.start()]
    return source


class _Page:
    """Gathers lines while the tree is walked without recursion (nesting may be 100,000 deep)."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules = rules
        self._lines: list[str] = []
        self._now: list[str] = []
        self._quotes = 0

    def text(self) -> str:
        self._break()
        return "\n".join(self._lines).strip("\n")

    def read(self, root: LexborNode) -> None:
        looks = [_Look((0, 0, 0), (255, 255, 255), hidden=False, tiny=False, literal=False)]
        node = root
        while True:
            inner = self._enter(node, looks[-1])
            child = node.child if inner is not None else None
            if inner is not None and child is not None:
                looks.append(inner)
                node = child
                continue
            if inner is not None:
                self._leave(node)
            while (after := node.next) is None:
                parent = node.parent
                if parent is None or len(looks) == 1:
                    return
                looks.pop()
                node = parent
                self._leave(node)
            node = after

    def _enter(self, node: LexborNode, look: _Look) -> _Look | None:
        """Take in what stands at the node; return the look of its inside, or None where nobody sees that."""
        tag = node.tag or ""
        if tag == "-text":
            if not (look.tiny or look.hidden or _alike(look.colour, look.background)):
                self._write(node.text_content or "", look.literal)
            return None
        if tag in _SKIPPED or tag.startswith(("-", "!")):
            return None
        inner = _look_of(node, tag, look, self._rules)
        if inner is None:
            return None
        if tag == "br":
            self._break(ends_block=False)
        elif tag in ("td", "th"):
            self._now.append("\t")
        elif tag in _BLOCKS:
            self._break(spaced=tag in _SPACED)
            if tag == "li":
                self._now.append("- ")
        if tag == "blockquote" and _quotes_mail(node):
            self._quotes += 1
        return inner

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _BLOCKS:
            self._break(spaced=tag in _SPACED)
        if tag == "blockquote" and _quotes_mail(node):
            self._quotes -= 1

    def _write(self, text: str, literal: bool) -> None:
        if not literal:
            self._now.append(_SPACES.sub(" ", text))
            return
        first, *rest = text.split("\n")
        self._now.append(first)
        for line in rest:
            self._break()
            self._now.append(line)

    def _break(self, *, spaced: bool = False, ends_block: bool = True) -> None:
        if self._now:
            line = _SPACES.sub(_one_space, "".join(self._now)).strip()
            if line == "-":  # the item's text is in a block of its own
                return
            self._now = []
            if line:
                self._lines.append("> " + line if self._quotes else line)
                spaced = spaced or (ends_block and len(line) >= _WRAPPED)
        if spaced and self._lines and self._lines[-1]:
            self._lines.append("")


def _one_space(found: re.Match[str]) -> str:
    return "\t" if "\t" in found[0] else " "


def _quotes_mail(node: LexborNode) -> bool:
    attributes = node.attributes
    return attributes.get("type") == "cite" or "quote" in (attributes.get("class") or "")


def _style_rules(root: LexborNode) -> dict[str, str]:
    """Declarations by ``.class`` or ``#id``; rules that hold for some screens only (``@media``) are left out."""
    rules: dict[str, str] = {}
    for sheet in root.css("style")[:20]:
        text = re.sub(r"/\*.{0,5000}?\*/|<!--|-->", "", sheet.text(deep=True)[:50_000], flags=re.DOTALL)
        depth, outer = 0, []
        for piece in re.split(r"(@media[^{}]{0,300}\{|\{|\})", text):
            depth += 2 if piece.startswith("@media") else 1 if piece == "{" else -1 if piece == "}" else 0
            if depth == 1 and piece == "}":  # the end of a rule within @media
                depth = 2
            if depth < 2 and piece != "@":
                outer.append(piece)
        for names, declarations in _RULE.findall("".join(outer)):
            for name in names.split(","):
                if found := _SIMPLE.fullmatch(name.strip()):
                    rules[found[1]] = rules.get(found[1], "") + ";" + declarations
    return {name: re.sub(r"\s+", "", declarations).lower() for name, declarations in rules.items()}


def _look_of(node: LexborNode, tag: str, look: _Look, rules: Mapping[str, str]) -> _Look | None:
    attributes = node.attributes
    literal = look.literal or tag == "pre"
    if not attributes:
        return look._replace(literal=literal) if literal != look.literal else look
    if "hidden" in attributes or (tag == "input" and attributes.get("type") == "hidden"):
        return None
    style = re.sub(r"\s+", "", (attributes.get("style") or "")[:4_000]).lower()
    if rules:
        names = ["." + name for name in (attributes.get("class") or "")[:500].split()]
        names.append("#" + (attributes.get("id") or ""))
        style = ";".join([rules[name] for name in names if name in rules] + [style])
    if style and (_GONE.search(style) or ("overflow:hidden" in style and _SQUASHED.search(style))):
        return None
    colour, background = look.colour, look.background
    if given := attributes.get("color") if tag == "font" else None:
        colour = _colour(given, colour)
    if given := attributes.get("bgcolor"):
        background = _colour(given, background)
    if attributes.get("background"):
        background = None
    plain = _Look(colour, background, look.hidden, look.tiny, literal)
    return _styled(plain, style) if style else plain


def _styled(look: _Look, style: str) -> _Look:
    if found := _last(_COLOUR, style):
        gone = found[1] == "transparent"
        look = look._replace(colour=_colour(found[1], look.colour), hidden=look.hidden or gone)
    if found := _last(_BACKGROUND, style):
        picture = "url(" in found[1] or "gradient" in found[1]
        look = look._replace(background=None if picture else _colour(found[1], look.background))
    if found := _last(_FONT_SIZE, style):
        unseen = found[1] in ("", ".") or float(found[1]) <= (1 if found[2] in ("px", "pt") else 0)
        look = look._replace(tiny=unseen and found[1] != "")
    if found := _last(_VISIBILITY, style):
        look = look._replace(hidden=found[1] != "visible")
    return look


def _last(pattern: re.Pattern[str], style: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(style):  # noqa: B007 (the last declaration wins)
        pass
    return found


def _colour(written: str, otherwise: _Colour | None) -> _Colour | None:
    written = written.strip().lower()
    if found := re.match(r"#?([0-9a-f]{6}|[0-9a-f]{3})\b", written):
        digits = found[1] if len(found[1]) == 6 else "".join(2 * digit for digit in found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if found := _RGB.match(written):
        try:
            red, green, blue, alpha = (float(part) if part else 1.0 for part in found.groups())
        except ValueError:
            return otherwise
        return otherwise if alpha == 0 else (int(red), int(green), int(blue))
    for name, colour in _NAMED.items():
        if written.startswith(name):
            return colour
    return (128, 128, 128) if written.isalpha() and written not in ("inherit", "none", "initial") else otherwise


def _alike(text: _Colour | None, behind: _Colour | None) -> bool:
    """Whether nobody can tell the text from what is behind it."""
    if text is None or behind is None or text == (128, 128, 128):
        return False
    return sum(abs(a - b) for a, b in zip(text, behind, strict=True)) <= 24
