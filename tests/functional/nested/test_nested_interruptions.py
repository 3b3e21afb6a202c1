"""Nested stacks that are interrupted: changes, cancels, lost messages and killed engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.common.failures import ConcurrentTransaction
from tests.functional.harness import LocalService
from tests.functional.nested.test_nested_lifecycle import child, files, parent
from tests.functional.project_client import ProjectClient, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions(max_nested_stack_depth=3))
    yield ProjectClient(service)
    service.close()


def slow() -> Json:
    return resource_definition(action_wait_secs={"create": 3000})


def test_parent_is_updated_while_its_child_is_created(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child(b=slow())), hold=True)
    heat.service.handle_pending()
    assert heat.nested_stack("s", "n")["stack_status"] == "CREATE_IN_PROGRESS"
    descendant = heat.nested_stack("s", "n")["id"]
    heat.update("s", parent(v="two"), files=files(child()))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    assert heat.nested_stack("s", "n")["id"] == descendant


def test_parent_is_deleted_while_its_child_is_created(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child(b=slow())), hold=True)
    heat.service.handle_pending()
    descendant = heat.nested_stack("s", "n")["id"]
    heat.delete("s")
    assert (heat.stack("s"), heat.status(descendant)) == (None, "DELETE_COMPLETE")


def test_deadlock_while_a_child_is_read_does_not_fail_it(heat: ProjectClient) -> None:
    refused = [ConcurrentTransaction("deadlock found")]
    store = heat.service.services.store
    original = type(store).transaction

    @contextmanager
    def transaction(self: Any) -> Iterator[Any]:
        with original(self) as tx:
            yield _Refusing(tx, refused)

    heat.create("s", parent(v="one"), files=files(child()), hold=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(store), "transaction", transaction)
        heat.service.run_until_idle()
    assert refused == []
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


class _Refusing:
    """A transaction whose first reads of texts fail."""

    def __init__(self, tx: Any, refused: list[Exception]) -> None:
        self._tx, self._refused = tx, refused

    def __getattr__(self, name: str) -> Any:
        if name == "contents" and self._refused:
            raise self._refused.pop()
        return getattr(self._tx, name)


def _fail_while_child_is_created(heat: ProjectClient) -> str:
    """Let the time end that the siblings of a failed resource have; return the nested stack."""
    template = parent()
    template["resources"]["bad"] = resource_definition(fail=True)
    heat.create("s", template, files=files(child(b=slow())), hold=True)
    heat.service.run_due_work()
    descendant = heat.nested_stack("s", "n")["id"]
    assert heat.status(descendant) == "CREATE_IN_PROGRESS"
    heat.service.clock.advance(heat.service.services.settings.error_wait_s + 1)
    heat.service.observer.tick()
    assert heat.status("s") == "CREATE_FAILED"
    return str(descendant)


def test_failed_parent_stops_its_children(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps = type(heat.service.services.store.sweeps)
    monkeypatch.setattr(sweeps, "find_cancelled_nested_stacks", lambda *_: [])
    descendant = _fail_while_child_is_created(heat)
    assert heat.status(descendant) == "CREATE_IN_PROGRESS"
    heat.service.handle_pending()
    assert heat.status(descendant) == "CREATE_FAILED"
    assert heat.stack(descendant)["stack_status_reason"] == "Stack CREATE cancelled"


def test_sweep_repeats_a_lost_message_to_stop(heat: ProjectClient) -> None:
    descendant = _fail_while_child_is_created(heat)
    heat.service.bus.pending.clear()
    assert heat.status(descendant) == "CREATE_FAILED"


def test_sweep_repeats_a_lost_message_of_completion(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()), hold=True)
    heat.service.handle_pending(drop_observe_for_stack=heat.stack("s")["id"])
    assert heat.nested_stack("s", "n")["stack_status"] == "CREATE_COMPLETE"
    assert heat.status("s") == "CREATE_IN_PROGRESS"
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"


class EngineKilled(BaseException):
    """Raised in place of the signal that kills an engine."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_engine_is_killed_while_it_starts_a_nested_stack(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Between the claim and the stack, or between the stack and the messages."""
    (nester,) = heat.service.nested_executors
    do = nester.execute

    def die(*args: Any) -> Any:
        if when == "after":
            do(*args)
        raise EngineKilled

    heat.create("s", parent(), files=files(child()), hold=True)
    with monkeypatch.context() as patched:
        patched.setattr(nester, "execute", die)
        with pytest.raises(EngineKilled):
            heat.service.handle_pending()
    heat.service.bus.pending.clear()
    for _round in range(3):
        heat.service.clock.advance(20)
        heat.service.observer.tick()
        heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(heat.send("GET", "/stacks?show_nested=True").json["stacks"]) == 2


def test_parent_is_not_polled_while_a_child_is_in_progress(heat: ProjectClient) -> None:
    """No polling: a row that waits for its stack has no time set."""
    heat.create("s", parent(), files=files(child(b=slow())), hold=True)
    heat.service.handle_pending()
    with heat.service.database.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT observed, observe_at FROM resource WHERE name = 'n'"
        ).all()
    assert [tuple(row) for row in found] == [("BUSY", None)]
