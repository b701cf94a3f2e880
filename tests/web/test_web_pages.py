"""The pages, asked for without a browser: who may see and do what, what they say, and what they never give away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from web_helpers import MAIL, Place, fill, in_file, in_memory

from thymus.access.tokens import Role
from thymus.core.beliefs import Status
from thymus.web import pages, views
from thymus.web.callers import Caller, verifying

HTML = {"accept": "text/html"}
PAGES = ("/", "/memories", "/sources", "/ledger")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return in_memory(tmp_path)


@pytest.fixture
def browser(place: Place) -> Iterator[TestClient]:
    with place.browser() as client:
        client.headers.update(HTML)
        yield client


def post(place: Place, client: TestClient, path: str, **fields: str | int) -> str:
    """Send a form; where the browser is sent back to."""
    answer = client.post(path, data={"csrf": place.csrf(client), **fields})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def text_of(html: str) -> str:
    """What one reads, in one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


class TestWhoMay:
    @pytest.mark.parametrize("path", [*PAGES, "/memories/m_0123456789abcdef", "/sources/block?source=web:x.example"])
    def test_a_stranger_is_sent_to_the_form(self, place: Place, path: str) -> None:
        with place.client(None) as client:
            for headers in (HTML, {}):
                answer = client.get(path, headers=headers)
                assert (answer.status_code, answer.headers["location"]) == (303, "/login")

    @pytest.mark.parametrize(
        "path", ["/memories", "/memories/m_0123456789abcdef", "/sources", "/sources/block?source=a:b"]
    )
    def test_an_auditor_reads_no_text(self, place: Place, path: str) -> None:
        with place.browser(role=Role.AUDITOR) as client:
            assert client.get(path, headers=HTML).status_code == 403

    def test_an_auditor_sees_the_ledger_without_words_or_names(self, place: Place) -> None:
        known, held = fill(place.of("asha"), "zebra")
        place.of("asha").revoke(MAIL)
        with place.browser(role=Role.AUDITOR) as client:
            assert client.get("/").headers["location"] == "/ledger"
            shown = client.get("/ledger", headers=HTML).text
            told = client.get("/ledger?act=3", headers=HTML).text
        for page in (shown, told):
            assert known in page
            assert held in page
            assert "zebra" not in page
            assert "lockers" not in page
            assert f"/memories/{held}" not in page
            assert "/undo" not in page
        assert "Blocked a sender" in shown

    def test_a_reviewer_settles_but_does_not_erase(self, place: Place) -> None:
        known, held = fill(place.of("asha"), "blue")
        with place.browser(role=Role.REVIEWER) as client:
            assert post(place, client, f"/inbox/{held}/reject") == "/?act=3"
            csrf = {"csrf": place.csrf(client)}
            assert client.get(f"/memories/{known}/forget").status_code == 403
            assert client.post(f"/memories/{known}/forget", data=csrf).status_code == 403
            assert "Erase for good" not in client.get(f"/memories/{known}").text
        assert place.of("asha").get(known).status is Status.ACTIVE

    def test_an_auditor_changes_nothing(self, place: Place) -> None:
        known, held = fill(place.of("asha"), "blue")
        with place.browser(role=Role.AUDITOR) as client:
            csrf = {"csrf": place.csrf(client)}
            for path in (
                f"/inbox/{held}/accept",
                f"/inbox/{held}/reject",
                f"/memories/{known}/forget",
                "/sources/block",
                "/acts/1/undo",
            ):
                assert client.post(path, data={**csrf, "source": MAIL, "expected": 1}).status_code == 403
        assert len(place.of("asha").ledger()) == 2

    @pytest.mark.parametrize("csrf", [{}, {"csrf": "x"}])
    def test_no_form_of_another_site_does_anything(
        self, place: Place, browser: TestClient, csrf: dict[str, str]
    ) -> None:
        known, held = fill(place.of("asha"), "blue")
        for path in (
            f"/inbox/{held}/accept",
            f"/inbox/{held}/reject",
            f"/memories/{known}/forget",
            "/sources/block",
            "/acts/1/undo",
            "/ledger/verify",
        ):
            assert browser.post(path, data={**csrf, "source": MAIL, "replaces": known}).status_code == 403
        assert len(place.of("asha").ledger()) == 2

    def test_anothers_memory_is_none(self, place: Place, browser: TestClient) -> None:
        known, held = fill(place.of("ravi"), "secret")
        nobody = "m_0123456789abcdef"
        csrf = {"csrf": place.csrf(browser)}
        for path in ("/memories/{}", "/memories/{}/forget"):
            mine, theirs = browser.get(path.format(nobody)), browser.get(path.format(known))
            assert (mine.status_code, mine.text) == (theirs.status_code, theirs.text)
            assert mine.status_code == 404
        for path in ("/inbox/{}/accept", "/inbox/{}/reject", "/memories/{}/forget"):
            mine, theirs = (browser.post(path.format(id_), data=csrf) for id_ in (nobody, held))
            assert (mine.status_code, mine.text) == (theirs.status_code, theirs.text)
            assert mine.status_code == 404
        for path in PAGES:
            assert "secret" not in browser.get(path).text


