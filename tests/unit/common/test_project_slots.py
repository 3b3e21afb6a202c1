"""Slots that projects share: none takes all, and none waits for the other's queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from heat_convergence.common.project_slots import ProjectSlots


class SlotHolder:
    """A thread that holds a slot until ``end``."""

    def __init__(self, slots: ProjectSlots, project_id: str | None, order: list[str]) -> None:
        self.started, self._end = threading.Event(), threading.Event()
        self._slots, self._project_id, self._order = slots, project_id, order
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._slots.hold(self._project_id):
            self._order.append(str(self._project_id))
            self.started.set()
            self._end.wait(10)

    def end(self) -> None:
        self._end.set()
        self._thread.join(10)


@pytest.fixture
def order() -> list[str]:
    return []


def wait_for(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.001)


def test_a_project_leaves_a_slot_to_the_others(order: list[str]) -> None:
    slots = ProjectSlots(2)
    holders = [SlotHolder(slots, "p", order) for _ in range(5)]
    wait_for(lambda: len(slots._waiting) == 4)
    other = SlotHolder(slots, "q", order)
    assert other.started.wait(10)
    wait_for(lambda: len(order) == 2)
    assert sorted(order) == ["p", "q"]
    for holder in (other, *holders):
        holder._end.set()
    for holder in (other, *holders):
        holder.end()
    assert order.count("p") == 5
    assert (slots._free, dict(slots._held), slots._waiting) == (2, {}, [])


def test_a_free_slot_goes_to_the_project_that_holds_the_fewest(order: list[str]) -> None:
    slots = ProjectSlots(3)
    holders = [SlotHolder(slots, project_id, order) for project_id in ("p", "p", "r")]
    assert all(holder.started.wait(10) for holder in holders)
    waiting = []
    for count, project_id in enumerate(("p", "p", "q"), start=1):
        waiting.append(SlotHolder(slots, project_id, order))
        wait_for(lambda count=count: len(slots._waiting) == count)
    holders[0].end()  # "p" holds one then and has waited longest, but "q" holds none
    assert waiting[2].started.wait(10)
    assert not waiting[0].started.is_set()
    holders[2].end()
    assert waiting[0].started.wait(10)
    for holder in (holders[1], waiting[2], waiting[0], waiting[1]):
        holder.end()


def test_commands_may_use_all_slots(order: list[str]) -> None:
    slots = ProjectSlots(3)
    holders = [SlotHolder(slots, None, order) for _ in range(3)]
    assert all(holder.started.wait(10) for holder in holders)
    for holder in holders:
        holder.end()


def test_an_error_releases_the_slot() -> None:
    slots = ProjectSlots(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="inside"), slots.hold("p"):
            raise ValueError("inside")
    assert slots._free == 1


def test_an_interrupted_wait_takes_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = ProjectSlots(1)

    class Interrupted(BaseException):
        pass

    def interrupt(_event: threading.Event, timeout: float | None = None) -> bool:
        raise Interrupted

    with ExitStack() as stack:
        stack.enter_context(slots.hold("p"))
        monkeypatch.setattr(threading.Event, "wait", interrupt)
        with pytest.raises(Interrupted), slots.hold("q"):
            raise AssertionError
        monkeypatch.undo()
        assert (slots._free, slots._waiting) == (0, [])
    assert slots._free == 1
