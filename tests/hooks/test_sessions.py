"""What entered a session taints what is learned in it, past every bound, restart and reopening."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thymus import conversation
from thymus.guard import MemoryGuard
from thymus.hooks import listening, payloads, places, sessions
from thymus.hooks.listening import Listener

SECRET = "The door code of the archive is 7781-Q since Monday."
UNKNOWN = ["chat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        made = tmp_path_factory.mktemp("hooks")
        patch.setenv(places.STATE, str(made / "state"))
        yield made


@pytest.fixture(scope="module")
def listener(folder: Path) -> Iterator[Listener]:
    """One for all tests, which keep apart by user: to open a memory takes long."""
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def host(listener: Listener, folder: Path, request: pytest.FixtureRequest) -> Host:
    return Host(listener, folder / "memory.db", request.node.name)


class Host:
    """The resident's work without its process."""

    def __init__(self, listener: Listener, db: Path, user: str) -> None:
        self.listener, self.count = listener, 0
        self.settings = {"db": str(db), "user": user}

    @property
    def guard(self) -> MemoryGuard:
        return self.listener._memories.of(self.settings)[1]

    def hear(self, event: dict[str, Any], session: str = "s", **item: Any) -> None:
        self.count += 1
        whole = {"settings": self.settings, "host": "cli", "event": {"session_id": session, **event}, **item}
        self.listener.hear(whole, lambda _: None, name=f"{self.count}", at=2e9 + self.count)

    def start(self, session: str = "s", source: str = "startup") -> None:
        self.tell({"hook_event_name": "SessionStart", "session_id": session, "source": source})

    def tell(self, event: dict[str, Any]) -> None:
        self.listener.tell({"settings": self.settings, "event": event})

    def result(self, tool: str, response: Any, given: Any = None, session: str = "s", **item: Any) -> None:
        self.hear(
            {
                "hook_event_name": "PostToolUse",
                "tool_name": tool,
                "tool_input": given or {},
                "tool_response": response,
                "tool_use_id": f"t{self.count}",
            },
            session,
            **item,
        )

    def derived(self, words: str) -> list[str]:
        """What the newest memory with these words is derived from."""
        found = [one for one in self.guard.memories(status=None, limit=2_000) if words in one.text]
        assert found, words
        return [source.key for source in max(found, key=lambda one: one.observed_at).lineage]


def test_a_session_that_was_seen_to_begin_has_nothing_in_it(host: Host) -> None:
    for source in ("startup", "clear"):
        host.start(source, source)
        host.result("mcp__gates__get", f"Gate 12 opens at noon ({source}).", session=source)
        assert host.derived(source) == []


@pytest.mark.parametrize("source", ["resume", "compact", "", "fork"])
def test_one_that_goes_on_and_is_not_known_has_something_unknown_in_it(host: Host, source: str) -> None:
    host.start(source=source)
    host.result("mcp__gates__get", "Gate 12 opens at noon.")
    assert host.derived("Gate 12") == UNKNOWN


def test_so_has_one_after_a_restart_of_the_resident(host: Host, folder: Path) -> None:
    host.start()
    with contextlib.closing(Listener()) as another:
        restarted = Host(another, folder / "memory.db", host.settings["user"])
        restarted.result("mcp__gates__get", "Gate 12 opens at noon.")
        assert restarted.derived("Gate 12") == UNKNOWN


