"""Files become messages, one at a time and in a fixed order; what cannot be read is reported and the rest is read."""

from __future__ import annotations

import gzip
import mailbox
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.core.provenance import Source
from thymus.errors import IngestError
from thymus.readers import Message, Problem, count_messages, read_messages
from thymus.readers.mail import read_mail
from thymus.readers.messages import claimed_source, parse_date

SHARED = Path(__file__).parents[1] / "../shared/data/public"
MAIL = b"""From: Ines Prado <Ines@Lark.example>\r
To: me@a.example\r
Subject: =?utf-8?q?Standup_moved_to_7=3A45_=E2=80=93_really?=\r
Date: Mon, 2 Sep 2024 09:00:00 +0200\r
Message-ID: <1@lark.example>\r
\r
See you in Room 2A.\r
"""


def read(path: Path, **options: object) -> tuple[list[Message], list[Problem]]:
    problems: list[Problem] = []
    return list(read_messages(path, on_problem=problems.append, **options)), problems  # type: ignore[arg-type]


def mail(headers: str, body: str = "It moved.") -> Message:
    return read_mail(f"{headers}\n\n{body}".encode(), "x.eml")


def test_one_mail(tmp_path: Path) -> None:
    (tmp_path / "x.eml").write_bytes(MAIL)
    assert [
        Message(
            text="Subject: Standup moved to 7:45 – really\n\nSee you in Room 2A.\n",
            source="email:ines@lark.example",
            authenticated=None,
            observed_at=datetime(2024, 9, 2, 9, tzinfo=timezone(timedelta(hours=2))),
            message_id="<1@lark.example>",
            location="x.eml",
        )
    ] == list(read_messages(tmp_path / "x.eml"))


@pytest.mark.parametrize(
    ("expected", "headers"),
    [
        ("email:a@b.example", "From: a@b.example"),
        ("email:a@b.example", "From: <A@B.example>"),
        ("email:a@b.example", 'From: "Real, Name" <a@b.example> (work)'),
        ("email:evil@c.example", 'From: "boss@b.example" <evil@c.example>'),
        ("email:a@b.example", "From: a@b.example <a@b.example>"),
        ("email", "From: boss@b.example <evil@c.example>"),
        ("email", "From: a@b.example, c@d.example"),
        ("email", "From: <a@b.example> <c@d.example>"),
        ("email", "From: a@b.example\nFrom: c@d.example"),
        ("email", "From: nobody"),
        ("email", "From: a@b"),
        ("email", "From: a@b@c.example"),
        ("email", "From: a b@c.example"),
        ("email", "From: user"),
        ("email", "Subject: none"),
    ],
)
def test_only_one_well_formed_from_address_names_a_sender(expected: str, headers: str) -> None:
    assert expected == mail(headers).source


@pytest.mark.parametrize(
    ("expected", "subject"),
    [
        ("Subject: New slot\n\nIt moved.", "New slot"),
        ("Subject: New slot\n\nIt moved.", "Fwd: FW: New slot"),
        ("It moved.", "Re: New slot"),
        ("It moved.", "[list] AW: New slot"),
        ("It moved.", ""),
        ("Subject: héllo\n\nIt moved.", "=?iso-8859-1?q?h=E9llo?="),
        ("Subject: a b\n\nIt moved.", "a\u202e b\u200b"),
        ("Subject: =?x?z?broken\n\nIt moved.", "=?x?z?broken"),
    ],
)
def test_subject_is_a_line_of_its_own_but_not_in_a_reply(expected: str, subject: str) -> None:
    assert expected == mail(f"From: a@b.example\nSubject: {subject}").text


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        ("é", b"Content-Type: text/plain; charset=iso-8859-1\n\n\xe9"),
        ("é", b"Content-Type: text/plain\n\n\xc3\xa9"),
        ("\u201cé", b"Content-Type: text/plain; charset=nonsense\n\n\x93\xe9"),
        ("é", b"Content-Type: text/plain; charset=punycode\n\n\xc3\xa9"),
        ("hello", b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGVsbG8"),
        ("a=é", b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\na=3D=C3=A9"),
        ("It moved.", b"Content-Type: text/html\n\n<p>It moved.</p><p hidden>secretly</p>"),
        ("", b"Content-Type: application/pdf\n\n%PDF"),
        ("", b""),
        ("", b"\n\n\n"),
    ],
)
def test_body_is_decoded_leniently(expected: str, raw: bytes) -> None:
    assert expected == read_mail(raw, "x").text


