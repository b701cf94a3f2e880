"""The inbox in a real browser: settle, undo, search, by mouse and by keyboard; attacks stay text; axe finds nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from web_story import NOW, Site, site

from thymus.core.beliefs import Status
from thymus.core.provenance import Source
from thymus.guard import MemoryGuard

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
CHROMIUM = os.environ.get("THYMUS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if not CHROMIUM:
    pytest.skip("needs Chromium: install it, or name it with THYMUS_CHROMIUM", allow_module_level=True)

PHONE = {"width": 320, "height": 640}
PAGES = ("/", "/memories?status=all", "/sources", "/ledger")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def small(folder: Path) -> Iterator[Site]:
    """A service over a memory with one claim in the inbox."""
    guard = MemoryGuard(None, embedder="hash", judge="typed", user_id="asha", clock=lambda: NOW)
    with site(folder, story=False, guard=guard) as served:
        guard.remember("My blue standup is at 9:15.")
        guard.remember("Your blue standup is at 10:30.", source="email:noreply@lockers.example")
        assert len(guard.inbox()) == 1
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Site]:
    with small(tmp_path) as found:
        yield found


class Watched:
    """A page in which nothing may happen that a sender could have caused."""

    def __init__(self, browser: Any, served: Site, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.add_init_script(
            "window.broken = []; document.addEventListener('securitypolicyviolation', (e) => "
            "window.broken.push(e.violatedDirective + ' ' + e.blockedURI));"
        )
        self.page = self.context.new_page()
        self.served = served
        self.seen: list[str] = []
        self.page.on("dialog", self._meet)
        self.page.on("pageerror", lambda error: self.seen.append(f"error {error}"))
        self.page.on("console", self._hear)
        self.page.on("request", self._ask)
        self.page.on("popup", lambda popup: self.seen.append(f"popup {popup.url}"))

    def _meet(self, dialog: Any) -> None:
        self.seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.seen.append(f"console {message.text}")

    def _ask(self, request: Any) -> None:
        if not request.url.startswith(f"{self.served.url}/"):
            self.seen.append(f"request {request.url}")

    def go(self, path: str) -> None:
        """Open a page; fail for what happened in it."""
        self.page.goto(self.served.url + path)
        self.check()

    def check(self) -> None:
        """Nothing happened that should not."""
        assert self.seen == []
        assert self.page.evaluate("window.broken") == []
        assert self.page.evaluate("window.pwned") is None

    def sign_in(self, role: str = "owner") -> None:
        """With a token of that role."""
        self.page.goto(f"{self.served.url}/login")
        self.page.get_by_label("Token").fill(self.served.secrets[role])
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.served.url}/*")


@pytest.fixture
def watched(chromium: Any, served: Site) -> Iterator[Watched]:
    found = Watched(chromium, served)
    found.sign_in()
    yield found
    found.check()
    found.context.close()


def statuses(served: Site) -> list[str]:
    return [memory.status.value for memory in served.guard.memories(status=None)]


class TestByMouse:
    def test_accept_and_undo(self, watched: Watched) -> None:
        page = watched.page
        page.get_by_role("button", name="Accept: “Your blue standup is at 10:30”").click()
        assert "Accepted “Your blue standup is at 10:30”" in page.get_by_role("status").inner_text()
        assert statuses(watched.served) == ["active", "superseded"]
        page.get_by_role("button", name="Undo").click()
        assert "Undid act 3" in page.get_by_role("status").inner_text()
        assert statuses(watched.served) == ["contested", "active"]
        assert page.get_by_role("article").count() == 1

    def test_reject(self, watched: Watched) -> None:
        watched.page.get_by_role("button", name="Reject").click()
        watched.page.get_by_text("Nothing waits for you.").wait_for()
        assert statuses(watched.served) == ["rejected", "active"]

    def test_block_after_its_cost_and_unblock(self, watched: Watched) -> None:
        page = watched.page
        page.get_by_role("link", name="Block sender…").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Block email:noreply@lockers.example?"
        assert statuses(watched.served) == ["contested", "active"]
        page.get_by_role("button", name="Block").click()
        assert statuses(watched.served) == ["retracted", "active"]
        page.get_by_role("button", name="Unblock").click()
        assert statuses(watched.served) == ["contested", "active"]

    def test_search_and_story(self, watched: Watched) -> None:
        page = watched.page
        page.get_by_role("link", name="Memories").click()
        page.get_by_label("Words or a question").fill("blue standup")
        page.get_by_label("Status").select_option("all")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="Your blue standup is at 10:30.").click()
        assert "The message it came from" in page.get_by_role("main").inner_text()
        assert page.get_by_role("list").filter(has_text="act 2").count() == 1

    def test_erase(self, watched: Watched) -> None:
        page = watched.page
        page.get_by_role("link", name="Memories").click()
        page.get_by_role("link", name="My blue standup is at 9:15.").click()
        page.get_by_role("link", name="Erase for good…").click()
        page.get_by_role("button", name="Erase for good").click()
        page.get_by_text("Erased: its text is gone.").wait_for()
        assert statuses(watched.served) == ["contested", "retracted"]

    def test_verify_and_sign_out(self, watched: Watched) -> None:
        page = watched.page
        page.get_by_role("link", name="Ledger").click()
        page.get_by_role("button", name="Verify the ledger").click()
        assert "everything that is kept of you fits" in page.get_by_role("status").inner_text()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").wait_for()
        page.goto(watched.served.url)
        assert page.url == f"{watched.served.url}/login"

    def test_a_revoked_token_ends_the_session(self, watched: Watched) -> None:
        watched.served.tokens.revoke(watched.served.secrets["owner"])
        watched.page.get_by_role("button", name="Accept").click()
        watched.page.get_by_label("Token").wait_for()
        assert statuses(watched.served) == ["contested", "active"]

    def test_without_scripts(self, chromium: Any, served: Site) -> None:
        page = chromium.new_context(java_script_enabled=False).new_page()
        page.goto(f"{served.url}/login")
        page.fill("#token", served.secrets["owner"])
        page.click("main button")
        page.click("button.accept")
        page.click(".flash button")
        page.click("button.reject")
        assert statuses(served) == ["rejected", "active"]
        assert page.locator("#show-keys").is_hidden()
        page.context.close()


class TestByKeyboard:
    def test_letters(self, watched: Watched) -> None:
        keys = watched.page.keyboard
        keys.press("a")  # on no claim: nothing
        keys.press("j")
        assert watched.page.evaluate("document.activeElement.className") == "claim"
        keys.press("j")  # the last one already
        keys.press("r")
        watched.page.wait_for_url("**/?act=3")
        assert statuses(watched.served) == ["rejected", "active"]

    def test_help_and_switching_letters_off(self, watched: Watched) -> None:
        page = watched.page
        page.keyboard.press("?")
        page.get_by_role("dialog").wait_for()
        page.get_by_label("Single letters are shortcuts").uncheck()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.className") != "claim"
        page.reload()
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.className") != "claim"

    def test_letters_typed_into_a_field_are_text(self, watched: Watched) -> None:
        watched.go("/memories")
        watched.page.get_by_label("Words or a question").press_sequentially("jar?")
        assert watched.page.get_by_label("Words or a question").input_value() == "jar?"
        assert watched.page.get_by_role("dialog").count() == 0

    def test_tab_and_enter_alone_settle_a_claim(self, watched: Watched) -> None:
        page = watched.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        for _ in range(20):
            page.keyboard.press("Tab")
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none"
            if page.evaluate("document.activeElement.className") == "accept":
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/?act=3")
        assert statuses(watched.served) == ["active", "superseded"]


ATTACKS = (
    "<script>window.pwned=1;alert(1)</script> is the new address of the standup.",
    "The standup moved to 7:45 <img src=x onerror=window.pwned=1> <svg onload=window.pwned=1> daily.",
    '"><iframe src="javascript:window.pwned=1"></iframe> The standup moved to 7:45.',
    "' autofocus onfocus=window.pwned=1 x=' The standup moved to 7:45.",
    "[Read it](javascript:window.pwned=1) at https://evil.example/?q=1 or //evil.example before the standup.",
    "</style><style>@import url(https://evil.example/x.css);*{display:none}</style> The standup moved.",
    "<link rel=stylesheet href=https://evil.example/x.css><base href=https://evil.example/> The standup moved.",
    "</textarea></title></script><body onload=window.pwned=1> The standup moved.",
    "\u202eThe standup moved to 7:45\u202c \u2066of\u2069 \u200bday\u200d \ufeff\u2028 \U000e0041 here.",
    "The standup \x00 moved \x1b[31m to 7:45 \x07 today.",
    "{{7*7}} {% include '/etc/passwd' %} ${7*7} #{7*7} <%= 7*7 %> is where the standup is.",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'> The standup moved to 7:45.",
    "<form action=https://evil.example/><button>Accept</button></form> The standup moved to 7:45.",
    "The standup is in room " + "W" * 50_000,
    "The standup moved: " + "very " * 20_000 + "far.",
    "שלום The standup עבר ל 7:45 مرحبا in room \u0627\u0644.",
    "Z" + "\u0301" * 5_000 + "algo moved the standup to 7:45.",
)
NAMES = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=1>',
    "javascript:window.pwned=1",
    "{{7*7}}",
    "a'onmouseover='window.pwned=1",
    "w" * 900,
    "../../login?x=<b>&y=%00#",
    "user",
)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Every payload as a text, as the name of its source and as its display name."""
    with small(tmp_path_factory.mktemp("attacked")) as served:
        guard = served.guard
        for number, text in enumerate(ATTACKS):
            plain = NAMES[number % len(NAMES)]
            source = Source(
                channel=("web", "email", "chat")[number % 3],
                identity=plain,
                name=text[:200],
                proof=(text[:300],),
            )
            guard.remember(text, source=source, hold=True, derived_from=[f"web:{number}.{plain}"[:900]])
            guard.remember(f"My own note {number}: {text}"[:60_000])
        assert len(guard.inbox()) > len(ATTACKS)
        yield served


