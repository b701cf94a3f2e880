"""Secrets in a text: what the words around it call a password, PIN, key or code, and what its own shape tells.

Ids that look alike are none: IBANs, telephone, order, tracking and invoice numbers, commit hashes, UUIDs, ISBNs,
public keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from thymus.recognizers import codes
from thymus.recognizers.page import scan, words
from thymus.recognizers.tokens import Found, read_cards, read_shaped
from thymus.recognizers.wordings import MOST_FOUND

_REACH: Final = 90
"""Characters behind a label in which its value is looked for."""
_REACH_WORDS: Final = 14


def find_secrets(text: str) -> Iterator[Found]:
    """Name and span of each secret."""
    low = (
        text.lower()
        if len(text.lower()) == len(text)
        else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )
    yield from read_shaped(text)
    yield from read_cards(text, low)
    for clues, read in _CLUES:
        if any(map(low.__contains__, clues)):
            yield from read(text, low)


_QUOTES: Final = "\"'“”‘’«»„`"
_COPULAS: Final = frozenset(
    words(
        "is was = : to now are be es est c'est lautet ist ist: jetzt nun é è e hai है := -> → → as with it's "
        "its set changed reads being equals ora "
    )
)
_WORD: Final = re.compile(r"\S+")


def _values(text: str, start: int, reach: int = _REACH) -> Iterator[tuple[str, int, bool, bool]]:
    """Words behind a label: each bare, its position, whether it is what the label says, whether it stands in quotes."""
    before, told = start, True
    for count, match in enumerate(_WORD.finditer(text, start, min(len(text), start + reach + 64))):
        if count > _REACH_WORDS or match.start() - start > reach or "\n\n" in text[before : match.start()]:
            return
        word = match[0]
        lead = len(word) - len(word.lstrip(_QUOTES + "([:=<,"))
        bare = word[lead:].rstrip(_QUOTES + ".,;:)]>")
        if bare:
            quoted = word[lead - 1 : lead] in tuple(_QUOTES) and bool(lead)
            yield bare, match.start() + lead, told or (lead > 0 and word[0] in ":="), quoted
        told = word.rstrip(_QUOTES).lower() in _COPULAS or word[-1] in ":=" or (not bare and told)
        before = match.end()


def _classes(word: str) -> int:
    """How many of small letters, capitals inside, digits and signs occur."""
    return (
        any(map(str.islower, word))
        + any(map(str.isupper, word))
        + any(map(str.isdigit, word))
        + any(not char.isalnum() and char not in "'’" for char in word)
    )


_NO_SECRET: Final = re.compile(
    r"\S{1,64}@[\w-]{1,63}\.[\w.]{2,64}$|\w{2,8}://|www\.|/\w|[€$£₹]?[\d.,:/-]+(?:am|pm|h|%|st|nd|rd|th|s|px"
    r"|km|gb|mb|kg|min|€|uhr)?$"
    r"|(?:[\w-]{1,63}\.){1,5}(?:com|org|net|example|io|de|in|co|uk|fr|es|it|html?|php|txt|pdf|exe|zip|kdbx"
    r"|conf|py|js)(?:/|$)|[0-9a-f]{40}$|[0-9a-f]{64}$"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$|\*+$|x+$|<|\{|\$\{|\[|wi-?fi\d?|(?-i:\d+-[a-z]+$)"
    r"|[a-z]+/[a-z]+$|\d+[hm][\d.]+m?s?$|v?\d+\.\d",
    re.IGNORECASE,
)


_CODE: Final = re.compile(r"[\w)\]][\[(]|[\])]\.|\(\)")  # of a program: "rows[:4]", "count()"


def _looks_secret(word: str, least: int = 2) -> bool:
    if not 4 <= len(word) <= 128 or _NO_SECRET.match(word) or _CODE.search(word):
        return False
    inside = any(map(str.isupper, word[1:])) and any(map(str.islower, word))
    kinds = _classes(word) - (word[0].isupper() and not inside and word[1:].islower())
    odd = (
        any(map(str.isdigit, word))
        or (inside and any(not c.isalnum() for c in word[1:-1]))
        or any(char in "!#%&*_^+=@$~?/\\|" for char in word[1:-1])
    )
    return odd and kinds >= least


_PASSWORD: Final = re.compile(
    r"(?<![\w-])(?:pass ?(?:word|wort|code|phrase)s?|passwd|pwd?|pswd|contrase[nñ]a|clave|mot de passe|mdp"
    r"|kennwort|passwort"
    r"|losungswort|senha|parola d'ordine|psk|wi-?fi key|पासवर्ड|network key|(?:store|key|data|user|db"
    r"|root)?pass)(?![\w-])(?:'s)?"
)
_PLAIN_NO: Final = frozenset(
    words(
        "required incorrect wrong expired invalid correct the your same different not on in at still too weak "
        "secure safe needed below attached encrypted protected a an my our his her their this that only just "
        "now what one what's never always being been unknown empty missing blank changed reset stored saved "
        "set case kept private and or for to from with by as if when manager hash hint field policy reset? "
        "change everyone everything nothing written strong long short easy hard temporary default el la un "
        "una mi tu le les ton mon die der das dein mein nicht no sur en correcto secret confidential asked "
        "sent generated accepted rejected optional lost stolen compromised good bad ready here there also "
        "already again de del incorrecta incorrecto oublié vergessen falsch abgelaufen ka ki ke है hai bhool "
        "bhul "
    )
)


def _passwords(text: str, low: str) -> Iterator[Found]:
    for match in scan(_PASSWORD, low, MOST_FOUND):
        for place, (word, at, told, quoted) in enumerate(_values(text, match.end())):
            if (
                (told and _looks_secret(word))
                or _looks_secret(word, 3)
                or (told and quoted and len(word) >= 4)
                or (told and place < 2 and _plainly_told(text, low, match.end(), word, at))
            ):
                yield "password", (at, at + len(word))
                break


def _plainly_told(text: str, low: str, label_end: int, word: str, at: int) -> bool:
    """ "password: sunshine", "the wifi password is sunshine." and numbers, but not "password is required"."""
    between = low[label_end:at].strip(" \t'\"")
    if between not in {":", "=", "is", "es", "ist", "lautet", "est", "c'est", "is:", "è", "é", "ist:", "now", "is now"}:
        return False
    if len(word) < 4 or word.lower() in _PLAIN_NO or (_NO_SECRET.match(word) and not word.isdigit()):
        return False
    if word.lower().endswith(("ed", "ing", "able", "ible")):
        return False
    rest = text[at + len(word) : at + len(word) + 2]
    return not rest or rest[0] in ".,;\n\"'”’)" or (between in {":", "="} and not rest.strip().isalpha())


_LOGIN: Final = re.compile(
    r"(?<![\w/-])(?:log(?:ged)?[ -]?in|log[ -]?on|sign[ -]?in|credentials|usuario|nutzer|benutzer"
    r"|user(?:name)?|identifiants?|zugang|acceso|root|admin)(?![\w-])"
)


def _logins(text: str, low: str) -> Iterator[Found]:
    """A user's name and, behind it, what can only be the password."""
    for match in scan(_LOGIN, low, MOST_FOUND):
        named = match[0].startswith(("user", "usuario", "nutzer", "benutzer", "ident"))
        for place, (word, at, told, _) in enumerate(_values(text, match.end())):
            if named and told and place < 3 and word.lower() not in _COPULAS:
                named = False  # the name itself
            elif place > 5:
                break
            elif (
                len(word) >= 8
                and any(map(str.islower, word))
                and any(map(str.isdigit, word))
                and _looks_secret(word, 3)
            ):
                yield "password", (at, at + len(word))
                break


