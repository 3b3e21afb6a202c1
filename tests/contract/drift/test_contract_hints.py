"""Hints of other services: what is read earlier because of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from heat_convergence.convergence.drift.change_hints import ANY_PROJECT, ChangeHints
from heat_convergence.convergence.drift.observation import ReadPause, WatchGroup, WatchResult
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

TYPE, OTHER = "Sim::Resource", "Sim::Other"
PROJECT = "project-1"
PAUSE = ReadPause(timedelta(seconds=1), timedelta(seconds=15))
AT_REST = {
    "job": None,
    "job_state": None,
    "status": Status.COMPLETE,
    "project_id": PROJECT,
    "stack_id": "stack-2",
}


def ids(*names):
    return ChangeHints(frozenset(names))


def types(*pairs):
    return ChangeHints(types=frozenset(pairs))


def waiting(row_id, **values):
    defaults = {
        "job_state": JobState.AWAITING_OBSERVATION,
        "observe_at": time_at(40),
        "project_id": PROJECT,
        "physical_id": f"physical-{row_id}",
    }
    return resource_row(row_id, **{**defaults, **values})


def observe_times(seeder, *names):
    return [row.observation.observe_at for row in seeder.rows(*names)]


def test_hints_about_ids_advance_observations(seeder):
    seeder.resources(
        waiting("a"),
        waiting("b"),
        waiting("c", observe_at=time_at(5)),
        waiting("d", job_state=JobState.RUNNING),
        waiting("e", job_state=JobState.RETRY),
    )
    hints = ids("physical-a", "physical-c", "physical-d", "physical-e", "of another project")
    assert seeder.store.sweeps.advance_observations(hints, time_at(10), 9) == 1
    assert observe_times(seeder, "a", "b", "c", "d", "e") == [
        time_at(10), time_at(40), time_at(5), time_at(40), time_at(40),
    ]  # fmt: skip
    assert seeder.store.sweeps.advance_observations(hints, time_at(10), 9) == 0


def test_hints_about_types_advance_observations_of_the_project(seeder):
    seeder.resources(
        waiting("a"),
        waiting("b", implementation=OTHER),
        waiting("c", project_id="project-2"),
    )
    sweeps = seeder.store.sweeps
    assert sweeps.advance_observations(types((ANY_PROJECT, TYPE)), time_at(10), 9) == 0
    assert sweeps.advance_observations(types((PROJECT, TYPE)), time_at(10), 9) == 1
    assert observe_times(seeder, "a", "b", "c") == [time_at(10), time_at(40), time_at(40)]


def test_observations_advance_up_to_the_limit(seeder):
    seeder.resources(*(waiting(name) for name in "abc"))
    hints = types((PROJECT, TYPE))
    advance = seeder.store.sweeps.advance_observations
    assert [advance(hints, time_at(10), 2) for _ in range(3)] == [2, 1, 0]


def with_groups(seeder, *rows):
    """Store a complete stack of two projects, whose groups are read at 60."""
    seeder.stack(stack_row("stack-2", status=Status.COMPLETE))
    seeder.resources(*rows)
    watch = seeder.store.watch
    watch.add_groups(["stack-2"], [TYPE, OTHER], time_at(60), 15.0)
    return watch


def due(watch, now):
    return [each.key for each in watch.take_due_groups(now, time_at(999), 9)]


def test_hints_about_ids_advance_groups_of_resources_at_rest(seeder):
    watch = with_groups(
        seeder,
        resource_row("a", physical_id="one", **AT_REST),
        resource_row("b", physical_id="two", **AT_REST | {"implementation": OTHER}),
        resource_row("c", physical_id="three", **AT_REST | {"project_id": "project-2"}),
        resource_row("d", physical_id="busy", **AT_REST | {"job_state": JobState.RUNNING}),
    )
    assert watch.advance_groups(ids("busy", "unknown"), time_at(10), PAUSE) == 0
    assert watch.advance_groups(ids("two", "three"), time_at(10), PAUSE) == 2
    assert watch.advance_groups(ids("two"), time_at(10), PAUSE) == 0
    assert due(watch, time_at(10)) == [(PROJECT, OTHER), ("project-2", TYPE)]


def test_hints_about_types_advance_their_groups(seeder):
    watch = with_groups(
        seeder,
        resource_row("a", physical_id="one", **AT_REST),
        resource_row("b", physical_id="two", **AT_REST | {"implementation": OTHER}),
        resource_row("c", physical_id="three", **AT_REST | {"project_id": "project-2"}),
    )
    hints = types((PROJECT, OTHER), ("no such project", TYPE))
    assert watch.advance_groups(hints, time_at(10), PAUSE) == 1
    assert due(watch, time_at(10)) == [(PROJECT, OTHER)]
    assert watch.advance_groups(types((ANY_PROJECT, TYPE)), time_at(10), PAUSE) == 2
    assert due(watch, time_at(10)) == [(PROJECT, TYPE), ("project-2", TYPE)]


def test_groups_are_not_read_more_often_than_the_pause_allows(seeder):
    watch = with_groups(seeder, resource_row("a", physical_id="one", **AT_REST))
    (taken,) = watch.take_due_groups(time_at(60), time_at(105), 9)
    read = replace(taken, observed_at=time_at(60), next_at=time_at(120))
    watch.record(read, WatchResult(taken_until=time_at(105)))
    now = time_at(60) + timedelta(seconds=0.5)
    assert watch.advance_groups(ids("one"), now, PAUSE) == 1
    assert watch.get_next_time() == now + PAUSE.known
    assert watch.advance_groups(ids("one"), time_at(61), PAUSE) == 1
    assert watch.get_next_time() == time_at(61)


def test_hints_do_not_repeat_a_failed_read_at_once(seeder):
    """The service may have asked for fewer requests a moment ago."""
    watch = with_groups(seeder, resource_row("a", physical_id="one", **AT_REST))
    (taken,) = watch.take_due_groups(time_at(60), time_at(105), 9)
    failed = replace(taken, next_at=time_at(120), reason="Throttled")
    watch.record(failed, WatchResult(taken_until=time_at(105)))
    now = time_at(60) + timedelta(seconds=0.5)
    assert watch.advance_groups(ids("one"), now, PAUSE) == 1
    assert watch.get_next_time() == now + PAUSE.known
    assert watch.advance_groups(ids("one"), now + timedelta(seconds=0.2), PAUSE) == 0


def test_groups_of_any_project_have_a_pause_of_their_own(seeder):
    watch = with_groups(seeder, resource_row("a", physical_id="one", **AT_REST))
    (taken,) = watch.take_due_groups(time_at(60), time_at(105), 9)
    watch.record(replace(taken, observed_at=time_at(60), next_at=time_at(120)), WatchResult())
    watch.advance_groups(types((ANY_PROJECT, TYPE)), time_at(62), PAUSE)
    assert watch.get_next_time() == time_at(77)


def test_hint_while_a_group_is_read_is_kept(seeder):
    watch = with_groups(seeder, resource_row("a", physical_id="one", **AT_REST))
    (taken,) = watch.take_due_groups(time_at(60), time_at(105), 9)
    assert watch.advance_groups(ids("one"), time_at(61), PAUSE) == 1
    read: WatchGroup = replace(taken, observed_at=time_at(60), next_at=time_at(75))
    watch.record(read, WatchResult(taken_until=time_at(105)))
    assert watch.get_next_time() == time_at(61)
    (taken,) = watch.take_due_groups(time_at(61), time_at(106), 9)
    watch.record(read, WatchResult(taken_until=time_at(106)))
    assert watch.get_next_time() == time_at(75)
