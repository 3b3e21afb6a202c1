"""Nested stacks that one message begins: what is sent of each, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heat_convergence.common.errors import Unavailable
from tests.functional.harness import LocalService
from tests.functional.nesting import Conversation, hot, probe
from tests.functional.test_nested_stacks import FILE, files

Json = Any
Sent = list[tuple[str, str, int]]  # topic, stack's id, number of resources
EMPTY = hot({}, parameters={"v": {"type": "string", "default": "d"}})
FULL = hot({"a": probe()}, parameters={"v": {"type": "string", "default": "d"}})


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[Conversation]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield Conversation(service)
    service.close()


@pytest.fixture
def begun(heat: Conversation, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Sent]]:
    """Has the nester refuse the ``nth`` job for good; what was on the bus before each."""

    def patch(nth: int) -> list[Sent]:
        (nester,) = heat.service.nesters
        do, before = nester.do, list[Sent]()

        def watched(job: Any, token: str) -> Any:
            before.append(_sent(heat))
            if len(before) >= nth:
                raise Unavailable("the database is gone")
            return do(job, token)

        monkeypatch.setattr(nester, "do", watched)
        return before

    return patch


def _sent(heat: Conversation) -> Sent:
    return [(topic, stack, len(ids)) for topic, stack, _version, ids in heat.service.bus.waiting]


def _make(heat: Conversation, child: Json) -> str:
    nests = hot({name: {"type": FILE} for name in ("k", "l", "m", "n")})
    made = heat.create("s", nests, files=files(child), hold=True)
    (message,) = heat.service.bus.waiting
    assert len(message[3]) == 4  # one message with all of them
    return made


def test_the_jobs_of_each_are_sent_before_the_next_begins(
    heat: Conversation, begun: Callable[[int], list[Sent]]
) -> None:
    before = begun(100)
    _make(heat, FULL)
    heat.service.step()
    assert [len(sent) for sent in before] == [0, 1, 2, 3]
    after = _sent(heat)
    assert before[3] == after[:3]
    assert {(topic, number) for topic, _stack, number in after} == {("converge", 1)}
    assert len({stack for _topic, stack, _number in after}) == 4


def test_those_that_end_at_once_are_told_of_together(
    heat: Conversation, begun: Callable[[int], list[Sent]]
) -> None:
    before = begun(100)
    stack_id = _make(heat, EMPTY)
    heat.service.step()
    assert before == [[], [], [], []]
    assert _sent(heat) == [("observe", stack_id, 4)]


def test_those_before_one_that_fails_are_told_of(
    heat: Conversation, begun: Callable[[int], list[Sent]]
) -> None:
    """Nobody has to sweep for them."""
    before = begun(3)
    stack_id = _make(heat, EMPTY)
    heat.service.step()
    assert before[0] == []
    assert len(before) > 2
    assert _sent(heat) == [("observe", stack_id, 2)]
