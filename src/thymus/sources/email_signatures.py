"""Verifying DKIM signatures ourselves (RFC 6376), for mail that no server of ours has judged.

``dkimpy`` does the cryptography (extra ``dkim``). Stricter than it, as RFC 8301 and RFC 6376 (sections 8.2 and 8.15)
advise: a signature counts only if it covers the whole body (no ``l=``) and every From, Subject and Date there is, is
not past its ``x=``, and was made with SHA-256 and a key of 1,024 bits or more that is not for testing (``t=y``).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from thymus.errors import MissingExtraError

if TYPE_CHECKING:
    from thymus.sources.email_fields import Fields

MOST_SIGNATURES: Final = 8
SHORTEST_KEY: Final = 1024
_LONGEST_MAIL: Final = 32 << 20
_LONGEST_SIGNATURE: Final = 8_000
_LONGEST_RECORD: Final = 2_000  # a DNS record that would hold a key whose use takes seconds
_COVERED: Final = ("from", "subject", "date")
# RFC 5322 allows lines of 998 characters; dkimpy takes time that is quadratic in the length of a run of blanks.
_LONG_BLANK: Final = re.compile(rb"[\t ]{1000}")


class LookUp(Protocol):
    """The TXT record of a DNS name, ``None`` where there is none."""

    def __call__(self, name: bytes, timeout: int = 5) -> bytes | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A DKIM signature: the domain that signed (``d=``), and why it does not count; "" where it does."""

    domain: str
    reason: str = ""


def verify_signatures(raw: bytes, fields: Fields, look_up: LookUp | None) -> tuple[Signature, ...]:
    """Verify the topmost signatures of a mail.

    :param look_up: how DNS is asked; the system's resolver by default, with up to five seconds a signature.
    :raises MissingExtraError: without the package ``dkimpy``, or without ``dnspython`` where ``look_up`` is not given.
    """
    dkim = _load(with_resolver=look_up is None)
    given = fields.values("dkim-signature")[:MOST_SIGNATURES]
    if not given:
        return ()
    unfit = _unfit(raw)
    tags = [_tags(value) for value in given]
    return tuple(
        Signature(
            domain=each.get("d", "").lower(),
            reason=unfit or _flaw(value, each, fields) or _check(dkim, raw, index, look_up),
        )
        for index, (value, each) in enumerate(zip(given, tags, strict=True))
    )


def _load(*, with_resolver: bool) -> Any:
    try:
        import dkim  # type: ignore[import-untyped]

        if with_resolver:
            import dns.resolver  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            'verifying DKIM signatures needs two more packages: pip install "thymus-memory[dkim]"'
        ) from None
    return dkim


def _unfit(raw: bytes) -> str:
    if len(raw) > _LONGEST_MAIL:
        return "the mail is too large to be checked"
    return "the mail has lines too long to be checked" if _LONG_BLANK.search(raw) else ""


def _tags(value: str) -> dict[str, str]:
    """``tag=value`` pairs (RFC 6376, section 3.2), without blanks in the values."""
    pairs = (part.partition("=") for part in value[:_LONGEST_SIGNATURE].split(";"))
    return {name.strip(): "".join(rest.split()) for name, _, rest in pairs}


def _flaw(value: str, tags: dict[str, str], fields: Fields) -> str:
    """Why a signature would not count even if its cryptography is right."""
    signed = tags.get("h", "").lower().split(":")
    if len(value) > _LONGEST_SIGNATURE:
        return "it is too long to be checked"
    if "l" in tags:
        return "it covers a part of the body only (l=), and anything could have been added"
    if bare := [name for name in _COVERED if len(fields.values(name)) > signed.count(name)]:
        return f"it does not cover {bare[0].capitalize()}, which anybody could then have written"
    if tags.get("a", "").lower() == "rsa-sha1":
        return "it is made with SHA-1, which no longer proves anything"
    expiry = tags.get("x", "")
    if expiry and (not re.fullmatch(r"[0-9]{1,12}", expiry) or int(expiry) < time.time()):
        return "it has expired (x=)"
    return ""


def _check(dkim: Any, raw: bytes, index: int, look_up: LookUp | None) -> str:
    """The cryptography; what goes wrong in it is a reason, whatever it is."""
    seen: list[str] = []

    def ask(name: bytes, timeout: int = 5) -> bytes | None:
        found = (look_up or dkim.get_txt)(name, timeout=timeout)
        if found is None or len(found) > _LONGEST_RECORD:
            seen.append("its key is not in the DNS")
            return None
        record = found.encode("ascii", "replace") if isinstance(found, str) else bytes(found)
        flags = _tags(record.decode("ascii", "replace")).get("t", "").lower().split(":")
        if "y" in flags:
            seen.append("its domain is only testing DKIM (t=y)")
            return None
        return record

    try:
        mail = dkim.DKIM(raw, minkey=SHORTEST_KEY)
        if mail.verify(idx=index, dnsfunc=ask):
            return ""
        keysize = getattr(mail, "keysize", None)
    except dkim.KeyFormatError:
        return "its key is too short or broken"
    except dkim.DKIMException:
        return "it does not match the mail"
    except Exception:  # noqa: BLE001  (the caller's DNS, and a library that a forged signature can trip)
        return "it could not be checked"
    if seen:
        return seen[0]
    return "it does not match the mail" if keysize else "its key could not be had"
