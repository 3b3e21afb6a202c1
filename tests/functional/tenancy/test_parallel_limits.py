"""Limits on projects and trees of stacks: exact, however many requests and workers add to them.

The jobs of fifty nested stacks run in the threads of several engines, and signals come at once
for many groups, on each database. None may wait for another in a circle.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa
from webob import Request

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.tables import metadata, resource, stack
from heat_convergence.stacks import quotas
from tests.conftest import MARIADB, POSTGRESQL, fresh_database
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
THREADS, STACKS, GROUPS, SIGNALS = 10, 50, 10, 50
CHILD, GRANDCHILD = "file:///t/child.yaml", "file:///t/grandchild.yaml"
NO_LIMIT = -1


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[str], str]]:
    """Yield a function that returns the URL of a database of its own on a server."""
    kept: dict[str, tuple[Iterator[str], str]] = {}

    def url_of(name: str) -> str:
        if name not in kept:
            server = {"MariaDB": MARIADB, "PostgreSQL": POSTGRESQL}[name]
            database = fresh_database(server, name)
            kept[name] = database, next(database)
        return kept[name][1]

    yield url_of
    for database, _url in kept.values():
        next(database, None)


@pytest.fixture(params=["SQLite", "MariaDB", "PostgreSQL"])
def heat(
    request: pytest.FixtureRequest, tmp_path: Any, servers: Callable[[str], str]
) -> Iterator[ProjectClient]:
    sqlite = request.param == "SQLite"
    url = f"sqlite:///{tmp_path}/hc.sqlite" if sqlite else servers(request.param)
    service = LocalService(url, ApiOptions(max_resources_per_stack=NO_LIMIT))
    with service.database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    service.use_settings(batch_size=1, jobs_on_bus=STACKS, jobs_in_flight=STACKS)
    yield ProjectClient(service)
    service.close()


@pytest.fixture(autouse=True)
def no_conflicts(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if a transaction was a victim of a deadlock, even if it was repeated."""
    with caplog.at_level(logging.INFO):
        yield
    assert "transaction retried after a conflict" not in caplog.text


def use_limits(heat: ProjectClient, **limits: int) -> None:
    """Give the engines and later requests limits that the stack's creation had not."""
    service = heat.service
    service.services = replace(
        service.services, options=replace(service.services.options, **limits)
    )
    service.use_settings()  # builds application and daemons anew


def files(**templates: Json) -> dict[str, str]:
    return {name: json.dumps(each) for name, each in templates.items()}


def create_parents(heat: ProjectClient, child: Json, **others: Json) -> str:
    """Create a stack with fifty nested stacks, none of which has started."""
    template = hot_template({f"n{number}": {"type": CHILD} for number in range(STACKS)})
    texts = files(**{CHILD: child, **others})
    return heat.create("s", template, files=texts, hold=True)


def run_jobs_in_parallel(heat: ProjectClient) -> None:
    """Let engines of several workers do all jobs that wait, many at once."""
    service = heat.service
    engines = [service.build_daemons()[0] for _ in range(THREADS)]
    messages = [each for each in service.bus.pending if each.method == "converge"]
    service.bus.pending.clear()

    def converge(number: int) -> None:
        for message in messages[number::THREADS]:
            engines[number].converge([message.hint])

    in_parallel(range(THREADS), converge)


def in_parallel(items: Sequence[Any], work: Callable[[Any], None]) -> None:
    together = Barrier(min(THREADS, len(items)))

    def begin(item: Any) -> None:
        together.wait(30)
        work(item)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(begin, items))


def count_present(heat: ProjectClient) -> int:
    """Return how many resources the stacks of all trees want present."""
    statement = sa.select(sa.func.count()).where(resource.c.desired == DesiredState.PRESENT)
    with heat.service.database.read() as connection:
        return int(connection.scalar(statement) or 0)


def count_nested_stacks(heat: ProjectClient) -> int:
    statement = sa.select(sa.func.count()).where(stack.c.depth > 0)
    with heat.service.database.read() as connection:
        return int(connection.scalar(statement) or 0)