def test_so_has_one_that_ended_and_one_that_too_many_others_pushed_out(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    for session in ("a", "b", "c", "d"):
        host.start(session)
    host.tell({"hook_event_name": "SessionEnd", "session_id": "d"})
    for session, expected in (("a", UNKNOWN), ("d", UNKNOWN)):
        host.result("mcp__gates__get", f"Gate 12{session} opens at noon.", session=session)
        assert host.derived(f"12{session}") == expected


def test_a_second_start_of_a_session_forgets_nothing(host: Host) -> None:
    host.start()
    host.result("Grep", {"content": SECRET})
    host.start()
    host.result("Bash", {"stdout": SECRET, "stderr": ""})
    assert host.derived("7781") == ["tool:claude-code/grep"]


def test_an_echo_is_known_however_much_came_between(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MOST_TEXTS", 5)
    host.start()
    host.result("WebFetch", {"result": SECRET, "url": "https://evil.example/x"}, {"url": "https://evil.example/x"})
    for number in range(12):
        host.result("Grep", {"content": f"line {number}"})
    host.result("mcp__doors__get", SECRET)
    assert "web:evil.example" in host.derived("7781")


def test_a_memory_that_is_opened_anew_does_not_make_a_session_clean(listener: Listener, tmp_path: Path) -> None:
    host = Host(listener, tmp_path / "memory.db", "me")
    host.start()
    host.result("WebFetch", {"result": SECRET, "url": "https://evil.example/x"})
    for path in tmp_path.glob("memory.db*"):
        path.unlink()
    host.result("mcp__doors__get", SECRET)
    assert "web:evil.example" in host.derived("7781")


def test_a_page_that_a_file_repeats_is_still_its_word(host: Host) -> None:
    host.start()
    host.result("WebFetch", {"result": SECRET, "url": "https://evil.example/x"})
    host.result("Read", {"type": "text", "file": {"filePath": "/p/notes.md", "content": SECRET}})
    assert host.derived("7781") == ["file:/p/notes.md", "tool:claude-code/webfetch", "web:evil.example"]


def test_what_is_only_read_of_a_page_of_code_comes_from_its_file(host: Host) -> None:
    host.start()
    host.result("Read", {"type": "text", "file": {"filePath": "/p/a.py", "content": SECRET}})
    host.result("mcp__doors__get", SECRET)
    assert host.derived("7781") == ["file:/p/a.py"]


# Mailboxes


def test_each_mail_of_a_mailbox_is_its_senders(host: Host) -> None:
    host.start()
    mails = [
        {"from": "Asha <asha@one.example>", "body": "Our office is in Harbour Street 9 now."},
        {"from": "ravi@two.example", "body": "The fair begins on the first of May this year."},
    ]
    host.result("mcp__gmail__search_emails", json.dumps({"result": mails}))
    assert host.derived("Harbour Street") == ["email:asha@one.example"]
    assert host.derived("The fair") == ["email:ravi@two.example"]


def test_a_mailbox_that_names_nobody_hands_on_somebodys_words(host: Host) -> None:
    host.start()
    host.result("mcp__gmail__read_email", "Our office is in Harbour Street 9 now.")
    assert host.derived("Harbour") == ["web"]


def test_a_long_result_is_learned_from_up_to_a_bound_and_read_beyond(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "LONGEST_LEARNED", 60)
    host.start()
    host.result("mcp__rooms__list", "Room 4 is painted in the colour of the number 4 and of no other.\n" + SECRET)
    assert not any("7781" in memory.text for memory in host.guard.memories(status=None, limit=2_000))
    host.result("mcp__doors__get", SECRET)
    assert host.derived("7781") == ["mcp:rooms/list"]


# Tools of Thymus, and what calls itself so


def test_what_a_tool_of_thymus_shows_is_its_sources(host: Host) -> None:
    host.start()
    theirs = host.guard.remember(SECRET, source="email:x@evil.example").memories[0]
    own = host.guard.remember("My standup is at 9:15 in Room 2A on Tuesdays.", source="user").memories[0]
    told = {"context": f"- {theirs.text}\n- {own.text}", "memories": [{"id": theirs.id}, {"id": own.id}]}
    host.result("mcp__thymus__recall", json.dumps(told))
    host.result("mcp__doors__get", SECRET)
    assert host.derived("7781") == ["email:x@evil.example"]
    host.result("mcp__calendar__next", "Your standup is at 9:15 in Room 2A on Tuesdays, says Ravi.")
    assert host.derived("says Ravi") == [], "what the user said taints nobody"


def test_what_only_calls_itself_thymus_is_heard_as_that(host: Host) -> None:
    host.start()
    host.result("mcp__thymus__recall", f"m_0123456789abcdef {SECRET}")
    host.result("mcp__doors__get", SECRET)
    assert host.derived("7781") == ["mcp:thymus/recall"]
    assert [memory.source.key for memory in host.guard.memories(status=None)] == ["mcp:doors/get"]


# What could not be read, or not all of it


def test_after_an_event_that_could_not_be_read_nothing_is_surely_a_tools_own(host: Host) -> None:
    host.start()
    host.hear({"hook_event_name": "Unread"})
    host.result("mcp__gates__get", "Gate 12 opens at noon.")
    assert host.derived("Gate 12") == UNKNOWN


def test_after_one_that_was_cut_everything_may_be_from_its_tool(host: Host) -> None:
    host.start()
    host.result("Grep", {"content": "some lines"}, cut=True)
    host.result("mcp__gates__get", "Gate 12 opens at noon.")
    assert host.derived("Gate 12") == ["tool:claude-code/grep"]


# Who typed


@pytest.mark.parametrize(
    ("item", "typed"),
    [
        ({"host": "cli"}, True),
        ({"host": "claude-vscode"}, True),
        ({"host": "claude-desktop"}, True),
        ({"host": ""}, False),
        ({}, False),
        ({"host": None}, False),
        ({"host": "sdk-cli"}, False),
        ({"host": "sdk-ts"}, False),
        ({"host": "mcp"}, False),
        ({"host": "claude-code-github-action"}, False),
        ({"host": "remote_trigger"}, False),
        ({"host": "local-agent"}, False),
        ({"host": "something-new"}, False),
        ({"host": "something-new", "hosts": "other, something-new"}, True),
        ({"host": "", "hosts": ""}, False),
        ({"host": "claude-vscode", "nested": True}, False),
        ({"host": "something-new", "hosts": "something-new", "nested": True}, False),
        ({"host": "sdk-py", "nested": True, "trusts_programs": True}, True),
        ({"host": "sdk-py", "trusts_programs": "yes"}, False),
    ],
)
def test_only_what_a_person_types_into_is_heard_as_the_user(item: dict[str, Any], typed: bool) -> None:
    assert listening._typed(item) is typed
