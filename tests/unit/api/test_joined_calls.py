"""Calls that arrive while another one is at work are done together by one of their threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from heat_convergence.api.controllers import joined_calls
from heat_convergence.api.controllers.joined_calls import JoinedCalls
from heat_convergence.common.errors import Error, StackExists
from heat_convergence.common.failures import Unavailable
from tests.queued_calls import queued_calls


class Transactions:
    """Transactions; the first waits until ``go_on``, and a refused name fails its own."""

    def __init__(self, refused: str = "", error: Callable[[], Exception] | None = None) -> None:
        self.done: list[list[str]] = []
        self.started, self.go_on = threading.Event(), threading.Event()
        self._refused = refused
        self._error = error or (lambda: StackExists(refused))

    def __call__(self, names: Sequence[str]) -> list[str]:
        self.done.append(list(names))
        if len(self.done) == 1:
            self.started.set()
            assert self.go_on.wait(10)
        if self._refused in names:
            raise self._error()
        return [name.upper() for name in names]


def call_amid_first(work: Transactions, names: Sequence[str], key: str = "p") -> list[Future[str]]:
    """Return the calls of the names, which come one after the other while ``first`` is at work."""
    calls = JoinedCalls(work)
    with queued_calls() as queued, ThreadPoolExecutor(len(names) + 1) as pool:
        first = pool.submit(calls.call, "p", "first")
        assert work.started.wait(10)
        assert queued.acquire(timeout=10)
        others = []
        for name in names:
            others.append(pool.submit(calls.call, key, name))
            assert queued.acquire(timeout=10)
        if key != "p":
            others[0].result(10)
        work.go_on.set()
        assert first.result(10) == "FIRST"
    return others


def test_a_call_alone_waits_for_nothing() -> None:
    work = Transactions()
    work.go_on.set()
    assert JoinedCalls(work).call("p", "a") == "A"
    assert work.done == [["a"]]


def test_calls_that_wait_are_done_together() -> None:
    work = Transactions()
    found = call_amid_first(work, "abc")
    assert work.done == [["first"], ["a", "b", "c"]]
    assert [each.result() for each in found] == ["A", "B", "C"]


def test_calls_with_another_key_do_not_wait() -> None:
    work = Transactions()
    (found,) = call_amid_first(work, "a", key="another project")
    assert work.done == [["first"], ["a"]]
    assert found.result() == "A"


def test_calls_done_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_calls, "MOST_CALLS", 2)
    work = Transactions()
    call_amid_first(work, "abc")
    assert work.done == [["first"], ["a", "b"], ["c"]]


@pytest.mark.parametrize("error", [StackExists("b"), ValueError("a defect")])
def test_what_fails_together_is_done_alone(error: Exception) -> None:
    work = Transactions(refused="b", error=lambda: error)
    a, b, c = call_amid_first(work, "abc")
    assert (a.result(), c.result()) == ("A", "C")
    assert b.exception() is error
    assert work.done[:2] == [["first"], ["a", "b", "c"]]
    assert sorted(work.done[2:]) == [["a"], ["b"], ["c"]]


def test_an_outage_is_tried_once_for_all() -> None:
    work = Transactions(refused="b", error=lambda: Unavailable("no database"))
    found = call_amid_first(work, "abc")
    assert work.done == [["first"], ["a", "b", "c"]]
    assert [type(each.exception()) for each in found] == [Unavailable] * 3


def test_calls_go_on_after_a_failure() -> None:
    def refuse(_names: Sequence[str]) -> list[str]:
        if refusing:
            raise Error("refused")
        return ["done"]

    refusing = [True]
    calls: Any = JoinedCalls(refuse)
    with pytest.raises(Error, match="refused"):
        calls.call("p", "a")
    refusing.clear()
    assert calls.call("p", "a") == "done"