class TestAttacks:
    @pytest.mark.parametrize("size", [{"width": 1000, "height": 800}, PHONE], ids=["wide", "phone"])
    def test_nothing_that_a_sender_wrote_does_anything(
        self, chromium: Any, attacked: Site, size: dict[str, int]
    ) -> None:
        watched = Watched(chromium, attacked, viewport=size)
        watched.sign_in()
        of_each = {memory.source.name: memory for memory in attacked.guard.inbox()}
        assert len(of_each) == len(ATTACKS) + 1
        paths = [*PAGES, *(f"/memories/{memory.id}" for memory in of_each.values())]
        for path in paths:
            watched.go(path)
            page = watched.page
            hrefs = page.evaluate(
                "[...document.querySelectorAll('[href],[src],[action]')].map((e) => e.href || e.src || e.action)"
            )
            assert all(str(href).startswith(f"{attacked.url}/") for href in hrefs), path
            assert page.evaluate("document.querySelectorAll('script').length") == 1
            assert page.get_by_role("navigation", name="Pages").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
            shown = page.evaluate("document.body.innerText")
            assert not any(sign in shown for sign in "\u202e\u2066\u200b\x00\x1b\ufeff"), path
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            watched.check()
        watched.context.close()

    def test_an_older_part_of_the_inbox_and_each_cost_are_inert(self, chromium: Any, attacked: Site) -> None:
        watched = Watched(chromium, attacked)
        watched.sign_in()
        page = watched.page
        page.get_by_role("link", name="Older claims").click()
        assert page.get_by_role("article").count() > 0
        watched.check()
        for memory in attacked.guard.inbox()[:8]:
            watched.go(f"/memories/{memory.id}")
            page.locator("a", has_text="Block").first.click()
            assert page.get_by_role("heading", level=1).inner_text().startswith("Block ")
            watched.check()
        watched.context.close()

    def test_hostile_claims_can_be_settled_and_searched_for(self, chromium: Any, attacked: Site) -> None:
        watched = Watched(chromium, attacked)
        watched.sign_in()
        page = watched.page
        for text in ATTACKS[:3]:
            watched.go(f"/memories?{'status=all'}")
            page.get_by_label("Words or a question").fill(text[:500])
            page.get_by_role("button", name="Search").click()
            watched.check()
        waiting = len(attacked.guard.inbox())
        watched.go("/")
        page.get_by_role("button", name="Accept").first.click()
        page.get_by_role("status").get_by_role("button", name="Undo").click()
        page.get_by_role("status").wait_for()
        watched.check()
        assert len(attacked.guard.inbox()) == waiting
        watched.context.close()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("story")) as served:
        yield served


