"""Waits of requests for changes: their end, and the reads that they take."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from heat_convergence.api.change_wait import ChangeWait, ChangeWatch, RequestHeld
from heat_convergence.common.failures import Unavailable


class Events:
    """The newest events by stack; counts the reads of them."""

    def __init__(self) -> None:
        self.newest: dict[str, str] = {"a": "1"}
        self.reads: list[list[str]] = []
        self.is_away = False

    def find(self, stack_ids: Collection[str]) -> Mapping[str, str]:
        self.reads.append(list(stack_ids))
        if self.is_away:
            raise Unavailable("the database is away")
        return {each: self.newest[each] for each in stack_ids if each in self.newest}


class IdleWatch(ChangeWatch):
    """A watch whose rounds a test runs."""

    def add(self, wait: ChangeWait) -> None:
        self._waits.add(wait)


class Timer:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def watch(events: Events) -> ChangeWatch:
    return IdleWatch(events.find)


def hold(
    watch: ChangeWatch, timer: Timer, newest: Mapping[str, str]
) -> tuple[ChangeWait, list[str]]:
    """Return a wait of ten seconds, and a list that has an entry for each time it is resumed."""
    wait, resumed = ChangeWait(timer), []
    with pytest.raises(RequestHeld):
        wait.hold(watch, newest, 10)
    wait.start(lambda: resumed.append("resumed"))
    return wait, resumed


def test_one_read_serves_all_waiting_requests(
    watch: ChangeWatch, events: Events, timer: Timer
) -> None:
    held = [hold(watch, timer, {"a": "1", "b": ""}) for _ in range(200)]
    watch.run_round()
    assert events.reads == [["a", "b"]]
    assert not any(resumed for _, resumed in held)
    events.newest["b"] = "2"
    watch.run_round()
    watch.run_round()
    assert [resumed for _, resumed in held] == [["resumed"]] * 200


def test_wait_is_over_after_its_seconds_whatever_happens(
    watch: ChangeWatch, events: Events, timer: Timer
) -> None:
    wait, resumed = hold(watch, timer, {"a": "1"})
    timer.now_s = 9.9
    watch.run_round()
    assert resumed == []
    with pytest.raises(RequestHeld):
        wait.hold(watch, {"a": "1"}, 10)
    timer.now_s = 10
    watch.run_round()
    assert resumed == ["resumed"]
    wait.hold(watch, {"a": "1"}, 10)  # returns, so that the request is answered


def test_server_that_stops_ends_waits_once(watch: ChangeWatch, timer: Timer) -> None:
    wait, resumed = hold(watch, timer, {"a": "1"})
    wait.end()
    wait.end()
    watch.run_round()
    assert resumed == ["resumed"]


def test_wait_that_ended_before_it_began_is_resumed(watch: ChangeWatch, timer: Timer) -> None:
    wait, resumed = ChangeWait(timer), []
    with pytest.raises(RequestHeld):
        wait.hold(watch, {"a": "1"}, 10)
    wait.end()
    wait.start(lambda: resumed.append("resumed"))
    assert resumed == ["resumed"]


def test_database_that_is_away_ends_the_wait(
    watch: ChangeWatch, events: Events, timer: Timer
) -> None:
    _, resumed = hold(watch, timer, {"a": "1"})
    events.is_away = True
    watch.run_round()
    assert resumed == ["resumed"]


def test_requests_beyond_the_limit_do_not_wait(
    watch: ChangeWatch, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heat_convergence.api.change_wait._MAX_WAITS", 1)
    hold(watch, timer, {"a": "1"})
    ChangeWait(timer).hold(watch, {"a": "1"}, 10)
