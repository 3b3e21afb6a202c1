"""Stale messages are dropped with a log line and change nothing.

They name a deleted stack or resource, a finished job or an old traversal.  Malformed messages
are rejected earlier: see ``tests/functional/messaging/test_rpc.py``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore


@dataclass
class UpdatedStack:
    """A stack whose second traversal is complete, and its resource."""

    service: InProcessService
    store: MemoryStore
    stack_id: str
    row_id: str


@pytest.fixture
def done() -> UpdatedStack:
    store = MemoryStore()
    service = InProcessService(store, ResourceTypeRegistry.from_types(TestResource()))
    stack_id = service.create(_definitions("one"), name="red")
    service.run_until_idle()
    service.update(stack_id, _definitions("two"))
    service.run_until_idle()
    assert service.stack(stack_id).version == 2
    (row_id,) = store.tables.resources
    return UpdatedStack(service, store, stack_id, row_id)


def _definitions(value: str) -> dict[str, ResourceDefinition]:
    return {"a": ResourceDefinition(name="a", type=TestResource.name, properties={"value": value})}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_replayed_job(done, version, caplog) -> None:
    before = done.store.tables.copy()
    twice = ResourceHint(done.stack_id, version, (done.row_id, done.row_id))
    with caplog.at_level(logging.DEBUG):
        done.service.engine.converge([twice])
    assert done.store.tables == before
    assert not done.service.bus.pending
    assert f"stack={done.stack_id} version={version}" in caplog.text


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_replayed_observation(done, version) -> None:
    before = done.store.tables.copy()
    hint = ResourceHint(done.stack_id, version, (done.row_id, "nobody"))
    done.service.observer.observe([hint])
    assert done.store.tables == before
    assert not done.service.bus.pending


def test_job_of_a_missing_resource(done, caplog) -> None:
    before = done.store.tables.copy()
    with caplog.at_level(logging.DEBUG):
        done.service.engine.converge([ResourceHint(done.stack_id, 2, ("nobody",))])
    assert done.store.tables == before
    assert "message ignored" in caplog.text


def test_missing_stack(done, caplog) -> None:
    before = done.store.tables.copy()
    with caplog.at_level(logging.DEBUG):
        done.service.engine.converge([ResourceHint("nothing", 1, (done.row_id,))])
        done.service.observer.observe([ResourceHint("nothing", 1, (done.row_id,))])
    assert done.store.tables == before
    assert caplog.text.count("its stack is deleted: stack=nothing") == 2


def test_deleted_stack(done, caplog) -> None:
    done.service.delete(done.stack_id)
    done.service.run_until_idle()
    before = done.store.tables.copy()
    with caplog.at_level(logging.DEBUG):
        done.service.engine.converge([ResourceHint(done.stack_id, 3, (done.row_id,))])
        done.service.observer.observe([ResourceHint(done.stack_id, 3, (done.row_id,))])
    assert done.store.tables == before
    assert caplog.text.count("message ignored") == 2
