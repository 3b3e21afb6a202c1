"""Nodes of both clusters fail one after the other while stacks are made, changed and deleted.

Each fault takes one node away and gives it back; the others go on.  In the end each stack is
where its last accepted request wanted it, the cloud holds exactly what the stacks say, each
thing made once, and all nodes have the same rows.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.clusters.conftest import ClusterDeployment
from tests.clusters.galera import GaleraCluster
from tests.clusters.interruptions import longest_gap_s
from tests.clusters.rabbitmq import RabbitCluster
from tests.integration.chaos import SEED, assert_account_is_right, run_users
from tests.integration.harness import query_rows
from tests.integration.workload import WorkloadUser

FIGURES = os.environ.get("HEAT_CONVERGENCE_TEST_FIGURES")
FAULT_S = 12.0  # how long a node is away
BETWEEN_S = 8.0
COMPARED_TABLES = ("stack", "resource", "resource_graph", "event", "goal", "content")
Fault = Callable[[int], Iterator[None]]


@dataclass(slots=True)
class FaultInjector:
    """Takes one node after the other away, by turns of the kinds of fault."""

    faults: dict[str, Fault]
    random: Random
    finished: threading.Event = field(default_factory=threading.Event)
    spans: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)

    def run(self) -> None:
        try:
            self.finished.wait(BETWEEN_S)
            first = self.random.randrange(3)
            for number, (name, fault) in enumerate(self.faults.items()):
                began = datetime.now(UTC)
                with contextmanager(fault)((first + number) % 3):
                    self.finished.wait(FAULT_S)
                self.finished.wait(BETWEEN_S)
                self.spans[name] = (began, datetime.now(UTC))
        finally:
            self.finished.set()


def _galera_faults(cluster: GaleraCluster) -> dict[str, Fault]:
    def kill(number: int) -> Iterator[None]:
        cluster.nodes[number].kill()
        yield
        cluster.restart(cluster.nodes[number])

    def freeze(number: int) -> Iterator[None]:
        cluster.nodes[number].freeze()
        yield
        cluster.nodes[number].thaw()
        cluster.nodes[number].wait_until_synced()

    def partition(number: int) -> Iterator[None]:
        cluster.nodes[number].isolate(isolated=True)
        yield
        cluster.nodes[number].isolate(isolated=False)
        cluster.nodes[number].wait_until_synced()

    return {"galera kill": kill, "galera stop": freeze, "galera partition": partition}


def _rabbitmq_faults(cluster: RabbitCluster) -> dict[str, Fault]:
    def kill(number: int) -> Iterator[None]:
        cluster.nodes[number].kill()
        yield
        cluster.restart(cluster.nodes[number])

    def freeze(number: int) -> Iterator[None]:
        cluster.nodes[number].freeze()
        yield
        cluster.nodes[number].thaw()

    def partition(number: int) -> Iterator[None]:
        node = cluster.nodes[number]
        node.isolate(cluster.others(node), isolated=True)
        yield
        node.isolate(cluster.others(node), isolated=False)
        node.wait_until_ready()

    return {"rabbitmq kill": kill, "rabbitmq stop": freeze, "rabbitmq partition": partition}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("cluster", ["galera", "rabbitmq"])
def test_nothing_is_lost_doubled_or_stuck(
    cluster: str,
    cloud: Path,
    galera: GaleraCluster,
    rabbitmq: RabbitCluster,
    cluster_deployment: ClusterDeployment,
) -> None:
    deployment = cluster_deployment.start()
    url = cluster_deployment.database_url
    faults = _galera_faults(galera) if cluster == "galera" else _rabbitmq_faults(rabbitmq)
    injector = FaultInjector(faults, Random(SEED))
    users = run_users(deployment, injector, url)
    _write_figures(cluster, deployment, galera, injector, url)
    assert_account_is_right(users, url, FileCloudAudit.of_directory(cloud))
    assert set(injector.spans) == set(faults)
    _assert_events_complete(url, users)
    wait_until(lambda: _nodes_agree(cluster_deployment), "all nodes have the same rows")


def _write_figures(
    cluster: str,
    deployment: ServiceDeployment,
    galera: GaleraCluster,
    injector: FaultInjector,
    url: str,
) -> None:
    """Append a JSON line to the file that HEAT_CONVERGENCE_TEST_FIGURES names."""
    if not FIGURES:
        return
    logs = [daemon.log.read_text(errors="replace") for daemon in deployment.daemons]
    texts = {
        "conflicts": "transaction retried after a conflict",
        "outages": "transaction retried after an outage",
        "messages_not_sent": "message not sent",
        "takeovers": "lease taken over",
        "reposted": "lost jobs posted again",
    }
    status = [node.status() for node in galera.nodes]
    figures = {
        "cluster": cluster,
        "seed": SEED,
        "interruption_s": {
            name: longest_gap_s(url, *span) for name, span in injector.spans.items()
        },
        **{name: sum(log.count(text) for log in logs) for name, text in texts.items()},
        "certification_failures": sum(int(one["wsrep_local_cert_failures"]) for one in status),
        "aborted_by_replication": sum(int(one["wsrep_local_bf_aborts"]) for one in status),
        "events": query_rows(url, "SELECT count(*) FROM event")[0][0],
    }
    with Path(FIGURES).open("a") as file:
        file.write(json.dumps(figures) + "\n")


def _assert_events_complete(url: str, users: list[WorkloadUser]) -> None:
    """Every physical resource that a stack has was created once, and its events say so."""
    doubled = query_rows(
        url,
        "SELECT physical_id, count(*) FROM event WHERE action = 'CREATE' AND status = 'COMPLETE'"
        " AND resource_type = 'Testing::File' GROUP BY physical_id HAVING count(*) > 1",
    )
    assert doubled == []
    silent = query_rows(
        url,
        "SELECT resource.id FROM resource JOIN stack ON stack.id = resource.stack_id"
        " WHERE resource.physical_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM event"
        " WHERE event.physical_id = resource.physical_id AND event.status = 'COMPLETE')",
    )
    assert silent == []
    assert all(user.accepted_requests for user in users)


def _nodes_agree(deployment: ClusterDeployment) -> bool:
    tables = ", ".join(COMPARED_TABLES)
    sums = {
        str(query_rows(deployment.node_url(number), f"CHECKSUM TABLE {tables}"))
        for number in range(3)
    }
    return len(sums) == 1
