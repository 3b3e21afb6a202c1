"""Substitutes for row locks between the nodes of a Galera cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from heatclient.exc import HTTPBadRequest

from heat_convergence.common.failures import ConcurrentTransaction
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.testing.sample_rows import stack_row
from tests.clusters.conftest import ClusterDeployment
from tests.clusters.galera import GaleraCluster
from tests.integration.harness import HeatUser, query_rows, slow_template

LIMIT, REQUESTS = 9, 30


@pytest.fixture
def stores(galera: GaleraCluster) -> Iterator[list[SqlStore]]:
    """The same database on each node."""
    galera.nodes[0].query("DROP DATABASE IF EXISTS locks")
    galera.nodes[0].query("CREATE DATABASE locks CHARACTER SET utf8mb4")
    databases: list[Database] = [
        database_from_url(f"mysql+pymysql://root@127.0.0.1:{node.port}/locks")
        for node in galera.nodes
    ]
    metadata.create_all(databases[0].engine)
    galera.wait_until_applied()
    yield [SqlStore(database) for database in databases]
    for database in databases:
        database.close()


def test_stack_lock_of_one_node_aborts_a_transaction_on_another(stores: list[SqlStore]) -> None:
    """Each only reads the row that it has locked, and changes another one."""
    with stores[0].transaction() as tx:
        tx.stacks.insert(stack_row("stack-1"))
        tx.stacks.insert(stack_row("stack-2", name="two"))
        tx.stacks.insert(stack_row("stack-3", name="three"))

    def change_under_lock() -> None:
        with stores[0].transaction() as first:
            assert first.stacks.lock("stack-1") is not None
            first.stacks.update("stack-2", status_reason="first")
            with stores[1].transaction() as second:
                assert second.stacks.lock("stack-1") is not None
                second.stacks.update("stack-3", status_reason="second")

    with pytest.raises(ConcurrentTransaction):
        change_under_lock()
    with stores[2].transaction() as tx:
        assert tx.stacks.get("stack-2").status_reason != "first"
        assert tx.stacks.get("stack-3").status_reason == "second"


def test_transaction_reads_the_commits_of_other_nodes(stores: list[SqlStore]) -> None:
    with stores[0].transaction() as tx:
        tx.stacks.insert(stack_row("stack-1"))
    for number in range(200):
        writer, reader = stores[number % 3], stores[(number + 1) % 3]
        with writer.transaction() as tx:
            tx.stacks.update("stack-1", status_reason=str(number))
        with reader.transaction() as tx:
            assert tx.stacks.get("stack-1").status_reason == str(number)


def test_no_lock_is_lost_under_contention(stores: list[SqlStore]) -> None:
    """Transactions on all nodes count under the stack's lock."""
    with stores[0].transaction() as tx:
        tx.stacks.insert(stack_row("stack-1", depth=0))

    def count(number: int) -> None:
        def attempt() -> None:
            with stores[number % 3].transaction() as tx:
                stack = tx.stacks.lock("stack-1")
                tx.stacks.update("stack-1", depth=stack.depth + 1)

        retry_transaction(attempt, wait=Event().wait)

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(count, range(90)))
    with stores[1].transaction() as tx:
        assert tx.stacks.get("stack-1").depth == 90


def test_quotas_are_exact_over_three_nodes(cluster_deployment: ClusterDeployment) -> None:
    cluster_deployment.service.reconfigure({"DEFAULT": {"max_stacks_per_tenant": LIMIT}})
    cluster_deployment.start(apis=3)
    users = [HeatUser(cluster_deployment.api_endpoint(number)) for number in range(3)]

    def create(number: int) -> bool:
        try:
            users[number % 3].create(f"stack-{number}", slow_template(4, 0))
        except HTTPBadRequest:
            return False
        return True

    with ThreadPoolExecutor(REQUESTS) as pool:
        accepted = list(pool.map(create, range(REQUESTS)))
    assert accepted.count(True) == LIMIT
    roots = "SELECT count(*) FROM stack WHERE owner_id IS NULL"
    assert query_rows(cluster_deployment.database_url, roots) == [(LIMIT,)]
