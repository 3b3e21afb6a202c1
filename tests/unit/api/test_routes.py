"""The routes table against the facts about the API."""

from __future__ import annotations

import pytest

from heat_convergence.api.policies.rules import list_rules
from heat_convergence.api.routes.table import ROUTES, RouteTable, openapi_path, path_parameters

S = "/stacks/a/0f5a"


@pytest.fixture(scope="module")
def table() -> RouteTable:
    return RouteTable(ROUTES)


@pytest.mark.parametrize(
    ("method", "path", "handler", "arguments"),
    [
        ("GET", "/stacks", "stack_reads.index", {}),
        ("GET", "/stacks/detail", "stack_reads.detail", {}),
        ("POST", "/stacks/preview", "previews.create", {}),
        ("DELETE", "/stacks/a", "stack_lookup.by_name", {"stack_name": "a"}),
        (
            "GET",
            "/stacks/a/files",
            "stack_lookup.by_name_with_subpath",
            {"stack_name": "a", "subpath": "files"},
        ),
        (
            "POST",
            "/stacks/a/actions",
            "stack_lookup.by_name_with_subpath",
            {"stack_name": "a", "subpath": "actions"},
        ),
        ("GET", S, "stack_reads.show", {"stack_name": "a", "stack_id": "0f5a"}),
        (
            "GET",
            "/stacks/a/outputs",
            "stack_reads.show",
            {"stack_name": "a", "stack_id": "outputs"},
        ),
        ("GET", f"{S}/events", "events.index", {"stack_name": "a", "stack_id": "0f5a"}),
        (
            "PUT",
            "/stacks/arn:openstack:heat::p:stacks/a/1/resources",
            "stack_lookup.by_arn",
            {"arn": "arn:openstack:heat::p:stacks/a/1/resources"},
        ),
    ],
)
def test_path_matches_its_handler(
    table: RouteTable, method: str, path: str, handler: str, arguments: dict
) -> None:
    match = table.match(method, path)
    assert match is not None
    assert match.route is not None
    assert (match.route.handler, match.arguments) == (handler, arguments)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "/stacks", ("GET", "POST")),
        ("GET", "/stacks/preview", ("POST",)),
        ("POST", "/stacks/detail", ("GET",)),
        ("POST", "/stacks/a/files", ("GET",)),
        ("POST", f"{S}/outputs/o", ("GET",)),
    ],
)
def test_wrong_method_has_the_allowed_methods(
    table: RouteTable, method: str, path: str, allowed: tuple
) -> None:
    match = table.match(method, path)
    assert match is not None
    assert match.route is None
    assert match.allowed_methods == allowed


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/nothing"), ("GET", "/stacks/"), ("GET", f"{S}/"), ("POST", "/services")],
)
def test_unknown_path_has_no_match(table: RouteTable, method: str, path: str) -> None:
    assert table.match(method, path) is None


def test_every_policy_rule_is_registered() -> None:
    registered = {rule.name for rule in list_rules()}
    assert {route.policy_rule for route in ROUTES if route.policy_rule} <= registered


def test_path_parameters_are_unique() -> None:
    for route in ROUTES:
        names = path_parameters(route.path)
        assert len(set(names)) == len(names)
        assert all(f"{{{name}}}" in openapi_path(route.path) for name in names)
