"""The OpenAPI document: complete, and with unambiguous paths."""

from __future__ import annotations

import re

import pytest

from heat_convergence.api.openapi import build_openapi_document
from heat_convergence.api.openapi_schemas import BODIES, QUERIES, RESPONSES
from heat_convergence.api.routes.table import ROUTES

DOCUMENT = build_openapi_document(ROUTES)
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_no_two_paths_have_the_same_shape() -> None:
    shapes = [re.sub(r"\{\w+\}", "{}", path) for path in DOCUMENT["paths"]]
    assert len(set(shapes)) == len(shapes)


def test_operation_ids_are_unique() -> None:
    names = [operation["operationId"] for _path, _method, operation in OPERATIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}".replace(":", ""))
def test_schemas_of_routes_exist(route) -> None:
    assert route.query_schema == "" or route.query_schema in QUERIES
    assert route.body_schema == "" or route.body_schema in BODIES
    assert route.response_schema in {"text", "empty", *RESPONSES}


def test_described_path_parameters_match_the_path() -> None:
    for path, _method, operation in OPERATIONS:
        reported = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert reported == set(re.findall(r"\{(\w+)\}", path))


def test_alternative_subpaths_are_separate_paths() -> None:
    assert "get" in DOCUMENT["paths"]["/v1/{tenant_id}/stacks/{stack_name}/environment"]
    assert "post" not in DOCUMENT["paths"]["/v1/{tenant_id}/stacks/{stack_name}/environment"]


def test_tags_are_nouns_of_the_orchestration_api() -> None:
    assert {tag for _path, _method, operation in OPERATIONS for tag in operation["tags"]} == {
        "build_info", "drift", "events", "inventory", "outputs", "overview", "plans", "quarantine",
        "resource_types", "resources", "snapshots", "software_configs",
        "software_deployments", "stacks",
        "templates",
    }  # fmt: skip
