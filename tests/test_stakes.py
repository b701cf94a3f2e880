"""Values of high stakes: what is recognised and under which kind, what is left alone, disguises, robustness, cost."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from dev_eval import stakes as measured
from dev_eval.figures import DataMissingError
from dev_eval.hazards import read_overt
from hypothesis import given, settings
from hypothesis import strategies as st

from thymus.recognizers.page import words
from thymus.recognizers.stakes import Stake, StakeKind, find_stakes
from timing import cpu_seconds

SHARED = Path(__file__).parents[1] / "../shared/data"
STATEMENTS = Path(__file__).parent / "data" / "stakes.txt"
KINDS = tuple(StakeKind)
TELLING = (*words("account pay 4821 door code call 0161 @ a@b.example http:// . mg take $ +"), "\n", "\x00")


def kinds(text: str) -> set[str]:
    return {stake.kind.value for stake in find_stakes(text)}


def passages(text: str, kind: StakeKind) -> list[str]:
    return [stake.text for stake in find_stakes(text) if stake.kind is kind]


def labelled(label: str) -> list[str]:
    return [text for rows in read_overt(STATEMENTS).values() for given, text in rows if given == label]


class TestStatements:
    """The project's own: tests/data/stakes.txt."""

    def test_of_each_kind_and_half_there_are_enough(self) -> None:
        rows = read_overt(STATEMENTS)
        there = Counter((part, label) for part in ("open", "kept") for label, _ in rows[part])

        assert len(there) == 2 * 2 * len(KINDS)
        assert min(there.values()) >= 22

    @pytest.mark.parametrize("kind", KINDS)
    def test_of_each_kind_at_least_94_percent_are_recognised(self, kind: StakeKind) -> None:
        texts = labelled(kind)

        assert sum(kind.value in kinds(text) for text in texts) >= 0.94 * len(texts)

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_only_resembles_a_kind_has_no_stake(self, kind: StakeKind) -> None:
        assert [(text, kinds(text)) for text in labelled(f"not {kind}") if kinds(text)] == []


class TestPassages:
    """Where the value stands: the span is in the text as given."""

    @pytest.mark.parametrize(
        ("kind", "passage", "text"),
        [
            ("payment", "GB29 NWBK 6016 1331 9268 19", "Pay GB29 NWBK 6016 1331 9268 19 please."),
            ("payment", "88123400", "The bank account is 88123400, thanks."),
            ("payment", "priya.k@okicici", "UPI: priya.k@okicici, she said"),
            ("payment", "$danafields", "Cash App $danafields is mine"),
            ("credential", "4821", "The new door code is 4821."),
            ("credential", "Tulip-Harbour-88", "Your password is Tulip-Harbour-88."),
            ("credential", "bluebell", "The answer to your security question is bluebell."),
            ("contact", "07700 900421", "You can reach Dr Osei at 07700 900421."),
            ("contact", "ann@shop.example", "Write to ann@shop.example instead."),
            ("contact", "14 Mill Lane", "Return parcels to 14 Mill Lane, Leeds."),
            ("link", "bank.example/verify", "Confirm your details at bank.example/verify now."),
            ("dose", "500 mg", "Take 500 mg of it three times a day."),
            ("dose", "Stop taking the metformin", "Stop taking the metformin from Monday."),
        ],
    )
    def test_each_kind_gives_the_value(self, kind: str, passage: str, text: str) -> None:
        assert [passage] == passages(text, StakeKind(kind))

    def test_a_stake_says_kind_text_and_span(self) -> None:
        text = "Hi. Naïve café: the door code is 4821."

        assert (Stake(kind=StakeKind.CREDENTIAL, span=(33, 37), text="4821"),) == find_stakes(text)

    def test_one_text_may_hold_several_in_order(self) -> None:
        text = "The gate code is 4821. Call us on 0800 555 0142. Log in at https://id.example/a"

        assert [stake.kind.value for stake in find_stakes(text)] == ["credential", "contact", "link"]

    def test_what_overlaps_in_one_kind_is_one_stake(self) -> None:
        assert passages("IBAN: GB29NWBK60161331926819", StakeKind.PAYMENT) == ["GB29NWBK60161331926819"]

    def test_the_longer_of_two_that_overlap_reaches_to_its_own_end(self) -> None:
        text = "Please transfer the rent to the account 44712200 of Ann."

        assert passages(text, StakeKind.PAYMENT) == ["Please transfer the rent to the account 44712200 of Ann"]

    def test_what_overlaps_a_destination_is_no_contact(self) -> None:
        assert passages("Zelle Ann on 555-0134. If it does not work, call her on 555-0142", StakeKind.CONTACT) == [
            "555-0142"
        ]