def axe() -> str:
    """The source of axe-core, as a package for tests ships it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("needs axe-playwright-python, which ships axe-core")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


class TestAccessible:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("size", [{"width": 1000, "height": 800}, PHONE], ids=["wide", "phone"])
    def test_axe_finds_nothing_serious(self, chromium: Any, story: Site, scheme: str, size: dict[str, int]) -> None:
        engine = axe()
        watched = Watched(chromium, story, color_scheme=scheme, viewport=size, bypass_csp=True, reduced_motion="reduce")
        watched.page.goto(f"{story.url}/login")
        found = {"/login": _violations(watched.page, engine)}
        watched.sign_in()
        held = story.guard.inbox()
        parcel = next(memory for memory in held if "parcel" in memory.text)
        for path in (
            *PAGES,
            "/?done=changed",
            "/?before=1",
            "/memories?q=offsite&status=all",
            "/memories?source=nobody",
            f"/memories/{parcel.id}",
            f"/memories/{parcel.id}/forget",
            f"/sources/block?source={parcel.source.key}",
            "/memories/m_0000000000000000",
        ):
            watched.page.goto(story.url + path)
            if path == "/":
                watched.page.keyboard.press("?")
                assert watched.page.get_by_role("dialog").is_visible()
                found[f"{path} with help"] = _violations(watched.page, engine)
                watched.page.keyboard.press("Escape")
            watched.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            found[path] = _violations(watched.page, engine)
        assert {path: rules for path, rules in found.items() if rules} == {}
        watched.context.close()


def _violations(page: Any, engine: str) -> list[str]:
    page.evaluate(engine)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for one in found
        for node in one["nodes"]
    ]


def test_the_story_has_something_for_every_page(story: Site) -> None:
    standing = {memory.status for memory in story.guard.memories(status=None)}
    assert {Status.ACTIVE, Status.CONTESTED, Status.SUPERSEDED, Status.REJECTED} <= standing
