"""The buffer of hints: pauses between reads, and limits of its memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from heat_convergence.convergence.drift.change_hints import ANY_PROJECT, ChangeHints
from heat_convergence.observer.notifications.hint_buffer import HintBuffer, HintLimits
from heat_convergence.observer.notifications.parsing import ChangedResources

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = HintLimits(ids=3, types=2)
PORT, NET = "OS::Neutron::Port", "OS::Neutron::Net"


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def ids(*names: str, project: str = "p") -> ChangedResources:
    return ChangedResources(project, names, (PORT,))


def types(*names: str, project: str = "p") -> ChangedResources:
    return ChangedResources(project, (), (), names)


class TickCounter:
    count = 0

    def __call__(self) -> None:
        self.count += 1


def test_first_hints_are_taken_at_once_and_wake_the_observer_once() -> None:
    ticks = TickCounter()
    buffer = HintBuffer(LIMITS, ticks)
    assert buffer.add(ids("a"))
    assert buffer.add(ids("a", "b"))
    assert ticks.count == 1
    assert buffer.take(NOW) == ChangeHints(frozenset({"a", "b"}))
    assert not buffer.take(NOW)
    assert buffer.get_next_time() is None


def test_later_hints_wait_for_the_pause() -> None:
    ticks = TickCounter()
    buffer = HintBuffer(LIMITS, ticks)
    buffer.add(ids("a"))
    buffer.add(types(NET))
    buffer.take(NOW)
    buffer.add(ids("b"))
    buffer.add(types(NET))
    assert ticks.count == 2
    assert not buffer.take(at(0.1))
    assert buffer.get_next_time() == at(0.2)
    assert buffer.take(at(0.2)) == ChangeHints(frozenset({"b"}))
    assert buffer.get_next_time() == at(1)
    assert buffer.take(at(1)) == ChangeHints(types=frozenset({("p", NET)}))


def test_too_many_ids_become_types() -> None:
    buffer = HintBuffer(LIMITS, TickCounter())
    assert buffer.add(ids("a", "b", "c"))
    assert not buffer.add(ids("d"))
    assert not buffer.add(ids("e", project="q"))
    assert buffer.take(NOW) == ChangeHints(
        frozenset({"a", "b", "c"}), frozenset({("p", PORT), ("q", PORT)})
    )


def test_too_many_types_become_those_of_any_project() -> None:
    buffer = HintBuffer(LIMITS, TickCounter())
    results = [buffer.add(types(NET, project=str(number))) for number in range(1000)]
    assert results == [True, True, *([False] * 998)]
    assert buffer.take(NOW).types == {("0", NET), ("1", NET), (ANY_PROJECT, NET)}


def test_unused_hints_are_restored_within_the_limits() -> None:
    buffer = HintBuffer(LIMITS, TickCounter())
    buffer.add(ids("a", "b"))
    taken = buffer.take(NOW)
    buffer.add(ids("c"))
    buffer.restore(taken)
    assert buffer.take(at(1)).physical_ids == {"a", "b", "c"}
    buffer.add(ids("d", "e"))
    buffer.restore(taken)
    assert buffer.take(at(2)).physical_ids == {"d", "e"}
