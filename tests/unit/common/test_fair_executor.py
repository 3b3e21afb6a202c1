"""Slots are shared between groups, and work that hangs leaves slots to others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from heat_convergence.common.fair_executor import FairExecutor, FairSlots

SLOTS = 12
WAIT_S = 30.0  # what should happen at once, on a machine that is very busy


class HangingWork:
    """Work that hangs until it is released, and counts how much of it has started."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.started = threading.Semaphore(0)

    def __call__(self) -> None:
        self.started.release()
        assert self.released.wait(WAIT_S)

    def await_started(self, count: int) -> bool:
        return all(self.started.acquire(timeout=WAIT_S) for _ in range(count))


@pytest.fixture
def hanging() -> Iterator[HangingWork]:
    work = HangingWork()
    yield work
    work.released.set()


@pytest.fixture
def executor(hanging: HangingWork) -> Iterator[FairExecutor]:
    executor = FairExecutor(ThreadPoolExecutor(SLOTS), SLOTS)
    yield executor
    hanging.released.set()
    executor.shutdown()


@pytest.mark.parametrize(
    ("group_count", "share", "free"), [(1, 8, 4), (2, 5, 2), (3, 4, 1), (12, 1, 0)]
)
def test_groups_share_the_slots(group_count: int, share: int, free: int) -> None:
    slots = FairSlots(SLOTS)
    taken = dict.fromkeys(range(group_count), 0)
    for _round in range(SLOTS):
        for name in taken:
            taken[name] += slots.try_take([name])
    assert max(taken.values()) == share
    assert SLOTS - sum(taken.values()) == free
    for name, count in taken.items():
        for _ in range(count):
            slots.give_back([name])
    assert slots.try_take(["other"])


def test_every_group_of_the_work_needs_a_share() -> None:
    slots = FairSlots(SLOTS)
    while slots.try_take(["compute", "ours"]):
        pass
    assert not slots.try_take(["network", "ours"])
    assert not slots.try_take(["compute", "theirs"])
    assert slots.try_take(["network", "theirs"])


def test_single_slot_can_be_used() -> None:
    slots = FairSlots(1)
    assert slots.try_take(["a"])
    assert not slots.try_take(["b"])
    slots.give_back(["a"])
    assert slots.try_take(["b"])


def test_hanging_group_leaves_slots_to_others(
    executor: FairExecutor, hanging: HangingWork
) -> None:
    stuck = [executor.submit(["stuck"], hanging) for _ in range(5 * SLOTS)]
    done = [executor.submit(["well"], lambda: 7) for _ in range(200)]
    assert not wait(done, WAIT_S).not_done
    assert {each.result() for each in done} == {7}
    assert not any(each.done() for each in stuck)
    assert hanging.await_started(8)


def test_work_that_waits_runs_when_slots_are_free(
    executor: FairExecutor, hanging: HangingWork
) -> None:
    stuck = [executor.submit(["stuck"], hanging) for _ in range(5 * SLOTS)]
    hanging.released.set()
    assert not wait(stuck, WAIT_S).not_done


def test_work_that_waits_can_be_cancelled(executor: FairExecutor, hanging: HangingWork) -> None:
    stuck = [executor.submit(["stuck"], hanging) for _ in range(SLOTS)]
    assert hanging.await_started(8)
    assert sum(each.cancel() for each in stuck) == SLOTS - 8
    hanging.released.set()
    assert not wait(stuck, WAIT_S).not_done
    assert executor.submit(["stuck"], lambda: 1).result(WAIT_S) == 1


def test_exception_of_the_work_is_passed_on(executor: FairExecutor) -> None:
    def fail() -> None:
        raise ValueError("no")

    assert isinstance(executor.submit(["a"], fail).exception(WAIT_S), ValueError)
    assert executor.submit(["a"], lambda: 1).result(WAIT_S) == 1


def test_shutdown_cancels_what_waits(executor: FairExecutor, hanging: HangingWork) -> None:
    stuck = [executor.submit(["stuck"], hanging) for _ in range(SLOTS)]
    assert hanging.await_started(8)
    threading.Timer(0.1, hanging.released.set).start()
    executor.shutdown()
    assert sum(each.cancelled() for each in stuck) == SLOTS - 8
