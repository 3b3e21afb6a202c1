"""Every field that refers to an object by id is in a table of ``reference_scope``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.api.openapi_schemas import BODIES, QUERIES
from heat_convergence.api.routes.table import ROUTES
from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources import reference_scope
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.reference_scope import Reach
from heat_convergence.resources.registry import ResourceTypeRegistry
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient

Json = Any
REFERRING_NAME = re.compile(
    r"(^|_)(ids?|uuid|arn|project|tenant|user|username|owner|parent|server|trust|marker|snapshot"
    r"|volume|group_id|identity|credential|confirmed)$"
)
FREE_SECTIONS = ("template", "environment", "files", "metadata")  # of users, evaluated elsewhere


def is_referring(name: str) -> bool:
    return REFERRING_NAME.search(name) is not None


def properties_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every property of a JSON schema, at any depth."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from properties_of(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from properties_of(schema[key])


def keys_of(document: Mapping[str, Json]) -> Iterator[str]:
    """The paths of a stack's document, without names of resources and nested stacks."""
    for key, value in document.items():
        yield key
        if key in ("resources", "in_flight"):
            entries = value.values() if isinstance(value, dict) else value
            for entry in entries:
                nested = "template" in entry
                yield from keys_of(entry) if nested else [f"{key}.*.{k}" for k in entry]
                data = entry.get("resource_data") or {}
                yield from (f"{key}.*.resource_data.{name}" for name in data)


def test_the_check_finds_a_field_that_is_in_no_table() -> None:
    planted = {"properties": {"inner": {"items": {"properties": {"trust_id": {}, "name": {}}}}}}
    assert [name for name in properties_of(planted) if is_referring(name)] == ["trust_id"]


@pytest.mark.parametrize("schema", sorted(BODIES))
def test_ids_in_bodies_are_resolved(schema: str) -> None:
    found = {name for name in properties_of(BODIES[schema]) if is_referring(name)}
    assert found == set(reference_scope.BODIES.get(schema, {}))


@pytest.mark.parametrize("schema", sorted(QUERIES))
def test_ids_in_queries_select_among_visible_objects(schema: str) -> None:
    found = {name for name in QUERIES[schema] if is_referring(name)}
    listed = reference_scope.QUERIES.get(schema, {})
    assert found == set(listed)
    assert set(listed.values()) <= {Reach.SELECTION, Reach.PROJECT}


def test_ids_in_paths_are_resolved() -> None:
    placeholders = {name for route in ROUTES for name in re.findall(r"\{(\w+)", route.path)}
    found = {name for name in placeholders if is_referring(name)}
    assert found <= set(reference_scope.PATHS)
    assert set(reference_scope.PATHS) - {"tenant_id"} <= placeholders


class UserType(LocalType):
    """A resource type whose data are those of a user that signals it."""

    name = "Test::User"
    schema = TypeSchema()

    def create(self, view: ResourceContext) -> VerbResult:
        data = {"user_id": "u", "project_id": "users", "password": "p", "access": "a"}
        return VerbResult(ObservedState.READY, physical_id="u", data=data)


def test_ids_in_documents_are_resolved(tmp_path: Path) -> None:
    service = LocalService(
        f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions(enable_stack_abandon=True), (UserType(),)
    )
    heat = ProjectClient(service)
    version = {"heat_template_version": "2018-08-31"}
    resources = {"user": {"type": "Test::User"}, "child": {"type": "child.yaml"}}
    child = 'heat_template_version: "2018-08-31"\nresources: {u: {type: "Test::User"}}'
    heat.create("s", {**version, "resources": resources}, files={"child.yaml": child})
    document = heat.send("GET", f"{heat.path('s')}/export").json
    service.close()
    found = {key for key in keys_of(document) if is_referring(key.rpartition(".")[2])}
    assert "resources.*.resource_data.user_id" in found
    assert found <= set(reference_scope.DOCUMENT)


REGISTRY = ResourceTypeRegistry.load()


def test_properties_by_which_the_service_finds_objects_are_listed() -> None:
    listed = set(reference_scope.PROPERTIES)
    types_of = {key.rpartition(".")[0] for key in listed}
    for resource_type in REGISTRY:
        if type(resource_type).scaled_group_id is not ResourceType.scaled_group_id:
            assert resource_type.name in types_of
        if resource_type.server_property is not None:
            assert f"{resource_type.name}.{resource_type.server_property}" in listed


@pytest.mark.parametrize("key", sorted(reference_scope.PROPERTIES))
def test_listed_properties_exist(key: str) -> None:
    type_name, _, name = key.rpartition(".")
    resource_type = REGISTRY.find(type_name)
    assert resource_type is not None
    assert name in resource_type.schema.properties
