"""Quotas of projects and trees: exact, however many transactions add to them at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import software
from heat_convergence.db.statements.quota_locks import lock_quotas
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.stacks import quotas
from heat_convergence.stacks.services import StackOptions
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

LIMIT, REQUESTS, THREADS = 7, 50, 10
PROJECT = stack_row().project_id


def run_parallel(work: Callable[[int], None]) -> tuple[int, int]:
    """Run the work of all requests; return how many were accepted and refused.

    Any other error, such as a deadlock, is raised.
    """
    together = Barrier(THREADS)

    def attempt(number: int) -> bool:
        if number < THREADS:
            together.wait(30)
        try:
            work(number)
        except RequestLimitExceeded:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        accepted = list(pool.map(attempt, range(REQUESTS)))
    return accepted.count(True), accepted.count(False)


def test_project_has_no_more_stacks_than_its_limit(store: Store) -> None:
    options = StackOptions(max_stacks_per_tenant=LIMIT)

    def create(number: int) -> None:
        with store.transaction() as tx:
            tx.stacks.insert(stack_row(f"stack-{number}", name=f"s{number}"))
            quotas.check_stack_count(tx, PROJECT, options, unlimited=False)

    assert run_parallel(create) == (LIMIT, REQUESTS - LIMIT)
    with store.transaction() as tx:
        assert tx.stacks.count_roots(PROJECT) == LIMIT


def test_nested_deleted_and_foreign_stacks_do_not_count(store: Store) -> None:
    with store.transaction() as tx:
        for stack in (
            stack_row("root"),
            stack_row("nested", owner_id="root", root_id="root"),
            stack_row("deleted", name="deleted", deleted_at=time_at(1)),
            stack_row("foreign", name="foreign", project_id="another"),
        ):
            tx.stacks.insert(stack)
        assert tx.stacks.count_roots(PROJECT) == 1


@pytest.mark.parametrize(("limit", "unlimited"), [(-1, False), (0, True)])
def test_quota_that_is_waived_is_not_checked(store: Store, limit: int, unlimited: bool) -> None:
    options = StackOptions(max_stacks_per_tenant=limit)
    with store.transaction() as tx:
        tx.stacks.insert(stack_row())
        quotas.check_stack_count(tx, PROJECT, options, unlimited=unlimited)


def add_resource(tx: Transaction, name: str) -> None:
    tx.resources.insert([resource_row(name, root_id="stack-1")])


def test_tree_has_no_more_resources_than_its_limit(store: Store) -> None:
    parent = resource_row("parent", root_id="stack-1")
    with store.transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([parent])

    def grow(number: int) -> None:
        with store.transaction() as tx:
            add_resource(tx, f"r{number}")
            quotas.check_tree_size(tx, parent, LIMIT, growth=1)

    assert run_parallel(grow) == (LIMIT - 1, REQUESTS - LIMIT + 1)
    with store.transaction() as tx:
        assert tx.tree.count_resources("stack-1") == LIMIT


@pytest.mark.parametrize("growth", [0, -1])
def test_tree_that_does_not_grow_may_exceed_a_lowered_limit(store: Store, growth: int) -> None:
    parent = resource_row("parent", root_id="stack-1")
    with store.transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([parent])
        quotas.check_tree_size(tx, parent, limit=0, growth=growth)
        with pytest.raises(RequestLimitExceeded, match="1, 0 are allowed"):
            quotas.check_tree_size(tx, parent, limit=0, growth=1)


def test_project_has_no_more_software_configs_than_its_limit(database: Database) -> None:
    def create(number: int) -> None:
        row = SoftwareConfigRow(
            id=f"config-{number}",
            project_id=PROJECT,
            name="c",
            group="script",
            body={},
            created_at=time_at(0),
        )
        with database.write() as connection:
            lock_quotas(connection, PROJECT)
            count = software.count_configs(connection, PROJECT)
            quotas.check_software_quota(count, LIMIT, "software configs", unlimited=False)
            software.insert_config(connection, row)

    assert run_parallel(create) == (LIMIT, REQUESTS - LIMIT)