_KEY: Final = re.compile(
    r"(?<![a-z])(?:(?:api|access|secret|signing|encryption|deploy|master|licen[cs]e|service|private|app"
    r"|account|auth)[ _-]?(?:key|secret|token)s?|secret|token|credential|client[ _]secret"
    r"|(?:[a-z0-9]{1,20}_){1,4}(?:token|key|secret|password|passwd|pwd|pass)|key|clé|schlüssel|llave|chiave"
    r"|chave)(?![a-z])"
)
_PUBLIC: Final = re.compile(r"public|publishable|ssh-(?:rsa|ed25519)|fingerprint|sha\d|checksum|hash|commit")


def _keys(text: str, low: str) -> Iterator[Found]:
    for match in scan(_KEY, low, MOST_FOUND):
        if _PUBLIC.search(low, max(0, match.start() - 20), match.start() + 40):
            continue
        for word, at, told, _ in _values(text, match.end()):
            random = len(word) >= 16 and _classes(word) >= 3
            if (
                _looks_secret(word, 2)
                and any(map(str.isdigit, word))
                and (random or (told and len(word) >= (8 if "_" in match[0] else 12)))
            ):
                yield "token", (at, at + len(word))
                break


_READERS: Final[tuple[tuple[str, Callable[[str, str], Iterator[Found]]], ...]] = (
    ("pass pw contrase clave mdp kennwort losungs senha parola psk key पासवर्ड", _passwords),
    ("log sign user usuario nutzer ident zugang acceso root admin credential", _logins),
    ("key token secret credential _ clé schl llave chiave chave", _keys),
    ("pin code comb geheimzahl keypad host पिन", codes.read_pins),
    ("code otp tan one- one dig codice ओटीपी कोड cv csc back", codes.read_one_time_codes),
    ("code recover backup rescue reset dig seed mnemonic phrase frase wallet 2fa totp mfa auth", codes.read_recovery),
    (codes.NATIONAL_CLUES, codes.read_national_ids),
)
_CLUES: Final = tuple((words(clues), read) for clues, read in _READERS)
"""What must occur in the text (in small letters) for a reader to be worth running."""
