"""Photograph each page of the inbox, light, dark and on a phone: ``python scripts/screenshots.py [FOLDER]``.

Needs Playwright, and Chromium (``THYMUS_CHROMIUM`` names it where it is not on the path).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "web"))

from web_story import Site, site  # noqa: E402  (it stands with the tests)

SIZES: dict[str, Any] = {
    "light": {"viewport": {"width": 1000, "height": 760}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1000, "height": 760}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}


def main(folder: Path) -> None:
    """Write one picture a page and size."""
    folder.mkdir(parents=True, exist_ok=True)
    browser_path = os.environ.get("THYMUS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as place, site(Path(place)) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for size, options in SIZES.items():
            page = browser.new_context(reduced_motion="reduce", **options).new_page()
            for name, path in _paths(served).items():
                if name == "inbox":
                    _sign_in(page, served)
                page.goto(served.url + path)
                kept = folder / f"{name}-{size}.png"
                page.screenshot(path=kept)
                print(f"{kept.name}: {kept.stat().st_size // 1024} kB")
        browser.close()


def _paths(served: Site) -> dict[str, str]:
    held = served.guard.inbox()
    parcel = next(one for one in held if "parcel" in one.text)
    return {
        "login": "/login",
        "inbox": "/",
        "memories": "/memories?status=all",
        "search": "/memories?status=all&q=when+is+the+offsite",
        "memory": f"/memories/{parcel.id}",
        "sources": "/sources",
        "block": f"/sources/block?source={parcel.source.key}",
        "ledger": "/ledger",
    }


def _sign_in(page: Page, served: Site) -> None:
    page.goto(f"{served.url}/login")
    page.get_by_label("Token").fill(served.secrets["owner"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{served.url}/")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots")
