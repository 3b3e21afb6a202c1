"""Users under load, and the account of what they must find in the end.

The cloud of files keeps its own account; it must hold exactly what the stacks say, each
thing made once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from heat_convergence.testing import file_cloud
from heat_convergence.testing.daemon_processes import ServiceDeployment, WaitTimeout
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.integration.harness import query_rows, user_for
from tests.integration.workload import Goal, WorkloadUser, expected_values

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_SEED", "4"))
USER_COUNT = 6
PAUSE_S = 0.7  # of a user between two requests


class Injector(Protocol):
    """Injects faults one after the other, then sets ``finished``."""

    finished: threading.Event

    def run(self) -> None: ...


def use_file_cloud(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cloud that daemons started from here share."""
    cloud = folder / "cloud"
    monkeypatch.setenv(file_cloud.FOLDER_VARIABLE, str(cloud))
    plugin = file_cloud.write_entry_point(folder / "plugin")
    monkeypatch.setenv("PYTHONPATH", str(plugin), prepend=os.pathsep)
    return cloud


def run_users(deployment: ServiceDeployment, injector: Injector, url: str) -> list[WorkloadUser]:
    """Return the users after requests during all faults, and after the end of their stacks."""
    users = [
        WorkloadUser(number, Random(SEED * 1000 + number), user_for(deployment))
        for number in range(USER_COUNT)
    ]
    with ThreadPoolExecutor(USER_COUNT + 1) as pool:
        running = [pool.submit(injector.run)]
        running += [pool.submit(run_user, user, injector.finished) for user in users]
        for one in running:
            one.result()
    try:
        wait_until_settled(users)
    except (AssertionError, WaitTimeout) as error:
        raise AssertionError(f"{error}\n{unfinished_rows(url)}") from error
    return users


def run_user(owner: WorkloadUser, over: threading.Event) -> None:
    pause = threading.Event().wait  # also when all is over: what was begun is ended
    while not over.is_set():
        owner.send_request(lambda: pause(0.2))
        over.wait(owner.random.uniform(0, 2 * PAUSE_S))


def wait_until_settled(owners: list[WorkloadUser]) -> None:
    for owner in owners:
        if owner.stack_id is not None:
            owner.user.wait_complete(owner.stack_id)
        for stack_id in owner.deleted_stack_ids:
            owner.user.wait_deleted(stack_id)


def unfinished_rows(url: str) -> str:
    """Return the rows of unfinished stacks, jobs and edges."""
    stacks = query_rows(
        url,
        "SELECT id, name, version, action, status, status_reason, begun_at, deadline_at"
        " FROM stack WHERE status <> 'COMPLETE'",
    )
    jobs = query_rows(
        url,
        "SELECT stack_id, id, name, version, desired, job, job_state, action, status, observed,"
        " status_reason, posted_at, observe_at, lease_expires_at, holds"
        " FROM resource WHERE job IS NOT NULL ORDER BY stack_id, id",
    )
    edges = query_rows(
        url,
        "SELECT resource_id, needed_by, stack_id, version, observed_ready FROM resource_graph"
        " WHERE stack_id IN (SELECT id FROM stack WHERE status <> 'COMPLETE')",
    )
    return "\n".join(str(row) for row in (*stacks, *jobs, *edges))


def assert_account_is_right(owners: list[WorkloadUser], url: str, account: FileCloudAudit) -> None:
    used: dict[str, str] = {}
    for owner in owners:
        if owner.goal is None or owner.stack_id is None:
            continue
        found = owner.user.resources(owner.stack_id)
        assert sorted(found) == sorted(owner.goal)
        used |= {one.physical_resource_id: f"{owner.name} {name}" for name, one in found.items()}
        assert _actual(found, account) == _expected(owner.goal)
    assert account.existing.keys() - used.keys() == set(), "orphaned"
    assert account.duplicated_names() == []
    left = query_rows(url, "SELECT physical_id FROM resource")
    assert sorted(row[0] for row in left) == sorted(used)


Held = dict[str, tuple[str, str] | None]


def _actual(found: dict[str, Any], account: FileCloudAudit) -> Held:
    there = {name: account.existing.get(one.physical_resource_id) for name, one in found.items()}
    return {name: one and (one["value"], one["kind"]) for name, one in there.items()}


def _expected(goal: Goal) -> Held:
    hold = expected_values(goal, lambda text: hashlib.md5(text.encode()).hexdigest())
    return {name: (hold[name], one.replace_key) for name, one in goal.items()}
