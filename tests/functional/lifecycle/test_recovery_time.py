"""Tests of the time until lost work is recovered with the default options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from oslo_config import cfg

from heat_convergence.cli.components.settings import convergence_settings
from heat_convergence.conf import opts
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.pool import InlineJobPool
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import START_TIME

RECOVERY_LIMIT_S = 15
STEP_S = 0.5


class WorkerKilled(BaseException):
    """The process ends here: nothing that comes after is done."""


class WorkerKillingPool(InlineJobPool):
    """A worker pool that kills a worker between its claim and its call."""

    def run(self, execute: object, jobs: Sequence[Job], late: object) -> Iterator[list[object]]:
        raise WorkerKilled
        yield []


class StackInCreation:
    """A stack that is being created by one engine and one observer."""

    def __init__(self, names: Sequence[str] = ("a",)) -> None:
        self.now: datetime = START_TIME
        self.store = MemoryStore()
        conf = cfg.ConfigOpts()
        opts.register_all_opts(conf)
        conf([], default_config_files=[])
        self.service = InProcessService(
            self.store,
            ResourceTypeRegistry([TestResource()]),
            settings=convergence_settings(conf),
            clock=lambda: self.now,
        )
        expected = {
            name: ResourceDefinition(name, TestResource.name, {"value": "x"}) for name in names
        }
        self.stack_id = self.service.create(expected, name="web")

    def lose_messages(self) -> None:
        self.service.bus.pending.clear()

    def set_job_state(self, state: JobState, **values: object) -> None:
        """Put all jobs into that state, whichever they are in."""
        ids = [row.id for row in self.store.tables.resources_of_stack(self.stack_id)]
        self.store.tables.update_resources(ids, {"job_state": state, **values})

    def seconds_until_complete(self) -> float:
        return self.seconds_until(lambda: self.status is Status.COMPLETE)

    @property
    def status(self) -> Status:
        return self.service.stack(self.stack_id).status

    def seconds_until(self, done: Callable[[], bool]) -> float:
        lost_at = self.now
        while not done():
            assert self.now < lost_at + timedelta(seconds=100), "never resumed"
            self.now += timedelta(seconds=STEP_S)
            self.service.observer.tick()
            self.service.run_until_idle()
        return (self.now - lost_at).total_seconds()


@pytest.fixture
def world() -> StackInCreation:
    return StackInCreation()


def test_lost_message_to_an_engine(world: StackInCreation) -> None:
    world.lose_messages()
    assert 0 < world.seconds_until_complete() <= RECOVERY_LIMIT_S


def test_lost_message_to_an_observer(world: StackInCreation) -> None:
    world.service.handle_next()  # the engine's
    world.lose_messages()
    assert 0 < world.seconds_until_complete() <= RECOVERY_LIMIT_S


def test_engine_killed_with_a_claimed_job(
    world: StackInCreation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(world.service.engine, "_pool", WorkerKillingPool())
        with pytest.raises(WorkerKilled):
            world.service.handle_next()
    world.lose_messages()
    assert 0 < world.seconds_until_complete() <= RECOVERY_LIMIT_S


def test_observer_killed_during_an_observation(world: StackInCreation) -> None:
    """The next observation is postponed, and the result is lost."""
    world.service.handle_next()
    world.lose_messages()
    service, own = world.service, world.service.settings
    world.now += timedelta(seconds=own.repost_after_s)
    until = world.now + timedelta(seconds=own.lease_s)
    assert service.store.sweeps.take_due_observations(world.now, until, own.sweep_limit)
    assert 0 < world.seconds_until_complete() <= RECOVERY_LIMIT_S


def test_queued_job_not_posted_by_a_killed_engine() -> None:
    """The engine that consumed the previous jobs dies before it posts the next one.

    The stack's other job keeps running for a long time.
    """
    world = StackInCreation(("a", "b"))
    world.set_job_state(
        JobState.AWAITING_OBSERVATION, observed=ObservedState.BUSY, observe_at=None
    )
    world.lose_messages()
    with world.service.store.transaction() as tx:
        (b,) = (row.id for row in tx.resources.get_by_stack(world.stack_id) if row.name == "b")
        tx.jobs.apply([b], job_transitions.reschedule(world.now))

    def done() -> bool:
        with world.service.store.transaction() as tx:
            return tx.resources.get([b])[0].job.verb is None

    assert 0 < world.seconds_until(done) <= RECOVERY_LIMIT_S


@pytest.mark.parametrize("state", [JobState.BLOCKED, JobState.QUEUED])
def test_leaf_not_scheduled_by_a_killed_observer(world: StackInCreation, state: JobState) -> None:
    world.set_job_state(state)
    world.lose_messages()
    assert 0 < world.seconds_until_complete() <= RECOVERY_LIMIT_S


def test_timeout_that_passed(world: StackInCreation) -> None:
    """The only resource is never ready, and the observer dies before the timeout."""
    world.set_job_state(
        JobState.AWAITING_OBSERVATION, observed=ObservedState.BUSY, observe_at=None
    )
    world.lose_messages()
    stack = world.service.stack(world.stack_id)
    assert stack.deadline_at is not None
    world.now = stack.deadline_at
    assert 0 < world.seconds_until(lambda: world.status is Status.FAILED) <= RECOVERY_LIMIT_S
    assert world.service.stack(world.stack_id).status_reason == "Timed out"
