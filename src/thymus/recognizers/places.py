"""Designated places: "Room 2A", "gate B12", "3rd floor", "14 Larkspur Mews"."""

from __future__ import annotations

import re

from thymus.core.values import Place
from thymus.recognizers.page import Page, alternatives, scan, words

LABELS: dict[str, str] = {
    **{
        name: name
        for name in words(
            "room seat gate platform floor desk terminal bay locker table suite flat apartment building block "
            "hall ward row coach berth pier dock stand exit door zone lane court shelf aisle counter pitch plot "
            "bin booth cabin hangar stage studio theatre unit box house wing classroom lab track bed chair "
            "entrance garage spot stall stop tower clinic lot carriage cubicle"
        )
    },
    **{
        name: label
        for label, names in {
            "room": "rm|zimmer|sala|salle|habitación|chambre|conference room|meeting room",
            "platform": "gleis|andén|quai|voie|plf|pf",
            "floor": "level|lvl|storey|fl",
            "gate": "puerta|porte|tor",
            "seat": "asiento|sitz",
            "apartment": "apt",
            "building": "bldg",
            "coach": "wagen|car|voiture|coche",
            "bay": "parking space|parking bay",
            "terminal": "t",
            "pier": "quay",
        }.items()
        for name in names.split("|")
    },
}
_NAME = r"(?:(?:[a-z]{1,2}-?|(?!a )[a-z] )?\d{1,5}(?:[.-]\d{1,3}(?!\d))?[a-z]?|[a-z](?![\w'.])|[ivx]{1,4})"
_LABELLED = re.compile(
    rf"(?<![\w-])(?P<label>{alternatives(LABELS)})(?:\.?\s?(?:no\.?\s?|number\s|#)|:\s|\.?\s|(?=\d))"
    rf"(?P<name>{_NAME})(?![\w:%£$€/]|[.,-]\d|-[a-z]|(?<=\d)\s(?:of|people|guests)\b)"
)
_ORDINAL_FIRST = re.compile(
    r"(?<!\w)(?P<rank>\d{1,3})(?:st|nd|rd|th)\s(?P<label>floor|row|platform|gate|terminal|level|storey)(?!\w)"
)
_GROUND = re.compile(r"(?<!\w)(?P<name>ground|basement|top|lower ground|mezzanine)\s(?:floor|level)(?!\w)")
STREETS: dict[str, str] = {
    **{
        name: name
        for name in words(
            "street road lane avenue mews close drive court square terrace place crescent gardens way row hill "
            "grove parade walk quay boulevard yard wharf rise green park view"
        )
    },
    "st": "street",
    "rd": "road",
    "ave": "avenue",
    "ln": "lane",
    "dr": "drive",
    "sq": "square",
    "blvd": "boulevard",
    "cres": "crescent",
    "gdns": "gardens",
    "pl": "place",
    "ct": "court",
}
_ADDRESS = re.compile(
    rf"(?<![\w:/.,#-])(?P<number>\d{{1,5}}[A-Za-z]?),? (?P<street>(?:[A-Z][\w'.]{{1,20}} ){{1,3}})"
    rf"(?P<kind>{alternatives(n.title() for n in STREETS)})(?!\w)"
)
_SHY = frozenset(
    {
        "t",
        "fl",
        "pf",
        "car",
        "box",
        "house",
        "unit",
        "stage",
        "level",
        "lot",
        "spot",
        "table",
        "stop",
        "stand",
        "bed",
        "chair",
    }
)


def read_places(page: Page) -> None:
    """Claim labelled places and street addresses."""
    for match in scan(_ADDRESS, page.text):
        name = f"{match['number']} {match['street']}{STREETS[match['kind'].lower()]}".upper().replace(".", "")
        _claim(page, match, "street address", name)
    page.settle()
    for match in scan(_ORDINAL_FIRST, page.low):
        _claim(page, match, LABELS[match["label"]], match["rank"])
    for match in scan(_GROUND, page.low):
        _claim(page, match, "floor", "0" if match["name"] == "ground" else match["name"].upper())
    page.settle()
    for match in scan(_LABELLED, page.low):
        name, label = match["name"], match["label"]
        if not any(char.isdigit() for char in name):
            # A lone letter names a place only in capitals: "Gate B", but "table a motion", "row I can see".
            raw = page.text[match.start("name") : match.end("name")]
            if raw.islower() or (name in {"a", "i"} and label in _SHY) or label in {"t", "fl", "pf"}:
                continue
        elif label == "t" and not name.isdigit():
            continue
        name = re.sub(r"[ .-]", "", name).upper()
        _claim(page, match, LABELS[label], name.lstrip("0") or "0")


def _claim(page: Page, match: re.Match[str], label: str, name: str) -> None:
    page.claim(match.start(), match.end(), Place, label=label, name=name)
