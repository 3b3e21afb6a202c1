"""Nested stacks started by one message, and the messages sent for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.stored_values import is_readable
from heat_convergence.db.tables import goal as goal_table
from heat_convergence.db.tables import resource as resource_table
from heat_convergence.engine.nested import creations
from heat_convergence.engine.nested.executor import NestedTreeLimits
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.nested.test_nested_lifecycle import FILE, files
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
Sent = list[tuple[str, str, int]]  # topic, stack's id, number of resources
EMPTY = hot_template({}, parameters={"v": {"type": "string", "default": "d"}})
FULL = hot_template(
    {"a": resource_definition()}, parameters={"v": {"type": "string", "default": "d"}}
)


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


@pytest.fixture
def started(heat: ProjectClient, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Sent]]:
    """Return a function that fails the ``nth`` transaction; it returns the messages before each.

    Two stacks share a transaction.
    """
    monkeypatch.setattr(creations, "_MAX_ROWS", 2)

    def patch(nth: int) -> list[Sent]:
        (executor,) = heat.service.nested_executors
        create, before = executor.create_together, list[Sent]()

        def record_and_create(batch: Any, token: str) -> Any:
            before.append(_sent(heat))
            if len(before) >= nth:
                raise Unavailable("the database is gone")
            return create(batch, token)

        monkeypatch.setattr(executor, "create_together", record_and_create)
        return before

    return patch


def _sent(heat: ProjectClient) -> Sent:
    return [(topic, stack, len(ids)) for topic, stack, _version, ids in heat.service.bus.pending]


def _create_stack(heat: ProjectClient, child: Json) -> str:
    template = hot_template({name: {"type": FILE} for name in ("k", "l", "m", "n")})
    stack_id = heat.create("s", template, files=files(child), hold=True)
    (message,) = heat.service.bus.pending
    assert len(message[3]) == 4  # one message with all of them
    return stack_id


def test_jobs_of_stacks_are_sent_before_the_next_stacks_start(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    _create_stack(heat, FULL)
    heat.service.handle_next()
    assert [len(sent) for sent in before] == [0, 2]
    after = _sent(heat)
    assert before[1] == after[:2]
    assert {(topic, number) for topic, _stack, number in after} == {("converge", 1)}
    assert len({stack for _topic, stack, _number in after}) == 4


def test_stacks_that_complete_immediately_are_reported_together(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    stack_id = _create_stack(heat, EMPTY)
    heat.service.handle_next()
    assert before == [[], []]
    assert _sent(heat) == [("observe", stack_id, 4)]


def test_stacks_started_before_a_failure_are_reported(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    """No sweep is necessary for them."""
    before = started(2)
    stack_id = _create_stack(heat, EMPTY)
    heat.service.handle_next()
    assert before[0] == []
    assert len(before) > 1
    assert _sent(heat) == [("observe", stack_id, 2)]


def test_nested_stacks_of_a_message_are_created_with_one_transaction(heat: ProjectClient) -> None:
    _create_stack(heat, FULL)
    with count_statements(heat.service.database.engine) as count:
        heat.service.handle_next()
    assert count.by_statement["INSERT INTO quota_lock"] == 1
    assert count.by_statement["UPDATE resource"] == 2  # the claims, and the outcomes
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"
    nested = heat.send("GET", "/stacks?show_nested=True").json["stacks"]
    assert len([each for each in nested if each["parent"]]) == 4


@pytest.fixture
def batches(heat: ProjectClient, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the names of the resources whose nested stacks share each transaction."""
    (executor,) = heat.service.nested_executors
    create, found = executor.create_together, list[list[str]]()

    def record_and_create(batch: Any, token: str) -> Any:
        found.append(sorted(each.job.row.name for each in batch))
        return create(batch, token)

    monkeypatch.setattr(executor, "create_together", record_and_create)
    return found


def _statuses(heat: ProjectClient) -> dict[str, str]:
    resources = heat.send("GET", f"{heat.path('s')}/resources").json["resources"]
    return {each["resource_name"]: each["resource_status"] for each in resources}


def test_mistake_in_one_nested_stack_leaves_the_others(
    heat: ProjectClient, batches: list[list[str]]
) -> None:
    child = hot_template(
        {"a": resource_definition(value={"get_param": "v"})},
        parameters={"v": {"type": "number", "default": 1}},
    )
    member = {"type": FILE, "properties": {"v": {"get_attr": ["first", "value"]}}}
    template = hot_template(
        {
            "first": {"type": "OS::Heat::Value", "properties": {"value": "no number"}},
            "bad": member,
            "good": {"type": FILE, "depends_on": "first"},
            "other": {"type": FILE, "depends_on": "first"},
        }
    )
    heat.create("s", template, files=files(child), disable_rollback=True)
    assert batches == [["good", "other"]]
    assert _statuses(heat) == {
        "first": "CREATE_COMPLETE",
        "bad": "CREATE_FAILED",
        "good": "CREATE_COMPLETE",
        "other": "CREATE_COMPLETE",
    }


def test_nested_stacks_beyond_the_limit_of_the_tree_fail_alone(
    heat: ProjectClient, batches: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (executor,) = heat.service.nested_executors
    monkeypatch.setattr(executor, "_limits", NestedTreeLimits(max_resources=4 + 2))
    _create_stack(heat, FULL)
    heat.service.run_until_idle()
    assert batches == [["k", "l", "m", "n"]]
    assert sorted(_statuses(heat).values()) == ["CREATE_COMPLETE"] * 2 + ["CREATE_FAILED"] * 2


def test_job_that_the_worker_has_lost_is_left_out(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker has taken it over, and creates its nested stack."""
    (executor,) = heat.service.nested_executors
    create, batches = executor.create_together, []

    def lose_first_and_create(batch: Any, token: str) -> Any:
        batches.append([each.job.row.id for each in batch])
        lost = resource_table.c.id == batches[0][0]
        with heat.service.database.write() as connection:
            connection.execute(resource_table.update().where(lost).values(lease_token="other"))
        return create(batch, token)

    monkeypatch.setattr(executor, "create_together", lose_first_and_create)
    stack_id = _create_stack(heat, FULL)
    heat.service.handle_next()
    assert [len(batch) for batch in batches] == [4]
    with heat.service.services.store.read() as tx:
        rows = tx.resources.get_by_stack(stack_id)
    without = [row.id for row in rows if row.physical.id is None]
    assert without == [batches[0][0]]
    assert len(_sent(heat)) == 3


def test_goal_of_a_parent_is_read_once_for_its_nested_stacks(heat: ProjectClient) -> None:
    _create_stack(heat, FULL)
    with count_statements(heat.service.database.engine) as count:
        heat.service.handle_next()
    assert count.by_statement["SELECT goal.id,"] == 1


def test_repaired_goal_of_a_parent_is_read_again(heat: ProjectClient) -> None:
    stack_id = _create_stack(heat, FULL)
    (executor,) = heat.service.nested_executors
    with heat.service.services.store.read() as tx:
        goal_id = tx.stacks.get(stack_id).goal_id

    def write_parameters(text: str) -> None:
        values = {"parameters": sa.literal(text, sa.Text)}
        with heat.service.database.write() as connection:
            connection.execute(goal_table.update().values(values))

    write_parameters("no JSON")
    assert not is_readable(executor._load_goal(goal_id).parameters)
    write_parameters("{}")
    assert is_readable(executor._load_goal(goal_id).parameters)
