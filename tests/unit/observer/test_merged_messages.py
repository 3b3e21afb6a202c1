"""Messages that arrive while others are being processed are processed by the same threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.offline.local_service import LocalService
from heat_convergence.common.failures import Unavailable
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.observer import merged_messages
from heat_convergence.observer.merged_messages import MergedMessages
from heat_convergence.observer.stack_transactions import StackTransactions

Processed = list[dict[str, list[str]]]


class Transactions:
    """A record of what was processed; the first transaction runs something amid it."""

    def __init__(self, amid_first: Callable[[], None]) -> None:
        self.processed: Processed = []
        self._amid_first = [amid_first]

    def process(self, named: Mapping[str, Sequence[str]]) -> None:
        self.processed.append({stack_id: list(ids) for stack_id, ids in named.items()})
        if self._amid_first:
            self._amid_first.pop()()


def process_first(*others: tuple[str, str]) -> Processed:
    """Process a message of stack a, and the others in other threads in the midst of it.

    Returns:
        What was processed after the first message, until another one after its end.
    """

    def send_others() -> None:
        with ThreadPoolExecutor() as pool:
            for stack_id, resource_id in others:
                pool.submit(messages.process, {stack_id: [resource_id]}).result(10)

    transactions = Transactions(send_others)
    messages = MergedMessages(transactions.process)
    messages.process({"a": ["first"]})
    messages.process({"a": ["last"]})
    assert transactions.processed[0] == {"a": ["first"]}
    assert transactions.processed[-1] == {"a": ["last"]}
    return transactions.processed[1:-1]


@pytest.fixture
def one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_messages, "MOST_TRANSACTIONS", 1)


def test_messages_of_the_same_stack_share_a_transaction() -> None:
    assert process_first(("a", "1"), ("a", "2"), ("a", "1")) == [{"a": ["1", "2"]}]


@pytest.mark.usefixtures("one_transaction")
def test_messages_of_several_stacks_share_a_transaction() -> None:
    found = process_first(("b", "1"), ("a", "2"), ("c", "3"), ("b", "4"))
    assert found == [{"b": ["1", "4"], "a": ["2"], "c": ["3"]}]


def test_other_stacks_do_not_wait_for_one_transaction() -> None:
    assert process_first(("b", "1"), ("a", "2")) == [{"b": ["1"]}, {"a": ["2"]}]


def test_resources_of_a_transaction_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_messages, "MOST_RESOURCES", 2)
    found = process_first(*(("a", str(number)) for number in range(5)))
    assert found == [{"a": ["0", "1"]}, {"a": ["2", "3"]}, {"a": ["4"]}]


@pytest.mark.usefixtures("one_transaction")
def test_stacks_of_a_transaction_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_messages, "MOST_STACKS", 2)
    found = process_first(("b", "1"), ("c", "1"), ("d", "1"))
    assert found == [{"b": ["1"], "c": ["1"]}, {"d": ["1"]}]


def test_failure_ends_the_work_for_its_stacks() -> None:
    def refuse() -> None:
        messages.process({"a": ["named meanwhile"]})
        raise Unavailable("no database")

    transactions = Transactions(refuse)
    messages = MergedMessages(transactions.process)
    with pytest.raises(Unavailable):
        messages.process({"a": ["1"]})
    messages.process({"b": ["2"]})
    assert transactions.processed == [{"a": ["1"]}, {"a": ["named meanwhile"], "b": ["2"]}]


def test_each_resource_is_processed_after_its_message() -> None:
    """Many threads send at once: whatever was named is processed later, and none alone twice."""
    done: list[str] = []
    active: dict[str, threading.Semaphore] = {key: threading.Semaphore(1) for key in "abc"}

    def process(named: Mapping[str, Sequence[str]]) -> None:
        for stack_id, resource_ids in named.items():
            assert active[stack_id].acquire(blocking=False), "two threads work for one stack"
            done.extend(resource_ids)
        for stack_id in named:
            active[stack_id].release()

    messages = MergedMessages(process)
    with ThreadPoolExecutor(8) as pool:
        sent: list[Future[None]] = [
            pool.submit(messages.process, {"abc"[number % 3]: [str(number)]})
            for number in range(500)
        ]
    assert all(each.exception() is None for each in sent)
    assert sorted(done, key=int) == [str(number) for number in range(500)]


def test_observer_merges_its_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")

    def send_others() -> None:
        for resource_id in ("1", "2"):
            service.observer.observe([ResourceHint("a", 1, (resource_id,))])

    transactions = Transactions(send_others)

    def process(_self: Any, named: Mapping[str, Sequence[str]], _known: Any) -> None:
        transactions.process(named)

    monkeypatch.setattr(StackTransactions, "process", process)
    service.observer.observe([ResourceHint("a", 1, ("first",))])
    service.close()
    assert transactions.processed == [{"a": ["first"]}, {"a": ["1", "2"]}]