def test_plain_text_is_preferred_and_attachments_are_left_out() -> None:
    message = EmailMessage()
    message["From"] = "a@b.example"
    message.set_content("It moved to Friday.")
    message.add_alternative("<p>It moved to Monday.</p>", subtype="html")
    message.add_attachment("attached words", filename="notes.txt")
    assert read_mail(message.as_bytes(), "x").text.strip() == "It moved to Friday."


def test_html_is_read_where_plain_text_is_empty() -> None:
    message = EmailMessage()
    message.set_content("\n")
    message.add_alternative("<p>It moved to Monday.</p>", subtype="html")
    assert read_mail(message.as_bytes(), "x").text.strip() == "It moved to Monday."


def test_forwarded_message_is_taken_in() -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner.set_content("It moved to Friday.")
    outer.set_content("Please see below.")
    outer.add_attachment(inner)
    assert (
        read_mail(outer.as_bytes(), "x").text
        == "Please see below.\n\n\n---------- Forwarded message ----------\nIt moved to Friday.\n"
    )


def test_nesting_without_end_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    raw = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3_000))
    (tmp_path / "deep.eml").write_bytes(raw)
    (tmp_path / "x.eml").write_bytes(MAIL)
    messages, problems = read(tmp_path)
    assert [message.location for message in messages] == ["x.eml"]
    assert [problem.location for problem in problems] == ["deep.eml"]


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (datetime(2024, 9, 2, 7, tzinfo=UTC), "Mon, 2 Sep 2024 09:00:00 +0200"),
        (datetime(2024, 9, 2, 9, tzinfo=UTC), "Mon, 2 Sep 2024 09:00:00 -0000"),
        (datetime(2024, 9, 2, 9, tzinfo=UTC), "2024-09-02T09:00:00"),
        (datetime(2024, 9, 2, 9, tzinfo=UTC), "2024-09-02 09:00Z"),
        (datetime(2024, 9, 2, 9, tzinfo=UTC), "1725267600"),
        (datetime(2024, 9, 2, 9, tzinfo=UTC), "1725267600000"),
        (None, "Mon, 2 Sep 1824 09:00:00 +0000"),
        (None, "9999-12-31T23:59:59-12:00"),
        (None, "soon"),
        (None, "nan"),
        (None, "1e300"),
        (None, ""),
    ],
)
def test_date_has_a_time_zone_or_is_not_believed(expected: datetime | None, given: str) -> None:
    found = parse_date(given)
    assert expected == found
    assert found is None or found.tzinfo is not None


