"""Sums of money with their currency and what they are paid for."""

from __future__ import annotations

import re
from decimal import Decimal

from thymus.core.values import Money
from thymus.recognizers.numbers import NUMERAL, read_amounts
from thymus.recognizers.page import Page, alternatives, scan, words

_DOLLARS = frozenset(["USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "TWD"])
_RUPEES = frozenset(["INR", "PKR", "LKR", "NPR"])
_CROWNS = frozenset(["SEK", "NOK", "DKK", "CZK", "ISK"])


def _only(*codes: str) -> frozenset[str]:
    return frozenset(codes)


# What stands before or after the amount, lower case, and the currencies (ISO 4217) that it can mean.
_CODES = words(
    "GBP EUR USD CAD AUD NZD SGD HKD MXN INR PKR LKR NPR JPY CNY KRW RUB ILS VND NGN PHP THB UAH BRL "
    "SEK NOK DKK CZK ISK PLN HUF CHF ZAR AED SAR QAR KES GHS EGP IDR MYR TWD BDT ARS CLP BGN BTC "
    "ETH USDT USDC "
)
CURRENCIES: dict[str, frozenset[str]] = {
    **{code.lower(): _only(code) for code in _CODES},
    **{
        sign: _only(*code.split("|"))
        for pair in words(
            "£=GBP €=EUR ₹=INR ¥=JPY|CNY ₩=KRW ₽=RUB ₺=TRY ₪=ILS ₫=VND ₦=NGN ₱=PHP ฿=THB ₴=UAH ₿=BTC us$=USD a$=AUD "
            "au$=AUD c$=CAD ca$=CAD r$=BRL s$=SGD hk$=HKD nz$=NZD zł=PLN"
        )
        for sign, _, code in [pair.partition("=")]
    },
    "$": _DOLLARS,
    "rs": _RUPEES,
    "rs.": _RUPEES,
    "kr": _CROWNS,
}
_WORDS: dict[str, tuple[frozenset[str], Decimal]] = {
    name: (currencies, Decimal(factor))
    for names, currencies, factor in (
        ("pound pounds quid sterling", _only("GBP"), "1"),
        ("euro euros", _only("EUR"), "1"),
        ("dollar dollars buck bucks dólares dolares", _DOLLARS, "1"),
        ("rupee rupees rupaye rupay rupaiya रुपये रुपए", _RUPEES, "1"),
        ("yen", _only("JPY"), "1"),
        ("yuan rmb", _only("CNY"), "1"),
        ("francs franken", _only("CHF"), "1"),
        ("kronor kroner krona krone", _CROWNS, "1"),
        ("rand", _only("ZAR"), "1"),
        ("dirhams", _only("AED"), "1"),
        ("zloty złoty zlotys", _only("PLN"), "1"),
        ("lire lira", _only("TRY"), "1"),
        ("pence", _only("GBP"), "0.01"),
        ("cents cent", _DOLLARS | {"EUR"}, "0.01"),
        ("paise", _RUPEES, "0.01"),
        ("grand", frozenset[str](), "1000"),
    )
    for name in names.split()
} | {
    "us dollars": (_only("USD"), Decimal(1)),
    "canadian dollars": (_only("CAD"), Decimal(1)),
    "australian dollars": (_only("AUD"), Decimal(1)),
    "swiss francs": (_only("CHF"), Decimal(1)),
}
_SLANG = {"a fiver": 5, "fiver": 5, "a tenner": 10, "tenner": 10, "a grand": 1000}
_SCALE = {
    "k": 1000,
    "m": 1_000_000,
    "mn": 1_000_000,
    "bn": 1_000_000_000,
    "million": 1_000_000,
    "lakh": 100_000,
    "cr": 10_000_000,
}
_SCALED = rf"(?P<amount>{NUMERAL})(?P<scale>\s?(?:k|mn?|bn|million|lakh|cr)(?!\w))?"
_PERIOD = (
    "month|mo|mth|monat|mois|mes|year|yr|annum|jahr|an|año|week|wk|woche|semaine|semana|day|hour|hr|stunde|heure|hora|night|"
    "nacht|noche|nuit|person|head|kopf|personne|persona|seat|user|kg|litre|liter|km|mile|unit|item|session|lesson|visit|"
    "minute|min|piece|ticket|child|pupil|box|bag|bottle|gb|sq ft|plate|page|word|class|ride|tonne|dose"
)
_PER = (
    rf"(?:\s?(?:/\s?|per\s|a\s|an\s|each\s|every\s|p/|pro\s|die\s|la\s|par\s|por\s|al\s)(?P<per>"
    rf"{_PERIOD})(?!\w)|\s?(?P<pcm>pcm|pm|p\.m\.|p\.a\.|pa|ph|pppn|pp|pw)(?!\w)"
    r"|,?\s(?P<ly>monthly|yearly|annually|weekly|daily|hourly|nightly)(?!\w))?"
)
_PER_NAMES = {
    name: period
    for period, names in {
        "month": "mo mth monat mois mes pcm pm p.m. monthly",
        "year": "yr annum jahr an año p.a. pa yearly annually",
        "week": "wk woche semaine semana pw weekly",
        "day": "daily",
        "hour": "hr ph hourly stunde heure hora",
        "night": "nightly nacht noche nuit pppn",
        "person": "head pp kopf personne persona",
        "litre": "liter",
        "minute": "min",
    }.items()
    for name in names.split()
}
_SYMBOL = alternatives(CURRENCIES)
_PREFIXED = re.compile(
    rf"(?<![\w$£€₹])(?P<sym>{_SYMBOL})\s?(?P<minus>-)?{_SCALED}(?![\d]|-\d{{2,}}-)(?:\.-|\s"
    rf"(?P<after>usd|cad|aud|eur|gbp|inr|sgd|nzd)(?!\w))?{_PER}"
)
_SUFFIXED = re.compile(
    rf"(?<![\w.,:/#-])(?:(?P<minus>-))?{_SCALED}(?:,-)?\s?(?:(?P<sym>{_SYMBOL})(?![\w$])|(?P<word>"
    rf"{alternatives(_WORDS)})(?!\w)|(?P<p>p)(?![\w.']))(?:\s?(?:and\s)?(?P<minor>\d{{1,2}})(?!\d"
    rf"|[.,:]\d|%|\s?(?:people|of|[ap]m)\b)(?:\s?(?:pence|cents?|paise|p)\b)?)?{_PER}"
)
_SLANGS = re.compile(rf"(?<!\w)(?P<word>{alternatives(_SLANG)})(?!\w){_PER}")
_TRIGGER = re.compile(
    rf"[$£€₹¥₩₽₺₪₫₦₱฿₴₿]|\d\s?(?:p\b|"
    rf"{alternatives(n for n in [*CURRENCIES, *_WORDS] if n[0].isalpha())})|(?<!\w)"
    rf"{alternatives(n for n in CURRENCIES if n[0].isalpha())}\s?\d|fiver|tenner|grand"
)
_OVERWEIGHT = re.compile(r"\b(?:weigh\w{0,3}|lost|gained|lift\w{0,3}|heavy|bench|kilos?)\b")


def read_money(page: Page) -> None:
    """Claim sums of money."""
    if not _TRIGGER.search(page.low):
        return
    for match in scan(_PREFIXED, page.low):
        currencies = CURRENCIES[match["after"] or match["sym"]]
        _claim(page, match, _amounts(match), currencies)
    page.settle()
    for match in scan(_SUFFIXED, page.low):
        before = page.low[max(0, match.start() - 25) : match.start()]
        if match["word"] == "pounds" and _OVERWEIGHT.search(before):
            continue
        currencies, factor = _named(match)
        amounts = frozenset(amount * factor for amount in _amounts(match))
        if match["minor"] and factor == 1:
            amounts = frozenset(amount + Decimal(match["minor"]) / 100 for amount in amounts)
        _claim(page, match, amounts, currencies)
    for match in scan(_SLANGS, page.low):
        _claim(page, match, frozenset({Decimal(_SLANG[match["word"]])}), frozenset())


def _named(match: re.Match[str]) -> tuple[frozenset[str], Decimal]:
    """The currencies after an amount, and how much of one unit each is (0.01 for pence)."""
    if match["word"]:
        return _WORDS[match["word"]]
    return (_only("GBP"), Decimal("0.01")) if match["p"] else (CURRENCIES[match["sym"]], Decimal(1))


def _amounts(match: re.Match[str]) -> frozenset[Decimal]:
    scale = (match["scale"] or "").strip()
    sign = -1 if match["minus"] else 1
    amounts = read_amounts(match["amount"])
    return frozenset(amount * _SCALE.get(scale, 1) * sign for amount in amounts)


def _claim(page: Page, match: re.Match[str], amounts: frozenset[Decimal], currencies: frozenset[str]) -> None:
    if not amounts:
        return
    per = match["per"] or match["pcm"] or match["ly"]
    per = _PER_NAMES.get(per, per) if per else None
    page.claim(*match.span(), Money, amounts=amounts, currencies=currencies, per=per)