def count_refused(heat: ProjectClient, text: str) -> int:
    """Return how many jobs failed because of a limit."""
    statement = sa.select(sa.func.count()).where(resource.c.status_reason.contains(text))
    with heat.service.database.read() as connection:
        return int(connection.scalar(statement) or 0)


@pytest.mark.parametrize("room", [0, 7])
def test_tree_that_many_workers_let_grow_keeps_its_limit(heat: ProjectClient, room: int) -> None:
    create_parents(heat, hot_template({"a": resource_definition()}))
    use_limits(heat, max_resources_per_stack=STACKS + room)
    run_jobs_in_parallel(heat)
    assert count_present(heat) == STACKS + room
    assert count_nested_stacks(heat) == room
    assert count_refused(heat, "Maximum resources per stack exceeded") == STACKS - room
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    heat.delete("s")
    assert (heat.stack("s"), count_present(heat)) == (None, 0)


def test_nested_stacks_without_resources_need_no_room(heat: ProjectClient) -> None:
    create_parents(heat, hot_template({}))
    use_limits(heat, max_resources_per_stack=STACKS)
    run_jobs_in_parallel(heat)
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"


def test_depth_of_stacks_that_start_together_is_limited(heat: ProjectClient) -> None:
    child = hot_template({"b": {"type": GRANDCHILD}})
    create_parents(heat, child, **{GRANDCHILD: hot_template({"a": resource_definition()})})
    use_limits(heat, max_nested_stack_depth=1)
    run_jobs_in_parallel(heat)
    assert count_nested_stacks(heat) == STACKS
    while any(each.method == "converge" for each in heat.service.bus.pending):
        run_jobs_in_parallel(heat)
    assert count_nested_stacks(heat) == STACKS
    assert count_refused(heat, "Stacks are nested at most 1 deep") == STACKS


def groups_template(extra: int = 0) -> Json:
    """Return scaling groups of one member, each with a policy, and further resources."""
    resources = {f"extra{number}": resource_definition() for number in range(extra)}
    for number in range(GROUPS):
        resources[f"g{number}"] = {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {"resource": resource_definition(), "min_size": 1, "max_size": 5},
        }
        resources[f"up{number}"] = {
            "type": "OS::Heat::ScalingPolicy",
            "properties": {
                "auto_scaling_group_id": {"get_resource": f"g{number}"},
                "adjustment_type": "change_in_capacity",
                "scaling_adjustment": 1,
            },
        }
    return hot_template(resources)


def create_groups(heat: ProjectClient) -> None:
    heat.create("s", groups_template())
    assert heat.status("s") == "CREATE_COMPLETE"


