"""Queries with values of another tenant: the answer is that to a value which nobody has.

The fields are those of the tables in ``reference_scope``; a new one needs its value here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from keystonemiddleware.auth_token import AuthProtocol

from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES
from heat_convergence.resources.reference_scope import QUERIES
from tests.functional.tenancy.access_matrix import Matrix, MatrixRow
from tests.functional.tenancy.two_tenants import TwoTenants, token_document

MISSING = "00000000-0000-0000-0000-000000000000"
FIELDS = [
    (route, field) for route in ROUTES for field in sorted(QUERIES.get(route.query_schema, ()))
]
# The name among a tenant's objects, or the value itself.
NAME_OF_MARKER = {"stacks": "stack_id", "events": "event_id", "stack_events": "event_id",
                  "software_configs": "config_id", "drift": "resource_id",
                  "quarantine": "quarantined_id"}  # fmt: skip
NAME_OF_FIELD = {"owner_id": "stack_id", "parent": "stack_id", "server_id": "server_id",
                 "physical_resource_id": "server_id"}  # fmt: skip
VALUES = {"tenant": "q", "username": "user-q", "stack_owner": "user-q",
          "stack_user_project_id": "users-q"}  # fmt: skip
REFUSED = "global_tenant"  # for all projects: policy decides


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuthProtocol, "fetch_token", lambda _self, text, **_kw: token_document(text))
        tenants = TwoTenants(tmp_path_factory.mktemp("queries"))
        yield Matrix(tenants)
        tenants.close()


def foreign_value(route: Route, field: str, foreign: Mapping[str, str]) -> str:
    if field == "marker":
        return foreign[NAME_OF_MARKER[route.query_schema]]
    if field == "id":
        return foreign["server_id" if route.query_schema == "resources" else "stack_id"]
    return VALUES.get(field) or foreign[NAME_OF_FIELD[field]]


@pytest.mark.parametrize(
    ("route", "field"),
    [pair for pair in FIELDS if pair[1] != REFUSED],
    ids=lambda part: part if isinstance(part, str) else part.path,
)
@pytest.mark.parametrize("caller", ["reader", "admin"])
def test_foreign_value_selects_nothing(
    matrix: Matrix, route: Route, field: str, caller: str
) -> None:
    tenants, row = matrix.tenants, MatrixRow(route, "own")
    path, _body = matrix.request_of(row, matrix.names_of(row))
    value = foreign_value(route, field, tenants.objects["q"]["own"])
    responses = [
        tenants.send(tenants.callers[caller], "GET", f"{path}?{field}={each}", None)
        for each in (value, MISSING)
    ]
    assert {response.status_int for response in responses} == {200}
    foreign, missing = (response.text for response in responses)
    assert foreign.replace(value, MISSING) == missing


@pytest.mark.parametrize("route", [route for route, field in FIELDS if field == REFUSED],
                         ids=lambda route: route.path)  # fmt: skip
@pytest.mark.parametrize("caller", ["reader", "admin", "admin_q", "service"])
def test_all_projects_are_refused_by_default(matrix: Matrix, route: Route, caller: str) -> None:
    caller_of = matrix.tenants.callers[caller]
    response = matrix.tenants.send(caller_of, "GET", f"{route.path}?{REFUSED}=true", None)
    assert response.status_int == 403


def test_values_are_those_of_the_other_tenant(matrix: Matrix) -> None:
    """The other tenant finds its objects by them, so that the refusals mean something."""
    caller, path = matrix.tenants.callers["member_q"], "/stacks"
    for field in ("id", "tenant", "username", "stack_owner"):
        (route,) = [route for route in ROUTES if (route.method, route.path) == ("GET", path)]
        value = foreign_value(route, field, matrix.tenants.objects["q"]["own"])
        found = matrix.tenants.send(caller, "GET", f"{path}?{field}={value}", None).json["stacks"]
        assert [each["stack_name"] for each in found] == ["stack-q"], field
