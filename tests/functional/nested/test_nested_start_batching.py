"""Nested stacks started by one message, and the messages sent for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.stored_values import is_readable
from heat_convergence.db.tables import goal as goal_table
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
    """Return a function that fails the ``nth`` job; it returns the messages before each."""

    def patch(nth: int) -> list[Sent]:
        (executor,) = heat.service.nested_executors
        execute, before = executor.execute, list[Sent]()

        def record_and_execute(job: Any, token: str) -> Any:
            before.append(_sent(heat))
            if len(before) >= nth:
                raise Unavailable("the database is gone")
            return execute(job, token)

        monkeypatch.setattr(executor, "execute", record_and_execute)
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


def test_jobs_of_a_stack_are_sent_before_the_next_stack_starts(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    _create_stack(heat, FULL)
    heat.service.handle_next()
    assert [len(sent) for sent in before] == [0, 1, 2, 3]
    after = _sent(heat)
    assert before[3] == after[:3]
    assert {(topic, number) for topic, _stack, number in after} == {("converge", 1)}
    assert len({stack for _topic, stack, _number in after}) == 4


def test_stacks_that_complete_immediately_are_reported_together(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    stack_id = _create_stack(heat, EMPTY)
    heat.service.handle_next()
    assert before == [[], [], [], []]
    assert _sent(heat) == [("observe", stack_id, 4)]


def test_stacks_started_before_a_failure_are_reported(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    """No sweep is necessary for them."""
    before = started(3)
    stack_id = _create_stack(heat, EMPTY)
    heat.service.handle_next()
    assert before[0] == []
    assert len(before) > 2
    assert _sent(heat) == [("observe", stack_id, 2)]


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
