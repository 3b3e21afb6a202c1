"""Snapshots of volumes and servers on the emulated cloud, each created once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.openstack_types.driver_bench import DriverBench, server

CASES = (
    ("OS::Cinder::Volume", "cinder.backup", "POST", "/backups$", "backup_id"),
    ("OS::Nova::Server", "glance.image", "POST", "/action$", "snapshot_image_id"),
)
pytestmark = pytest.mark.parametrize(("type_name", "entity", "method", "path", "key"), CASES)


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


def ready_context(bench: DriverBench, type_name: str) -> ResourceContext:
    """Return a resource that is ready for the snapshot of its stack's third version."""
    volume = type_name == "OS::Cinder::Volume"
    context = bench.create(bench.context(type_name, {"size": 1}) if volume else server(bench))
    bench.emulation.advance(10.0)
    return replace(
        context, action=Action.SNAPSHOT, resource_snapshot_name=f"{context.physical_name}-3"
    )


def take_snapshot(resource_type: ResourceType, context: ResourceContext) -> VerbResult:
    result = resource_type.snapshot(context)
    assert result is not None
    return result


def data_of(result: VerbResult) -> Mapping[str, Any]:
    assert result.data is not None
    return result.data


def service_snapshots(bench: DriverBench, entity: str) -> list[dict[str, Any]]:
    bodies = bench.emulation.collection(entity).bodies()
    return [body for body in bodies if not body["name"].startswith("cirros")]


def test_service_snapshot_of_lost_response_is_found(
    bench: DriverBench, type_name: str, entity: str, method: str, path: str, key: str
) -> None:
    resource_type, context = bench.registry.get(type_name), ready_context(bench, type_name)
    bench.emulation.inject_failure(method, path, 502, after_processing=True)
    with pytest.raises(TemporaryFailure):
        take_snapshot(resource_type, context)
    assert len(service_snapshots(bench, entity)) == 1
    result = take_snapshot(resource_type, context)
    assert result.observed is ObservedState.BUSY
    assert data_of(result)[key] == service_snapshots(bench, entity)[0]["id"]
    bench.emulation.advance(10.0)
    assert (
        resource_type.observe(replace(context, data=data_of(result))).observed
        is ObservedState.READY
    )
    assert len(service_snapshots(bench, entity)) == 1


def test_second_snapshot_creates_another_service_snapshot(
    bench: DriverBench, type_name: str, entity: str, method: str, path: str, key: str
) -> None:
    resource_type, context = bench.registry.get(type_name), ready_context(bench, type_name)
    first = take_snapshot(resource_type, context)
    bench.emulation.advance(10.0)
    later = replace(
        context, data=data_of(first), resource_snapshot_name=f"{context.physical_name}-7"
    )
    second = take_snapshot(resource_type, later)
    assert len({data_of(first)[key], data_of(second)[key]}) == 2
    resource_type.delete_snapshot(replace(later, data=data_of(second)))
    bench.emulation.advance(10.0)
    assert [body["id"] for body in service_snapshots(bench, entity)] == [data_of(first)[key]]


def test_unrecorded_service_snapshot_is_deleted_by_name(
    bench: DriverBench, type_name: str, entity: str, method: str, path: str, key: str
) -> None:
    resource_type, context = bench.registry.get(type_name), ready_context(bench, type_name)
    take_snapshot(resource_type, context)
    bench.emulation.advance(10.0)
    resource_type.delete_snapshot(
        replace(context, data={}, resource_snapshot_name=f"{context.physical_name}-4")
    )
    resource_type.delete_snapshot(replace(context, data={}, resource_snapshot_name=""))
    assert len(service_snapshots(bench, entity)) == 1
    resource_type.delete_snapshot(replace(context, data={}))
    bench.emulation.advance(10.0)
    assert service_snapshots(bench, entity) == []


def test_resource_without_content_is_not_saved_before_delete(
    bench: DriverBench, type_name: str, entity: str, method: str, path: str, key: str
) -> None:
    resource_type, context = bench.registry.get(type_name), ready_context(bench, type_name)
    assert resource_type.allows_snapshot_on_delete
    entity_of_resource = "cinder.volume" if entity == "cinder.backup" else "nova.server"
    body = bench.emulation.get_existing(entity_of_resource, str(context.physical_id)).body
    deleting = replace(context, action=Action.DELETE)
    before, body["status"] = body["status"], "error" if entity == "cinder.backup" else "ERROR"
    assert take_snapshot(resource_type, deleting).observed is ObservedState.READY
    assert service_snapshots(bench, entity) == []
    body["status"] = before
    assert take_snapshot(resource_type, deleting).observed is ObservedState.BUSY
    bench.emulation.advance(10.0)
    body["status"] = "deleting"
    assert take_snapshot(resource_type, deleting).observed is ObservedState.READY
    assert len(service_snapshots(bench, entity)) == 1
