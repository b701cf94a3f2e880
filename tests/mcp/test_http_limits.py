"""Rates and places: what is allowed, when it is allowed again, and that no caller costs memory for ever."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thymus.access.limits import Limits, Rate, Slots, Throttle, network
from thymus.errors import ConfigError


class Watch:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_then_a_rate() -> None:
    watch = Watch()
    throttle = Throttle(Rate(per_second=2, burst=3), clock=watch)
    assert [throttle.take("asha") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert throttle.take("ravi") == 0
    watch.now += 0.5
    assert [throttle.take("asha") for _ in range(2)] == [0, 1]
    watch.now += 1_000
    assert [throttle.take("asha") for _ in range(4)] == [0, 0, 0, 1]


@given(st.floats(0.001, 100), st.integers(1, 50), st.lists(st.floats(0, 60), max_size=60), st.floats(0, 1e9, width=32))
def test_whoever_waits_as_long_as_told_comes_in_and_nobody_has_more_than_the_rate(
    per_second: float, burst: int, pauses: list[float], start: float
) -> None:
    watch = Watch()
    watch.now = start
    throttle = Throttle(Rate(per_second=per_second, burst=burst), clock=watch)
    allowed = 0
    for pause in pauses:
        watch.now += pause
        wait = throttle.take("asha")
        allowed += not wait
        if wait:
            watch.now += wait
            assert throttle.take("asha") == 0
            allowed += 1
    assert allowed <= burst + (watch.now - start) * per_second + 1


def test_of_too_many_callers_the_quietest_is_forgotten() -> None:
    throttle = Throttle(Rate(per_second=0.001, burst=1), most=3, clock=Watch())
    assert [throttle.take(key) for key in ("a", "b", "a", "c")] == [0, 0, 1_000, 0]
    assert throttle.take("d") == 0  # "b" goes
    assert throttle.take("a") == 1_000
    assert throttle.take("b") == 0
    assert len(throttle._left) == 3


def test_places_are_limited_for_all_and_for_each_and_free_again_afterwards() -> None:
    slots = Slots(3, 2)
    with ExitStack() as stack:
        assert [stack.enter_context(slots.hold(key)) for key in "aaabc"] == [True, True, False, True, False]
    with ExitStack() as stack:
        assert [stack.enter_context(slots.hold(key)) for key in "bbca"] == [True, True, True, False]
    assert not slots._taken
    with pytest.raises(KeyError), slots.hold("a"):
        raise KeyError
    assert not slots._taken


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unix", "unix"),
        ("x" * 100, "x" * 64),
    ],
)
def test_what_counts_as_one_address(host: str, expected: str) -> None:
    assert network(host) == expected


def test_a_limit_that_lets_nobody_in_is_refused() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="above 0"):
            Rate(per_second=wrong, burst=1)
    with pytest.raises(ConfigError):
        Rate(per_second=1, burst=0)
    with pytest.raises(ConfigError):
        Slots(0, 1)
    assert Limits().at_once_each < Limits().at_once