class TestTheLine:
    """What a kind is and is not: the same value, offered and merely there."""

    @pytest.mark.parametrize(
        ("offered", "there"),
        [
            ("Please pay into account 44712200.", "Your electricity account 44712200 was billed."),
            ("Pay to IBAN GB29 NWBK 6016 1331 9268 19.", "Part GB29 NWBK 6016 1331 9268 18 is on order."),
            ("Paid into account 44712200.", "You paid electricity account 44712200."),
            ("The code is 482133.", "The promo code is 482133."),
            ("The code for the lobby is 4821.", "The promo code for the lobby is 4821."),
            ("Call us: 0161 496 0300", "Ann Fields, 0161 496 0300"),
            ("My number is 0161 496 0300.", "Kind regards,\nAnn\nTel: 0161 496 0300\nLarkfield"),
            (
                "Ask about it on a day of the week at 0161 496 0300",
                "Ask about order 0161 496 0300 on a day of the week",
            ),
            ("Mail of last week: write to ann@shop.example", "In the mail of last week ann@shop.example wrote:"),
            ("Send the whole lot to ann@shop.example", "It is in the mail from ann@shop.example, we think"),
            ("Contact list@shop.example", "Contact list@shop.example to unsubscribe"),
            ("Log in at https://a.example/x", "Read the article at https://a.example/x"),
            ("Your new slot: https://a.example/x", "The new slot: https://a.example/x"),
            ("You can pay it at https://a.example/x", "You can read it at https://a.example/x"),
            ("Get the app at https://a.example/x", "Get the slides of the app at https://a.example/x"),
            ("Log in at shop.example", "Log in, says shop.example today"),
            ("Click https://a.example/x", "Click https://a.example/x to unsubscribe"),
            ("Download the app at https://a.example/x", "Download the slides at https://a.example/x"),
            ("Take two tablets.", "Take two eggs."),
            ("She takes two tablets a day", "She takes two tablets with Android a day"),
            ("Insulin: 12 units at noon", "The shop sold 12 units at noon"),
            ("She takes 90 mg daily.", "The cup has 90 mg of caffeine daily."),
            ("Paracetamol 20 at noon", "Paracetamol in 2020 at noon"),
        ],
    )
    def test_an_offer_is_told_from_a_mention(self, offered: str, there: str) -> None:
        assert kinds(offered)
        assert set() == kinds(there)

    def test_an_iban_must_be_valid_or_be_called_one(self) -> None:
        assert {"payment"} == kinds("DE89 3704 0044 0532 0130 00")
        assert {"payment"} == kinds("The IBAN is DE88 3704 0044 0532 0130 00")
        assert set() == kinds("DE88 3704 0044 0532 0130 00")

    def test_a_national_id_lets_nobody_in(self) -> None:
        assert set() == kinds("Your SSN on file is 078-05-1120.")

    def test_a_cue_of_another_sentence_does_not_count(self) -> None:
        assert {"payment"} == kinds("We paid it, the account of the trip is 118822.")
        assert set() == kinds("We paid the plumber on Tuesday. The account of the trip runs to pages 118822.")

    def test_but_a_value_that_is_a_sentence_goes_with_the_one_before(self) -> None:
        assert kinds("A new phone! It's 0161 496 0300") == {"contact"}
        assert kinds("A new poem! It's 0161 496 0300") == set()

    def test_a_handle_belongs_to_the_service_beside_it(self) -> None:
        far = "PayPal was down for most of the day in the north and in the south, says news@shop.example"

        assert "payment" in kinds("PayPal: news@shop.example")
        assert "payment" not in kinds(far)

    @pytest.mark.parametrize(
        "text", ["http://203.0.113.9/a", "https://bank.example@evil.example/", "xn--pypal-4ve.example"]
    )
    def test_an_address_that_hides_where_it_leads_needs_no_cue(self, text: str) -> None:
        assert {"link"} == kinds(text)


