"""Every route with every caller and object: the answers of ``data/access_matrix.txt``.

The real keystonemiddleware and oslo.policy decide; only Keystone is replaced.  Planted holes
show that the comparison finds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol

from heat_convergence.api.context import Caller
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES, path_parameters
from heat_convergence.resources import reference_scope
from tests.functional.tenancy.access_matrix import (
    DATA,
    Matrix,
    MatrixRow,
    list_rows,
    load_expected,
)
from tests.functional.tenancy.two_tenants import ObjectNames, TwoTenants, token_document

EXPECTED = load_expected(DATA.read_text())
ROWS = list(list_rows())
CALLERS_OF_P = {"reader", "member", "admin", "no_role", "agent", "agent_2", "url_p_agent"}
CALLERS_OF_Q = {"member_q", "url_p_q", "admin_q", "agent_q"}
ROLES = {
    "reader": ["reader"],
    "member": ["member", "reader"],
    "admin": ["admin", "member", "reader"],
    "no_role": ["other"],
}
# The policy rule of these routes depends on the body; every other route has one of its own.
RULE_BY_BODY = {"stack_actions.action": "actions:{}", "stack_writes.patch": "stacks:update_patch"}
# A server's id is any text: of a server that the tenant does not have there are no deployments.
EMPTY_IF_FOREIGN = "software_deployments.metadata"
MISSING_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuthProtocol, "fetch_token", lambda _self, text, **_kw: token_document(text))
        tenants = TwoTenants(tmp_path_factory.mktemp("matrix"))
        yield Matrix(tenants)
        tenants.close()


def is_foreign(row: MatrixRow) -> bool:
    return row.object.startswith("foreign")


# -- the file


def test_every_route_has_its_rows() -> None:
    assert list(EXPECTED) == [row.key for row in ROWS]
    assert sum(map(len, EXPECTED.values())) > 2_000


def test_route_without_rows_is_noticed() -> None:
    new = Route("GET", "/stacks/{stack_name}/{stack_id}/secrets", "stacks.secrets", None)
    added = {row.key for row in list_rows((*ROUTES, new))} - EXPECTED.keys()
    assert added == {f"GET {new.path} {each}" for each in ("own", "nested", "foreign")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_file_refuses_whom_the_policies_refuse(row: MatrixRow) -> None:
    """The policy rule of the route decides about the roles of a tenant, own object or not."""
    rule = row.route.policy_rule or RULE_BY_BODY[row.route.handler].format(row.action)
    enforcer = PolicyEnforcer()
    for name, roles in ROLES.items():
        caller = Caller(user_id="u", project_id="p", roles=roles, is_admin_project=False)
        request: Any = SimpleNamespace(project_id="p", caller=caller)
        status = EXPECTED[row.key][name]
        if not enforcer.allows(request, rule):
            assert status == 403, name
        elif not is_foreign(row):
            assert status not in (401, 403, 404), name
        elif row.route.handler != EMPTY_IF_FOREIGN:
            assert status == (403 if "{arn" in row.route.path else 404), name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_file_keeps_strangers_and_agents_out(row: MatrixRow) -> None:
    expected = EXPECTED[row.key]
    assert expected["none"] == 401
    assert {expected[name] for name in ("url_p_q", "url_p_agent", "service")} == {403}
    if row.route.handler == EMPTY_IF_FOREIGN:
        return
    if row.object in ("own", "nested"):
        assert {expected[name] for name in CALLERS_OF_Q} <= {403, 404}
    if is_foreign(row) or row.route.policy_rule not in reference_scope.STACK_USER_RULES:
        assert {expected[name] for name in ("agent", "agent_2")} <= {403, 404}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_file_lets_the_cloud_administrator_at_every_stack(row: MatrixRow) -> None:
    """The administrator finds stacks by their ids; names are those of the own project."""
    expected = EXPECTED[row.key]
    if row.object in ("own", "nested") and "stack_id" in path_parameters(row.route.path):
        assert expected["cloud_admin"] == expected["admin"]
    elif row.object in ("own", "nested", "foreign_part") and "{arn" not in row.route.path:
        assert expected["cloud_admin"] in (403, 404) or row.route.handler == EMPTY_IF_FOREIGN


# -- the service


def texts_of(names: ObjectNames) -> set[str]:
    tenant = names["tenant"]
    ids = {value for name, value in names.items() if name.endswith("_id")}
    return ids | {names["stack_name"], f"secret of {tenant}"}


def leaked(matrix: Matrix, row: MatrixRow, caller: str, text: str) -> set[str]:
    """Return texts of the other tenant in the response that the request did not have."""
    if caller == "cloud_admin":
        return set()
    tenants = {"p"} if caller in CALLERS_OF_Q else {"q"} if caller in CALLERS_OF_P else {"p", "q"}
    requested = json.dumps(matrix.request_of(row, matrix.names_of(row)))
    objects = [names for each in tenants for names in matrix.tenants.objects[each].values()]
    found = set().union(*map(texts_of, objects))
    return {each for each in found if each in text and each not in requested}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_service_matches_the_file(matrix: Matrix, row: MatrixRow) -> None:
    for caller, status in EXPECTED[row.key].items():
        response = matrix.send(row, caller)
        assert response.status_int == status, (caller, response.text)
        assert not leaked(
            matrix, row, caller, response.text + response.headers.get("Location", "")
        )
        if status >= 400 or row.route.method == "GET":
            assert not matrix.tenants.was_changed(), caller


def missing_names(names: ObjectNames) -> ObjectNames:
    """Return the names of an object that nobody has."""
    found = {name: MISSING_ID if name.endswith("_id") else value for name, value in names.items()}
    return found | {"stack_name": "missing", "tenant": "missing"}


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.object == "foreign"], ids=lambda row: row.key
)
def test_foreign_object_is_reported_as_missing(matrix: Matrix, row: MatrixRow) -> None:
    """The responses differ in nothing but the ids of the request."""
    names = matrix.names_of(row)
    missing = missing_names(names)
    if row.route.handler == "software_deployments.create":
        missing = {**missing, "user_project_id": names["user_project_id"]}
    for caller in ("reader", "member", "admin", "agent"):
        foreign = matrix.send(row, caller, names)
        nothing = matrix.send(row, caller, missing)
        assert foreign.status_int == nothing.status_int, caller
        assert masked(foreign.text, names) == masked(nothing.text, missing), caller


def masked(text: str, names: ObjectNames) -> str:
    for name in ("stack_name", *(name for name in names if name.endswith("_id"))):
        text = text.replace(names[name], f"<{name}>" if name == "stack_name" else "<id>")
    return text


# -- planted holes


def unexpected_rows(matrix: Matrix, *keys: str) -> set[str]:
    """Return the rows among ``keys`` to which the service answers otherwise than expected."""
    rows = {row.key: row for row in ROWS}
    return {key for key in keys if matrix.statuses(rows[key]) != EXPECTED[key]}


STACK = "/stacks/{stack_name}/{stack_id}"
METADATA = STACK + "/resources/{resource_name}/metadata"


def test_route_without_its_check_is_noticed(
    matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    enforce = PolicyEnforcer.enforce

    def forget_delete(self: PolicyEnforcer, request: Any, rule: str) -> None:
        if rule != "stacks:delete":
            enforce(self, request, rule)

    keys = [
        f"{method} {STACK} {each}" for method in ("DELETE", "PUT") for each in ("own", "nested")
    ]
    assert unexpected_rows(matrix, *keys) == set()
    monkeypatch.setattr(PolicyEnforcer, "enforce", forget_delete)
    assert unexpected_rows(matrix, *keys) == {key for key in keys if key.startswith("DELETE")}


@pytest.mark.parametrize(
    ("check", "answer", "holes"),
    [
        ("base.is_visible", True, [f"GET {STACK} foreign", f"DELETE {STACK} own"]),
        (
            "resource.resources.require_readable_metadata",
            None,
            [f"GET {STACK}/resources/{{resource_name}}/metadata own"],
        ),
        (
            "software.software_deployments.require_references",
            None,
            [
                "POST /software_deployments foreign",
                "POST /software_deployments foreign_user_project",
                "PUT /software_deployments/{deployment_id} foreign_config",
            ],
        ),
    ],
)
def test_accepted_foreign_id_is_noticed(
    matrix: Matrix, monkeypatch: pytest.MonkeyPatch, check: str, answer: Any, holes: list[str]
) -> None:
    assert unexpected_rows(matrix, *holes) == set()
    monkeypatch.setattr(f"heat_convergence.api.controllers.{check}", lambda *_args: answer)
    assert unexpected_rows(matrix, *holes) == set(holes)
