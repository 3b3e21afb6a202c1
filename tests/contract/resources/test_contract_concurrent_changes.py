"""Transactions that change several stacks at once lock no other stack."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.testing.sample_rows import (
    goal_row,
    resource_row,
    snapshot_row,
    stack_row,
    time_at,
)

RESOURCE_IDS = {"stack-1": "abcdefghijklmnop", "stack-2": "wxyz", "stack-3": "uv"}


def _drop(tx, stacks: list[str]) -> None:
    for stack in stacks:
        tx.graph.clear(stack)
        tx.resources.delete([row.id for row in tx.resources.get_by_stack(stack)])


def _delete_snapshots(tx, stacks: list[str]) -> None:
    for stack in stacks:
        tx.snapshots.delete_by_stack(stack)


@pytest.mark.parametrize(
    "delete",
    [
        pytest.param(lambda tx, stacks: tx.resources.delete_by_stacks(stacks), id="all"),
        pytest.param(lambda tx, stacks: tx.resources.delete_absent(stacks), id="absent resources"),
        pytest.param(_drop, id="the graph, and rows by id"),
        pytest.param(lambda tx, stacks: tx.goals.delete_except(stacks, ()), id="goals"),
        pytest.param(_delete_snapshots, id="snapshots"),
    ],
)
def test_stacks_are_deleted_concurrently(shared, delete):
    _change_concurrently(shared, delete)
    with shared.store.transaction() as tx:
        left = (
            tx.resources.get_by_stack("stack-2"),
            tx.goals.get("goal-stack-2"),
            tx.snapshots.get("stack-2", "saved-stack-2"),
        )
    assert [] in left or None in left


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda tx, stacks: tx.stacks.lock_with_resources(
                {stack: RESOURCE_IDS[stack] for stack in stacks}
            ),
            id="lock with resources",
        ),
        pytest.param(
            lambda tx, stacks: tx.stacks.update_each(
                {stack: {"status_reason": stack} for stack in stacks}
            ),
            id="columns",
        ),
        pytest.param(
            lambda tx, stacks: tx.snapshots.schedule_deletion(stacks, time_at(5)), id="snapshots"
        ),
    ],
)
def test_stacks_are_changed_concurrently(shared, change):
    _change_concurrently(shared, change)


def _change_concurrently(shared, change) -> None:
    """Change two stacks and a third one in two transactions at once.

    However small the tables are, neither reads, and so locks, another stack's rows.
    """
    for stack, ids in RESOURCE_IDS.items():
        absent = {
            "stack_id": stack,
            "desired": DesiredState.ABSENT,
            "job": None,
            "job_state": None,
        }
        if stack != "stack-1":
            shared.stack(stack_row(stack))
        shared.resources(*(resource_row(name, **absent) for name in ids))
        with shared.store.transaction() as tx:
            tx.graph.add_edges(stack, 1, [Edge(one, None) for one in ids])
            tx.goals.insert(goal_row(f"goal-{stack}", stack_id=stack))
            tx.snapshots.insert(snapshot_row(f"saved-{stack}", stack_id=stack))

    def other() -> None:
        with shared.store.transaction() as tx:
            change(tx, ["stack-1"])

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        change(tx, ["stack-2", "stack-3"])
        pool.submit(other).result(timeout=20)