class TestDisguises:
    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            ("credential", "The d\u200bo\u200bor c\u00adode is 4\u200b8\u200b2\u200b1."),
            ("credential", "Ｔｈｅ ｄｏｏｒ ｃｏｄｅ ｉｓ ４８２１"),
            ("credential", "The d\u043e\u043er c\u043ede is 4821"),
            ("credential", "The door code is four eight two one."),
            ("credential", "The door code is 4 8 2 1."),
            ("credential", "दरवाज़े का gate code ४८२१ hai"),
            ("contact", "Call us on zero one six one four nine six zero three double zero."),
            ("contact", "reach us: help [at] larkfield [dot] example"),
            ("link", "Verify at hxxps://bank-check[.]example/a"),
            ("link", "Review it at bank(dot)example/tx"),
            ("payment", "i b a n: D E 8 9 3 7 0 4 0 0 4 4 0 5 3 2 0 1 3 0 0 0"),
            ("payment", "Send payment to account four four seven one two two zero zero."),
            ("payment", "Please trasnfer it to acount 44712200 at the bank."),
            ("dose", "Take ５００ ｍｇ daily."),
        ],
    )
    def test_a_disguise_is_read_through(self, kind: str, text: str) -> None:
        assert kind in kinds(text)

    @pytest.mark.parametrize(
        ("kind", "passage", "text"),
        [
            ("credential", "4\u200b8\u200b2\u200b1", "The d\u200boor code is 4\u200b8\u200b2\u200b1."),
            ("credential", "Tul\u200bip-Harbour-88", "Your pass\u200bword is Tul\u200bip-Harbour-88."),
            ("contact", "0\u200b161 496 0300", "C\u200ball Ann on 0\u200b161 496 0300."),
            (
                "contact",
                "zero one six one four nine six zero three",
                "Call Ann on zero one six one four nine six zero three.",
            ),
        ],
    )
    def test_the_passage_is_given_with_its_disguise(self, kind: str, passage: str, text: str) -> None:
        assert passages(text, StakeKind(kind)) == [passage]

    def test_padding_hides_nothing(self) -> None:
        text = f"{'The account at the bank. ' * 2_000}Our account at the bank is 44712200."

        assert passages(text, StakeKind.PAYMENT) == ["44712200"]


class TestRobustness:
    @given(st.text(st.characters(exclude_categories=[]), max_size=200))
    @settings(max_examples=150, deadline=None)
    def test_any_text_gives_spans_within_it(self, text: str) -> None:
        found = find_stakes(text)

        assert list(found) == sorted(found)
        assert all(stake.text == text[slice(*stake.span)] and stake.text for stake in found)

    @given(st.lists(st.sampled_from(TELLING)))
    @settings(max_examples=100, deadline=None)
    def test_any_order_of_telling_words_is_read(self, pieces: list[str]) -> None:
        text = " ".join(pieces)

        assert all(stake.text == text[slice(*stake.span)] for stake in find_stakes(text))

    @pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "\u202e\u200b", "0" * 5_000, "\n" * 5_000])
    def test_rubbish_has_no_stake(self, text: str) -> None:
        assert find_stakes(text) == ()

    @pytest.mark.parametrize(
        "piece",
        [
            "1 ",
            "11-",
            "a1 ",
            "a@",
            "a.",
            "pay to account ",
            "call 0",
            "tel: 0161 ",
            "\ntel: 0161 496 0300 ",
            "(0) ",
            "door code ",
            "password is ",
            "http://a",
            "take 5 mg insulin ",
            "stop the pills ",
            "gb29 ",
            "[dot] ",
            "one two ",
            "\n+1 ",
            "x" * 50,
            "é1 ",
        ],
    )
    def test_time_is_linear_in_the_text(self, piece: str) -> None:
        find_stakes("pay")  # compiles the rules
        text = "call " + piece * (40_000 // len(piece))

        assert (
            cpu_seconds(lambda: find_stakes(text), enough=2.5) < 2.5
        )  # 40,000 characters; plain text takes about 0.1 s

    def test_a_statement_takes_under_a_millisecond(self) -> None:
        texts = [text for rows in read_overt(STATEMENTS).values() for _, text in rows]
        find_stakes(texts[0])

        most = 0.001 * len(texts)

        assert cpu_seconds(lambda: [find_stakes(text) for text in texts], enough=most) < most


class TestRealTexts:
    def test_hardly_any_harmless_message_has_a_stake_and_most_smishing_does(self) -> None:
        path = SHARED / "public" / "sms" / "mishra_soni_half_a.csv"
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        rows = list(csv.DictReader(path.read_text(encoding="utf-8", errors="replace").splitlines()))
        ham = [row["TEXT"] for row in rows if row["label"].lower() == "ham"]
        smishing = [row["TEXT"] for row in rows if row["label"].lower() == "smishing"]

        assert sum(bool(kinds(text)) for text in ham) <= 0.01 * len(ham)
        assert sum(bool(kinds(text)) for text in smishing) >= 0.85 * len(smishing)

    def test_the_measurement_leaves_out_what_is_not_there(self, tmp_path: Path) -> None:
        folder = tmp_path / "train" / "authored"
        folder.mkdir(parents=True)
        (folder / "home.claims.jsonl").write_text(
            '{"label": "fact", "speaker": "t", "text": "The door code is 4821."}\n'
            '{"label": "fact", "speaker": "u", "text": "The gate code is 4822."}\n'
        )

        part = measured.measure(tmp_path)

        assert {"open", "kept", "late", "last"} == set(part.figures["recognised"])
        assert part.figures["raised"] == {"facts told by others": {"n": 1, "raised": 1}}
        assert len(part.notes) == 7

    def test_the_measurement_says_so_where_nothing_is_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataMissingError, match="pass the folder"):
            measured.measure(tmp_path)