def send_signals(heat: ProjectClient, updates: Sequence[Json] = ()) -> list[int]:
    """Send signals for all groups and updates, all at once; return the statuses of the answers."""
    app, path = build_app(heat.service.services), heat.path("s")
    requests = [
        Request.blank(f"/v1/p{path}/resources/up{number % GROUPS}/signal", method="POST")
        for number in range(SIGNALS)
    ]
    for number, template in enumerate(updates):
        update = Request.blank(f"/v1/p{path}", method="PUT")
        update.json = {"template": template}
        requests.insert(number * len(requests) // len(updates), update)
    statuses: list[int] = []

    def send(first: int) -> None:
        for request in requests[first::THREADS]:
            statuses.append(int(request.get_response(app).status_int))

    in_parallel(range(THREADS), send)
    return statuses


def test_signals_that_come_together_keep_the_limit_of_the_tree(heat: ProjectClient) -> None:
    create_groups(heat)
    room = 4
    size = 3 * GROUPS  # each has a member and a policy
    use_limits(heat, max_resources_per_stack=size + room)
    statuses = send_signals(heat)
    assert count_present(heat) == size + room
    assert set(statuses) == {200, 400}
    heat.service.run_until_idle()
    assert count_present(heat) == size + room


def test_updates_beside_signals_keep_the_limit_of_the_tree(heat: ProjectClient) -> None:
    create_groups(heat)
    limit = 3 * GROUPS + 4
    use_limits(heat, max_resources_per_stack=limit)
    statuses = send_signals(heat, [groups_template(extra) for extra in (1, 2, 3, 4)])
    assert count_present(heat) <= limit
    assert set(statuses) <= {200, 202, 400}
    heat.service.run_until_idle()
    assert count_present(heat) <= limit


def scale_to_limit(heat: ProjectClient) -> int:
    """Let signals scale the groups until the tree is as large as it may be; return the limit."""
    create_groups(heat)
    limit = 3 * GROUPS + 4
    use_limits(heat, max_resources_per_stack=limit)
    send_signals(heat)
    heat.service.run_until_idle()
    assert count_present(heat) == limit
    return limit


def send_update(heat: ProjectClient, key: str, template: Json) -> Any:
    return heat.send("PUT", heat.path(key), {"template": template})


def test_update_counts_what_signals_have_added(heat: ProjectClient) -> None:
    limit = scale_to_limit(heat)
    answer = send_update(heat, "s", groups_template(extra=1))
    assert answer.status_int == 400
    assert f"Maximum resources per stack exceeded: {limit + 1}, {limit}" in answer.text
    assert (heat.status("s"), count_present(heat)) == ("CREATE_COMPLETE", limit)
    assert send_update(heat, "s", groups_template()).status_int == 202


def test_update_of_a_nested_stack_counts_its_tree(heat: ProjectClient) -> None:
    limit = scale_to_limit(heat)
    nested = heat.nested_stack("s", "g0")
    members = {name: resource_definition() for name in "abcdef"}
    answer = send_update(heat, nested["id"], hot_template(members))
    assert answer.status_int == 400
    assert "Maximum resources per stack exceeded" in answer.text
    assert count_present(heat) == limit


def test_restored_snapshot_counts_what_signals_have_added(heat: ProjectClient) -> None:
    heat.create("s", groups_template(extra=4))
    snapshot = heat.send("POST", f"{heat.path('s')}/snapshots", {}).json["id"]
    heat.update("s", groups_template())
    limit = 3 * GROUPS + 4
    use_limits(heat, max_resources_per_stack=limit)
    send_signals(heat)
    heat.service.run_until_idle()
    answer = heat.send("POST", f"{heat.path('s')}/snapshots/{snapshot}/restore")
    assert answer.status_int == 400
    assert count_present(heat) == limit


def test_nested_stacks_that_an_update_removes_do_not_count(heat: ProjectClient) -> None:
    child = hot_template({"b": {"type": GRANDCHILD}})
    grandchild = hot_template({name: resource_definition() for name in "abc"})
    texts = files(**{CHILD: child, GRANDCHILD: grandchild})
    heat.create("s", hot_template({"n": {"type": CHILD}}), files=texts)
    use_limits(heat, max_resources_per_stack=5)
    heat.update("s", hot_template({name: resource_definition() for name in "vwxyz"}))
    assert (heat.status("s"), count_present(heat)) == ("UPDATE_COMPLETE", 5)


def test_requests_that_come_together_keep_the_limit_of_the_project(heat: ProjectClient) -> None:
    limit = 7
    use_limits(heat, max_stacks_per_tenant=limit)
    app = build_app(heat.service.services)
    statuses: list[int] = []

    def create(first: int) -> None:
        for number in range(first, STACKS, THREADS):
            request = Request.blank("/v1/p/stacks", method="POST")
            request.json = {"stack_name": f"s{number}", "template": hot_template({})}
            statuses.append(int(request.get_response(app).status_int))

    in_parallel(range(THREADS), create)
    assert (statuses.count(201), statuses.count(400)) == (limit, STACKS - limit)
    assert len(heat.send("GET", "/stacks", leave_pending=True).json["stacks"]) == limit


def test_limit_that_is_read_outside_its_transaction_is_noticed(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_parents(heat, hot_template({"a": resource_definition()}))
    limit, store = STACKS + 7, heat.service.services.store
    use_limits(heat, max_resources_per_stack=limit)

    def check(_tx: Transaction, parent: Resource, limit: int, growth: int) -> None:
        with store.read() as other:  # it does not see what this transaction has added
            count = other.tree.count_resources(parent.identity.root_id)
        if count > limit:
            raise RequestLimitExceeded("exceeded")

    monkeypatch.setattr(quotas, "check_tree_size", check)
    run_jobs_in_parallel(heat)
    assert count_present(heat) > limit