class TestInbox:
    def test_it_shows_both_sides_and_what_accepting_replaces(self, place: Place, browser: TestClient) -> None:
        known, _ = fill(place.of("asha"), "blue")
        shown = browser.get("/").text
        assert "<del>My</del> blue standup is at <del>9:15.</del>" in shown
        assert "<ins>Your</ins> blue standup is at <ins>10:30.</ins>" in shown
        assert f'name="replaces" value="{known} "' in shown
        read = text_of(shown)
        assert "email:noreply@lockers.example unverified sender" in read
        assert "Accepting it replaces: “My blue standup is at 9:15”" in read
        assert "Held back because it seems to contradict a memory" in read

    def test_accepting_replaces_and_can_be_undone(self, place: Place, browser: TestClient) -> None:
        known, held = fill(place.of("asha"), "blue")
        back = post(place, browser, f"/inbox/{held}/accept", replaces=known, back="inbox")
        assert back == "/?act=3"
        assert place.of("asha").get(held).status is Status.ACTIVE
        read = text_of(browser.get(back).text)
        assert "Accepted “Your blue standup is at 10:30”; 1 other memory changed." in read
        assert "Nothing waits for you." in read
        assert post(place, browser, "/acts/3/undo", back="inbox") == "/?act=4"
        assert "Undid act 3; 1 other memory changed" not in browser.get("/?act=3").text
        assert place.of("asha").get(held).status is Status.CONTESTED
        assert place.of("asha").get(known).status is Status.ACTIVE

    @pytest.mark.parametrize("seen", ["", "m_0123456789abcdef"])
    def test_accepting_what_replaces_something_else_by_now_is_not_done(
        self, place: Place, browser: TestClient, seen: str
    ) -> None:
        _, held = fill(place.of("asha"), "blue")
        assert post(place, browser, f"/inbox/{held}/accept", replaces=seen) == "/?done=changed"
        assert place.of("asha").get(held).status is Status.CONTESTED
        assert "Something changed meanwhile" in browser.get("/?done=changed").text

    def test_settling_twice_says_what_is_wrong(self, place: Place, browser: TestClient) -> None:
        _, held = fill(place.of("asha"), "blue")
        post(place, browser, f"/inbox/{held}/reject")
        answer = browser.post(f"/inbox/{held}/reject", data={"csrf": place.csrf(browser)})
        assert answer.status_code == 422
        assert f"memory {held} is rejected" in text_of(answer.text)

    def test_it_is_read_in_parts(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        for number in range(pages.CLAIMS + 2):
            guard.remember(f"Pay {number} to DE89 3704 0044 0532 0130 00 for {number}.", source=f"sms:{number}")
        assert len(guard.inbox()) == pages.CLAIMS + 2
        first = browser.get("/").text
        assert first.count('<article class="claim"') == pages.CLAIMS
        older = re.search(r'href="(/\?before=\d+)"', first)
        assert older is not None
        second = browser.get(older[1]).text
        assert second.count('<article class="claim"') == 2
        assert "Older claims" not in second

    @pytest.mark.parametrize("query", ["act=1", "act=99", "act=2", "done=<b>", "done=accepted", "act=0"])
    def test_an_address_somebody_made_up_says_nothing(self, place: Place, browser: TestClient, query: str) -> None:
        fill(place.of("asha"), "blue")
        assert 'role="status"' not in browser.get(f"/?{query}").text

    def test_only_decisions_are_undone_here(self, place: Place, browser: TestClient) -> None:
        fill(place.of("asha"), "blue")
        for seq in (1, 99):
            assert browser.post(f"/acts/{seq}/undo", data={"csrf": place.csrf(browser)}).status_code == 422
        assert len(place.of("asha").ledger()) == 2


class TestMemories:
    def test_filters(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        fill(guard, "blue")
        guard.remember("The red shop closes at 18:00.", source="web:shop.example")

        def found(query: str) -> list[str]:
            return re.findall(r"<bdi>[^<]*(blue standup is at [\d:]+|red shop)", browser.get(f"/memories?{query}").text)

        assert found("") == ["red shop", "blue standup is at 9:15"]
        assert found("status=all") == ["red shop", "blue standup is at 10:30", "blue standup is at 9:15"]
        assert found("status=contested") == ["blue standup is at 10:30"]
        assert found("status=repeated") == found("status=all")
        assert found("status=all&source=LOCKERS") == ["blue standup is at 10:30"]
        assert found("kind=preference") == []
        assert found("q=red+shop&source=lockers") == []
        assert found("q=Standup&status=all&kind=preference") == []

    def test_a_search_puts_what_holds_the_words_first(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        for text in ("My bike is in the shed.", "My boat is in the shed.", "My cat is called Tom."):
            guard.remember(text)
        read = text_of(browser.get("/memories?q=boat+SHED").text)
        with_words, _, near = read.partition("Near in meaning")
        assert "My boat is in the shed." in with_words
        assert "bike" not in with_words
        assert "My bike is in the shed." in near

    def test_it_is_read_in_parts(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        for number in range(pages.ROWS + 1):
            guard.remember(f"My box {number} is full.")
        first = browser.get("/memories?status=all&kind=fact").text
        more = re.search(r'href="(/memories\?[^"]*before=\d+)"', first)
        assert more is not None
        second = browser.get(more[1].replace("&amp;", "&")).text
        assert [text.count("is full.") for text in (first, second)] == [pages.ROWS, 1]
        assert "Older memories" not in second

    def test_a_rare_source_is_found_further_down(
        self, place: Place, browser: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("thymus.web.reading.LOOKED_AT", 20)
        monkeypatch.setattr(pages, "ROWS", 10)
        guard = place.of("asha")
        guard.remember("The red shop closes at 18:00.", source="web:shop.example")
        for number in range(25):
            guard.remember(f"My box {number} is full.")
        first = browser.get("/memories?status=all&source=shop").text
        assert "None yet: there are more to look through." in first
        more = re.search(r'href="(/memories\?[^"]*before=\d+)"', first)
        assert more is not None
        assert "red shop" in browser.get(more[1].replace("&amp;", "&")).text

    def test_one_memory_tells_its_story(self, place: Place, browser: TestClient) -> None:
        known, held = fill(place.of("asha"), "blue")
        post(place, browser, f"/inbox/{held}/accept", replaces=known, back="memory")
        read = text_of(browser.get(f"/memories/{known}").text)
        assert "active → superseded because you decided so on account of “Your blue standup is at 10:30”" in read
        assert "Explained in full" in read

    def test_erasing_asks_first_and_leaves_nothing(self, place: Place, browser: TestClient) -> None:
        known, _ = fill(place.of("asha"), "blue")
        assert "cannot be undone" in browser.get(f"/memories/{known}/forget").text
        back = post(place, browser, f"/memories/{known}/forget")
        assert back == f"/memories/{known}?act=3"
        read = text_of(browser.get(back).text)
        assert "Erased: its text is gone." in read
        assert "9:15" not in read
        assert "Undo" not in read


class TestSources:
    def test_blocking_shows_its_cost_first(self, place: Place, browser: TestClient) -> None:
        _, held = fill(place.of("asha"), "blue")
        shown = browser.get("/sources/block", params={"source": MAIL}).text
        read = text_of(shown)
        assert "Retracted (1) “Your blue standup is at 10:30” contested → retracted" in read
        assert "Others that stand differently then (0)" in read
        expected = re.search(r'name="expected" value="(\d+)"', shown)
        assert expected is not None
        assert len(place.of("asha").ledger()) == 2
        assert post(place, browser, "/sources/block", source=MAIL, expected=expected[1]) == "/sources?act=3"
        assert place.of("asha").get(held).status is Status.RETRACTED
        read = text_of(browser.get("/sources?act=3").text)
        assert "Blocked email:noreply@lockers.example; 1 other memory changed. Undo" in read
        assert post(place, browser, "/acts/3/undo", back="sources") == "/sources?act=4"
        assert place.of("asha").get(held).status is Status.CONTESTED
        assert "Unblock" not in browser.get("/sources").text

    def test_what_costs_more_by_now_is_asked_again(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        fill(guard, "blue")
        fill(guard, "red")
        back = post(place, browser, "/sources/block", source=MAIL, expected=1)
        assert back == "/sources/block?source=email%3Anoreply%40lockers.example&changed=1"
        assert "Retracted (2)" in text_of(browser.get(back).text)
        assert len(guard.ledger()) == 4

    @pytest.mark.parametrize("source", ["user", "", "no channel", "user:asha"])
    def test_nobody_blocks_themselves_or_nobody(self, place: Place, browser: TestClient, source: str) -> None:
        assert browser.get("/sources/block", params={"source": source}).status_code == 422

    def test_a_stranger_costs_nothing(self, place: Place, browser: TestClient) -> None:
        assert "nothing to block" in browser.get("/sources/block", params={"source": "web:x.example"}).text

    def test_counts_names_and_resemblance(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        guard.remember("The parcel SP-1 comes on Monday.", source="email:a@swiftparcel.example", authenticated=True)
        guard.remember("The parcel SP-1 comes on Friday.", source="email:a@swiftparce1.example", authenticated=False)
        read = text_of(browser.get("/sources").text)
        assert "email:a@swiftparcel.example verified sender active 1" in read
        assert "email:a@swiftparce1.example unverified sender resembles email:a@swiftparcel.example contested 1" in read
        assert "swiftparcel.example verified" not in text_of(browser.get("/sources?q=PARCE1").text)


class TestLedger:
    def test_newest_first_with_the_chart(self, place: Place, browser: TestClient) -> None:
        fill(place.of("asha"), "blue")
        shown = browser.get("/ledger").text
        read = text_of(shown)
        assert read.index("“Your blue standup is at 10:30”") < read.index("“My blue standup is at 9:15”")
        assert "Decisions in 30 days: 1 admitted, 1 contested." in read
        assert [kind for kind in ("admitted", "contested") if f'<rect class="bar-{kind}"' in shown] == [
            "admitted",
            "contested",
        ]

    def test_it_is_read_in_parts(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        for number in range(pages.ROWS + 2):
            guard.remember(f"My box {number} is full.")
        assert re.findall(r'<th scope="row">(\d+)</th>', browser.get("/ledger?before=3").text) == ["2", "1"]
        first = browser.get("/ledger").text
        assert "/ledger?before=3" in first
        assert "Older acts" not in browser.get("/ledger?before=3").text

    def test_verifying(self, place: Place, browser: TestClient) -> None:
        fill(place.of("asha"), "blue")
        answer = browser.post("/ledger/verify", data={"csrf": place.csrf(browser)})
        assert "Verified: everything that is kept of you fits" in answer.text

    def test_damage_is_told_to_whose_it_is(self, tmp_path: Path) -> None:
        place = in_file(tmp_path)
        fill(place.of("ravi"), "blue")
        connection = place.guard._parts.store._connected()  # type: ignore[attr-defined]
        connection.execute("UPDATE beliefs SET text = X'00'")
        connection.commit()
        for role in (Role.OWNER, Role.AUDITOR):
            with place.browser(role=role) as client:
                answer = client.post("/ledger/verify", data={"csrf": place.csrf(client)})
                assert "everything that is kept of you fits" in answer.text
            with place.browser("ravi", role) as client:
                answer = client.post("/ledger/verify", data={"csrf": place.csrf(client)})
                assert "It does not fit" in answer.text
                assert "m_" not in answer.text.partition("<h2>Acts")[0]

    def test_one_verification_of_a_memory_at_a_time(self, place: Place, browser: TestClient) -> None:
        asha = Caller(tenant="default", user="asha", role=Role.OWNER, token_id="1", csrf="", guard=place.of("asha"))
        with verifying(asha):
            assert browser.post("/ledger/verify", data={"csrf": place.csrf(browser)}).status_code == 503
        assert browser.post("/ledger/verify", data={"csrf": place.csrf(browser)}).status_code == 200


class TestEmpty:
    @pytest.mark.parametrize(
        ("path", "says"),
        [
            ("/", "Nothing waits for you."),
            ("/?before=1", "There are no older claims."),
            ("/memories", "Tell the first one:"),
            ("/memories?q=anything", "Nothing was found."),
            ("/sources", "Nobody has said anything yet."),
            ("/sources?q=x", "Nobody of that name"),
            ("/ledger", "Nothing was done yet"),
        ],
    )
    def test_it_says_what_to_do(self, browser: TestClient, path: str, says: str) -> None:
        assert says in text_of(browser.get(path).text)


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append(dict(attrs).get("src"))


class TestInert:
    PAYLOAD = "<script>alert(1)</script> <b onclick=x>{{7*7}}</b> \u202e https://evil.example/x is the new address."

    def test_what_a_sender_wrote_is_text(self, place: Place, browser: TestClient) -> None:
        guard = place.of("asha")
        written = guard.remember(self.PAYLOAD, source="web:x.example/<img src=x>", authenticated=False)
        ids = [memory.id for memory in written.memories]
        assert ids
        for path in ("/", "/memories?status=all", "/sources", "/ledger", *(f"/memories/{id_}" for id_ in ids)):
            shown = browser.get(path).text
            tags = Tags()
            tags.feed(shown)
            assert tags.scripts == ["/static/keys.js"]
            assert not tags.names & {"img", "style", "iframe", "object", "embed", "base"}
            assert not {name for name in tags.attributes if name.startswith("on") or name == "style"}
            assert "evil.example" not in shown
            assert "\u202e" not in shown
            assert "49" not in shown

    @pytest.mark.parametrize("path", PAGES)
    def test_nothing_needs_what_the_policy_forbids(self, place: Place, browser: TestClient, path: str) -> None:
        fill(place.of("asha"), "blue")
        shown = browser.get(path).text
        assert not re.search(r'<style|\sstyle="|\son[a-z]+="|javascript:|<script>', shown)
        assert set(re.findall(r'(?:src|href|action)="([a-z]+:|//)', shown)) == set()


class TestProblems:
    def test_a_page_for_people_and_details_for_programs(self, browser: TestClient) -> None:
        page = browser.get("/memories/m_0123456789abcdef")
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "No memory of this user has that id." in page.text
        details = browser.get("/memories/m_0123456789abcdef", headers={"accept": "application/json"})
        assert details.headers["content-type"] == "application/problem+json"

    def test_no_address_is_repeated(self, browser: TestClient) -> None:
        assert "evil" not in browser.get("/memories/evil").text

    def test_a_token_that_opens_nothing(self, place: Place) -> None:
        with place.client(None) as client:
            answer = client.post("/login", data={"token": "thy_evil"}, headers=HTML)
            assert answer.status_code == 401
            assert "opens nothing" in answer.text
            assert "thy_evil" not in answer.text


def test_the_sum_over_the_ledger_keeps_up(place: Place, browser: TestClient) -> None:
    guard = place.of("asha")
    fill(guard, "blue")
    assert '<span class="count">1<' in browser.get("/").text
    fill(guard, "red")
    assert '<span class="count">2<' in browser.get("/").text
    assert views.DAYS == 30  # as the heading of the chart says
