"""Nested stacks of a few messages are started at once, and no project takes all of the turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.common.fair_executor import FairExecutor
from heat_convergence.common.project_slots import ProjectSlots
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.engine.nested.starts import NestedStarts
from heat_convergence.engine.pool import ConcurrentJobPool


class WaitingExecutor:
    """An executor that notes whose nested stacks it prepares, and waits until it is let go on."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.let_go = threading.Event()

    def prepare_together(self, jobs: Sequence[Any]) -> Iterator[Any]:
        self.entered.append(jobs[0].stack.project_id)
        assert self.let_go.wait(10)
        return iter(())


class PlainBoundary:
    """A boundary that lets errors through, and starts no job alone."""

    def contain(self, _stack_id: str, work: Callable[[], None]) -> None:
        work()

    def start(self, *_arguments: Any) -> tuple[()]:
        return ()


@pytest.fixture
def executor() -> WaitingExecutor:
    return WaitingExecutor()


@pytest.fixture
def pool() -> Iterator[ConcurrentJobPool]:
    calls = FairExecutor(ThreadPoolExecutor(1), 1)
    yield ConcurrentJobPool(calls, message_threads=16)
    calls.shutdown()


@pytest.fixture
def slots(pool: ConcurrentJobPool) -> ProjectSlots:
    return pool._starts


@pytest.fixture
def starts(executor: WaitingExecutor, pool: ConcurrentJobPool) -> NestedStarts:
    def no_messages(*_arguments: Any) -> tuple[()]:
        return ()

    return NestedStarts(
        executor,  # type: ignore[arg-type]
        PlainBoundary(),  # type: ignore[arg-type]
        bus=SimpleNamespace(),  # type: ignore[arg-type]
        settings=ConvergenceSettings(),
        wait=lambda _seconds: None,
        finish=no_messages,  # type: ignore[arg-type]
        post_waiting=no_messages,
        notify=no_messages,  # type: ignore[arg-type]
        hold_slot=pool.hold_start_slot,
    )


def start(starts: NestedStarts, project_id: str) -> threading.Thread:
    """Start the nested stack of one job of a project in a thread."""
    stack = SimpleNamespace(id="s", project_id=project_id)
    row = SimpleNamespace(id="r", stack_id="s", identity=SimpleNamespace(root_id="s"))
    job: Any = SimpleNamespace(stack=stack, row=row)
    thread = threading.Thread(target=starts.start, args=([job], "token"), daemon=True)
    thread.start()
    return thread


def wait_for(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.001)


def test_a_project_leaves_a_turn_to_another_one(
    starts: NestedStarts, slots: ProjectSlots, executor: WaitingExecutor
) -> None:
    threads = [start(starts, "red") for _ in range(4)]
    wait_for(lambda: len(executor.entered) == 2 and len(slots._waiting) == 2)
    threads.append(start(starts, "blue"))
    wait_for(lambda: executor.entered == ["red", "red", "blue"])
    executor.let_go.set()
    for thread in threads:
        thread.join(10)
    assert executor.entered.count("red") == 4


def test_a_message_without_nested_stacks_waits_for_no_turn(
    starts: NestedStarts, executor: WaitingExecutor
) -> None:
    threads = [start(starts, each) for each in ("red", "blue", "green")]
    wait_for(lambda: len(executor.entered) == 3)
    starts.start([], "token")
    executor.let_go.set()
    for thread in threads:
        thread.join(10)


def test_a_turn_ends_with_an_error(starts: NestedStarts, slots: ProjectSlots) -> None:
    for _ in range(4):
        with pytest.raises(AttributeError):
            starts.start([SimpleNamespace(stack=None)], "token")  # type: ignore[list-item]
    assert slots.held_by(None) == 0
