"""Due work: whatever one of the searches of a sweep would find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.testing.sample_rows import (
    quarantine_entry,
    resource_row,
    snapshot_row,
    stack_row,
    time_at,
)

NOW, LATE, LONG_AGO, MUCH_LATER = time_at(10), time_at(5), time_at(1), time_at(99)


def lost_job(tx: Transaction) -> None:
    _add_resource(tx, job_state=JobState.POSTED, posted_at=LONG_AGO)


def overdue_stack(tx: Transaction) -> None:
    tx.stacks.update("one", status=Status.IN_PROGRESS, deadline_at=NOW)


def stack_without_a_job(tx: Transaction) -> None:
    tx.stacks.update("one", status=Status.IN_PROGRESS, started_at=LONG_AGO)


def cancelled_nested_stack(tx: Transaction) -> None:
    cancelled = {"job_state": JobState.CANCELLED, "observed": ObservedState.BUSY}
    _add_resource(tx, physical_id="two", **cancelled)
    times = {"started_at": MUCH_LATER, "deadline_at": MUCH_LATER}
    tx.stacks.insert(stack_row("two", owner_id="one", owner_resource_id="a", **times))


def job_that_waits_for_the_bus(tx: Transaction) -> None:
    tx.stacks.update("one", status=Status.IN_PROGRESS)
    _add_resource(tx, job_state=JobState.SCHEDULABLE, posted_at=LONG_AGO, project_id="project-1")


def snapshot_to_delete(tx: Transaction) -> None:
    tx.snapshots.insert(snapshot_row(stack_id="one", delete_at=NOW))


def quarantined_resource(tx: Transaction) -> None:
    tx.quarantine.add([quarantine_entry(stack_id="one", root_id="one", next_at=NOW)])


@pytest.mark.parametrize(
    "add_due",
    [
        lost_job,
        overdue_stack,
        stack_without_a_job,
        cancelled_nested_stack,
        job_that_waits_for_the_bus,
        snapshot_to_delete,
        quarantined_resource,
    ],
)
def test_what_a_search_finds_is_due(store: Store, add_due: Callable[[Transaction], None]) -> None:
    _insert_stack(store, status=Status.COMPLETE, started_at=MUCH_LATER)
    assert not store.sweeps.is_anything_due(NOW, LATE)
    with store.transaction() as tx:
        add_due(tx)
    assert store.sweeps.is_anything_due(NOW, LATE)


def test_work_under_way_is_not_due(store: Store) -> None:
    _insert_stack(store, status=Status.IN_PROGRESS, started_at=LONG_AGO)
    leased = {"lease_owner": "engine", "lease_token": "t", "lease_expires_at": MUCH_LATER}
    with store.transaction() as tx:
        _add_resource(tx, job_state=JobState.RUNNING, posted_at=LONG_AGO, **leased)
        tx.snapshots.insert(snapshot_row(stack_id="one", delete_at=MUCH_LATER))
        tx.quarantine.add(
            [
                quarantine_entry("taken", next_at=LONG_AGO, taken_until=MUCH_LATER),
                quarantine_entry("later", next_at=MUCH_LATER),
            ]
        )
    assert not store.sweeps.is_anything_due(NOW, LATE)


def _insert_stack(store: Store, **columns: Any) -> None:
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", deadline_at=MUCH_LATER, **columns))
        tx.resources.insert([resource_row("b", stack_id="one", job=None, job_state=None)])


def _add_resource(tx: Transaction, **columns: Any) -> None:
    tx.resources.insert([resource_row("a", stack_id="one", **columns)])
