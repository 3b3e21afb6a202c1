"""Nested stacks that one message begins: what is sent of each, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heat_convergence.common.errors import Unavailable
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
    """Has the nester refuse the ``nth`` job for good; what was on the bus before each."""

    def patch(nth: int) -> list[Sent]:
        (nester,) = heat.service.nested_executors
        do, before = nester.execute, list[Sent]()

        def watched(job: Any, token: str) -> Any:
            before.append(_sent(heat))
            if len(before) >= nth:
                raise Unavailable("the database is gone")
            return do(job, token)

        monkeypatch.setattr(nester, "execute", watched)
        return before

    return patch


def _sent(heat: ProjectClient) -> Sent:
    return [(topic, stack, len(ids)) for topic, stack, _version, ids in heat.service.bus.pending]


def _make(heat: ProjectClient, child: Json) -> str:
    nests = hot_template({name: {"type": FILE} for name in ("k", "l", "m", "n")})
    made = heat.create("s", nests, files=files(child), hold=True)
    (message,) = heat.service.bus.pending
    assert len(message[3]) == 4  # one message with all of them
    return made


def test_the_jobs_of_each_stack_are_sent_before_the_next_starts(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    _make(heat, FULL)
    heat.service.handle_next()
    assert [len(sent) for sent in before] == [0, 1, 2, 3]
    after = _sent(heat)
    assert before[3] == after[:3]
    assert {(topic, number) for topic, _stack, number in after} == {("converge", 1)}
    assert len({stack for _topic, stack, _number in after}) == 4


def test_nested_stacks_that_end_at_once_are_reported_together(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    before = started(100)
    stack_id = _make(heat, EMPTY)
    heat.service.handle_next()
    assert before == [[], [], [], []]
    assert _sent(heat) == [("observe", stack_id, 4)]


def test_nested_stacks_before_one_that_fails_are_reported(
    heat: ProjectClient, started: Callable[[int], list[Sent]]
) -> None:
    """Nobody has to sweep for them."""
    before = started(3)
    stack_id = _make(heat, EMPTY)
    heat.service.handle_next()
    assert before[0] == []
    assert len(before) > 2
    assert _sent(heat) == [("observe", stack_id, 2)]