def test_mbox_is_split_at_its_separators(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box.mbox")
    for body in ("One.\nFrom here on it is quoted.\n", "Two.\n"):
        message = EmailMessage()
        message["From"] = "a@b.example"
        message.set_content(body)
        box.add(message)
    box.close()
    messages, problems = read(tmp_path / "box.mbox")
    assert [message.text.rstrip("\n") + "\n" for message in messages] == [
        "One.\nFrom here on it is quoted.\n",
        "Two.\n",
    ]
    assert [message.location for message in messages] == ["box.mbox:message 1", "box.mbox:message 2"]
    assert problems == []
    assert count_messages(tmp_path / "box.mbox") == 2


def test_memory_does_not_grow_with_an_mbox(tmp_path: Path) -> None:
    with (tmp_path / "big.mbox").open("wb") as file:
        for _ in range(200):
            file.write(b"From a\nFrom: a@b.example\n\n" + b"It moved to Friday.\n" * 400 + b"\n")
    tracemalloc.start()
    assert sum(1 for _ in read_messages(tmp_path / "big.mbox")) == 200
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000


def test_maildir_and_folders_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("cur/2:2,S", "new/1", "tmp/0", "b/x.eml", "a/y.eml", ".hidden.eml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(MAIL)
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    (tmp_path / "link.eml").symlink_to(tmp_path / "a/y.eml")
    messages, problems = read(tmp_path)
    assert [message.location for message in messages] == ["a/y.eml", "b/x.eml", "cur/2:2,S", "new/1"]
    assert sorted(problem.location for problem in problems) == ["link.eml", "notes.pdf"]
    assert count_messages(tmp_path) == 4


def test_text_file_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "Notes.md").write_text("\ufeffThe key is under the mat.", "utf-8")
    (tmp_path / "page.html").write_text("<p>It moved.</p><p hidden>secretly</p>")
    messages, _ = read(tmp_path)
    assert [(message.text, message.source) for message in messages] == [
        ("The key is under the mat.", "doc:notes.md"),
        ("It moved.", "doc:page.html"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_columns_are_told_by_their_names(tmp_path: Path, delimiter: str) -> None:
    rows = [["label", "From", "TEXT", "Date"], ["ham", "a@b.example", '"It moved, to 7; or | so"', "2024-09-02"]]
    (tmp_path / "t.csv").write_text("\n".join(delimiter.join(row) for row in rows) + "\n", "utf-8")
    [message], problems = read(tmp_path / "t.csv")
    assert (message.text, message.source) == ("It moved, to 7; or | so", "email:a@b.example")
    assert datetime(2024, 9, 2, tzinfo=UTC) == message.observed_at
    assert message.location == "t.csv:row 2"
    assert problems == []


@pytest.mark.parametrize(
    "raw",
    [
        "text\ncaf\u00e9 at 9\n".encode(),
        "text\ncaf\u00e9 at 9\n".encode("utf-8-sig"),
        "text\ncaf\u00e9 at 9\n".encode("cp1252"),
        "text\ncaf\u00e9 at 9\n".encode("utf-16"),
        "text\r\ncaf\u00e9 at 9\r\n".encode("latin-1"),
        "text\ncaf\u00e9\0 at 9".encode(),
    ],
)
def test_csv_of_any_usual_encoding(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(raw)
    messages, _ = read(tmp_path / "t.csv")
    assert [message.text for message in messages] == ["café at 9"]


def test_sms_without_a_sender_is_anonymous(tmp_path: Path) -> None:
    (tmp_path / "my_sms.csv").write_text("label,TEXT,PHONE\nham,It moved.,No\n")
    [message], _ = read(tmp_path / "my_sms.csv")
    assert (message.source, message.authenticated) == ("sms", None)


def test_csv_without_a_text_column_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(IngestError, match="--text-column"):
        read(tmp_path / "t.csv")
    assert [message.text for message in read(tmp_path / "t.csv", columns={"text": "b"})[0]] == ["2"]
    with pytest.raises(IngestError, match="no column 'c'"):
        read(tmp_path / "t.csv", columns={"text": "c"})
    assert read(tmp_path)[1][0].location == "t.csv"


def test_huge_field_and_open_quote_cost_one_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('text\n"' + "x" * 200_000 + '"\nIt moved.\n' + "y" * 2_500_000 + "\nIt stayed.\n")
    messages, problems = read(tmp_path / "t.csv")
    assert [message.text for message in messages if len(message.text) < 100] == ["It moved.", "It stayed."]
    assert problems


def test_jsonl_keeps_reading_after_a_broken_line(tmp_path: Path) -> None:
    lines = ['{"content": "It moved.", "from": "sms:+44 7700 900123", "date": 1725267600}', "{", "[1]", '{"x": 1}', "",
             "[" * 100_000, '{"text": "It stayed.", "source": "Ravi"}']  # fmt: skip
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    messages, problems = read(tmp_path / "t.jsonl")
    assert [(message.text, message.source) for message in messages] == [
        ("It moved.", "sms:+44 7700 900123"),
        ("It stayed.", "chat:ravi"),
    ]
    assert [problem.location for problem in problems] == [
        "t.jsonl:line 2",
        "t.jsonl:line 3",
        "t.jsonl:line 4",
        "t.jsonl:line 6",
    ]


def test_a_file_cannot_vouch_for_itself(tmp_path: Path) -> None:
    """A row that names the user, or says that it is authenticated, MUST NOT count as the user or as verified."""
    file = tmp_path / "t.jsonl"
    file.write_text('{"text": "I moved.", "source": "USER", "authenticated": true}\n'
                    '{"text": "I stayed.", "source": "email:a@b.example", "authenticated": true}\n')  # fmt: skip
    found = [Source.parse(m.source, authenticated=m.authenticated) for m in read_messages(file)]
    assert [source.is_user or source.authenticated for source in found] == [False, False]
    trusted = [Source.parse(m.source, authenticated=m.authenticated) for m in read_messages(file, trusted=True)]
    assert [source.is_user or source.authenticated for source in trusted] == [True, True]


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (("email:a@b.example", None), "A@b.example"),
        (("chat:ravi k", None), " Ravi\u200b K\n"),
        (("chat", None), ""),
        (("tool:calendar", None), "tool:calendar"),
        (("chat:http://x", None), "http://x"),
        (("user", False), "user"),
        (("user:ravi", None), "user:ravi"),
        (("assistant", None), "assistant"),
        (("chat", None), "x" * 2_000),
    ],
)
def test_sender_column_is_read_as_a_claim(expected: tuple[str, bool | None], written: str) -> None:
    assert expected == claimed_source(written, "chat")


def test_gzip_is_read_and_a_broken_one_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text\nIt moved.\n"))
    (tmp_path / "b.csv.gz").write_bytes(b"no gzip")
    (tmp_path / "c.eml.gz").write_bytes(gzip.compress(MAIL)[:-12])
    messages, problems = read(tmp_path)
    assert [message.location for message in messages] == ["a.csv.gz:row 2"]
    assert [problem.location for problem in problems] == ["b.csv.gz", "c.eml.gz"]


def test_what_is_not_there_or_of_no_known_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="does not exist"):
        read_messages(tmp_path / "nothing")
    (tmp_path / "x.pdf").write_bytes(b"%PDF")
    with pytest.raises(IngestError, match="--format"):
        read(tmp_path / "x.pdf")
    assert [message.text for message in read(tmp_path / "x.pdf", format="text")[0]] == ["%PDF"]
    with pytest.raises(IngestError, match="not a channel"):
        read(tmp_path / "x.pdf", channel="No Channel")


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(
            st.sampled_from([b"From: a@b.example\n", b"Subject: =?utf-8?b?", b"?=", b"Content-Type: ",
                             b"multipart/mixed; boundary=x", b"text/html", b"; charset*=", b"utf-8''", b"\x00", b"\xff",
                             b"\n", b"--x", b"\n\n",
                             b"message/rfc822",
                             b"Content-Transfer-Encoding: base64\n", b"<p>hi", b"Date: 1", b'"', b"punycode"]),
            max_size=25,
        ).map(b"".join),
    )
)  # fmt: skip
def test_any_bytes_are_a_message_with_a_valid_source(raw: bytes) -> None:
    message = read_mail(raw, "x")
    assert message == read_mail(raw, "x")
    assert message.source == Source.parse(message.source).key
    assert message.message_id


@pytest.mark.parametrize(
    ("count", "folder"),
    [(233, "email/spamassassin"), (60, "email/phishing_raw"), (2_969, "sms/mishra_soni_half_a.csv")],
)
def test_public_corpora_are_read_without_a_problem(count: int, folder: str) -> None:
    if not (SHARED / folder).exists():
        pytest.skip("the shared data is not here")
    messages, problems = read(SHARED / folder)
    assert (count, []) == (len(messages), problems)
    assert count == count_messages(SHARED / folder)
