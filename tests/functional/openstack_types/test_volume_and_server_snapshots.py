"""What volumes and servers save, each copy once: on the emulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceContext
from tests.functional.openstack_types.test_openstack_driver import DriverBench, server

CASES = (
    ("OS::Cinder::Volume", "cinder.backup", "POST", "/backups$", "backup_id"),
    ("OS::Nova::Server", "glance.image", "POST", "/action$", "snapshot_image_id"),
)
pytestmark = pytest.mark.parametrize(("type_name", "noun", "method", "path", "key"), CASES)


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


def up(bench: DriverBench, type_name: str) -> ResourceContext:
    """One that is up, about to be saved for the third version of its stack."""
    volume = type_name == "OS::Cinder::Volume"
    view = bench.create(bench.view(type_name, {"size": 1}) if volume else server(bench))
    bench.emulation.advance(10.0)
    return replace(view, action=Action.SNAPSHOT, resource_snapshot_name=f"{view.physical_name}-3")


def saved(bench: DriverBench, noun: str) -> list[dict[str, Any]]:
    bodies = bench.emulation.collection(noun).bodies()
    return [body for body in bodies if not body["name"].startswith("cirros")]


def test_a_copy_whose_answer_was_lost_is_found(bench, type_name, noun, method, path, key):
    kind, view = bench.registry.get(type_name), up(bench, type_name)
    bench.emulation.inject_failure(method, path, 502, after_processing=True)
    with pytest.raises(errors.TemporaryFailure):
        kind.snapshot(view)
    assert len(saved(bench, noun)) == 1
    look = kind.snapshot(view)
    assert look.observed is ObservedState.BUSY
    assert look.data[key] == saved(bench, noun)[0]["id"]
    bench.emulation.advance(10.0)
    assert kind.observe(replace(view, data=look.data)).observed is ObservedState.READY
    assert len(saved(bench, noun)) == 1


def test_a_second_snapshot_is_another_copy(bench, type_name, noun, method, path, key):
    kind, view = bench.registry.get(type_name), up(bench, type_name)
    first = kind.snapshot(view)
    bench.emulation.advance(10.0)
    later = replace(view, data=first.data, resource_snapshot_name=f"{view.physical_name}-7")
    second = kind.snapshot(later)
    assert len({first.data[key], second.data[key]}) == 2
    kind.delete_snapshot(replace(later, data=second.data))
    bench.emulation.advance(10.0)
    assert [body["id"] for body in saved(bench, noun)] == [first.data[key]]


def test_what_nobody_has_seen_is_deleted_by_name(bench, type_name, noun, method, path, key):
    kind, view = bench.registry.get(type_name), up(bench, type_name)
    kind.snapshot(view)
    bench.emulation.advance(10.0)
    kind.delete_snapshot(replace(view, data={}, resource_snapshot_name=f"{view.physical_name}-4"))
    kind.delete_snapshot(replace(view, data={}, resource_snapshot_name=""))
    assert len(saved(bench, noun)) == 1
    kind.delete_snapshot(replace(view, data={}))
    bench.emulation.advance(10.0)
    assert saved(bench, noun) == []


def test_only_what_is_whole_is_saved_before_a_delete(bench, type_name, noun, method, path, key):
    kind, view = bench.registry.get(type_name), up(bench, type_name)
    assert kind.allows_snapshot_on_delete
    thing = "cinder.volume" if noun == "cinder.backup" else "nova.server"
    body = bench.emulation.get_existing(thing, view.physical_id).body
    dying = replace(view, action=Action.DELETE)
    before, body["status"] = body["status"], "error" if noun == "cinder.backup" else "ERROR"
    assert kind.snapshot(dying).observed is ObservedState.READY
    assert saved(bench, noun) == []
    body["status"] = before
    assert kind.snapshot(dying).observed is ObservedState.BUSY
    bench.emulation.advance(10.0)
    body["status"] = "deleting"
    assert kind.snapshot(dying).observed is ObservedState.READY
    assert len(saved(bench, noun)) == 1
