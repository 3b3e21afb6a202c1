"""The rows of the access matrix: a request for every route and object, and its answers.

``python -m tests.functional.tenancy.access_matrix`` prints the matrix as the service answers
now; ``data/access_matrix.txt`` is the one that is expected.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from keystonemiddleware.auth_token import AuthProtocol
from webob import Response

from heat_convergence.api.requests.actions import ACTIONS
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES, path_parameters
from tests.functional.tenancy.two_tenants import (
    VERSION,
    ObjectNames,
    TwoTenants,
    stack_body,
    template_of,
    token_document,
)

Json = Any
DATA = Path(__file__).parent / "data" / "access_matrix.txt"
STACK_OBJECTS = ("own", "nested", "foreign")
PART_IDS = frozenset({"snapshot_id", "event_id", "plan_id"})
SOFTWARE_IDS = frozenset({"config_id", "deployment_id", "server_id"})
FIXED_NAMES = {
    "resource_name": "agent",
    "output_key": "o",
    "subpath": "resources",
    "type_name": "OS::Heat::Value",
    "template_version": VERSION,
}
# Objects that are named in the body, beside those of the path.
OBJECTS_IN_BODY = {
    "software_deployments.create": ("own", "foreign", "foreign_user_project"),
    "software_deployments.update": ("own", "foreign", "foreign_config"),
}
Body = Callable[[ObjectNames], Json]


def _update(names: ObjectNames) -> Json:
    tenant = names["tenant"]
    return {"template": template_of(tenant), "files": stack_body(tenant, "any")["files"]}


BODIES: Mapping[str, Body] = {
    "templates.validate": lambda _names: {"template": {"heat_template_version": "2018-08-31"}},
    "template_lint.lint": lambda _names: {"template": {"heat_template_version": "2018-08-31"}},
    "stack_writes.create": lambda _names: stack_body("p", "new"),
    "previews.create": lambda _names: stack_body("p", "new"),
    "stack_writes.update": _update,
    "previews.update": _update,
    "stack_writes.patch": lambda _names: {"tags": "x"},
    "previews.patch": lambda _names: {"tags": "x"},
    "resource_health.mark_unhealthy": lambda _names: {"mark_unhealthy": True},
    "snapshots.create": lambda _names: {},
    "snapshots.restore": lambda _names: {},
    "drift.update_policy": lambda _names: {"paused": False},
    "drift.confirm_breakers": lambda _names: {"confirmed": []},
    "plan_creation.create": lambda _names: stack_body("p", "new"),
    "plan_creation.create_for_stack": lambda _names: {"action": "delete"},
    "signals.signal": lambda _names: {"status": "ok"},
    "software_configs.create": lambda _names: {"name": "new"},
    "software_deployments.create": lambda names: {
        "config_id": names["config_id"],
        "server_id": "server",
        "stack_user_project_id": names["user_project_id"],
    },
    "software_deployments.update": lambda names: {
        "status": "COMPLETE",
        "config_id": names["new_config_id"],
    },
}


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One request of the matrix.

    Attributes:
        object: one of ``STACK_OBJECTS`` and ``OBJECTS_IN_BODY``; ``foreign_part`` is a part of
            another tenant's stack in the path of the own one; ``-`` for a route without object.
        action: the name of the action where the body decides about the policy rule.
    """

    route: Route
    object: str
    action: str = ""

    @property
    def key(self) -> str:
        """The beginning of the row's line."""
        path = self.route.path.replace("{subpath:", "{").replace("{arn:arn:.*}", "{arn}")
        action = f"({self.action})" if self.action else ""
        return f"{self.route.method} {path}{action} {self.object}"


def objects_of(route: Route) -> tuple[str, ...]:
    """Return the objects that the route is tried with, by the names in its path."""
    names = set(path_parameters(route.path))
    if route.handler in OBJECTS_IN_BODY:
        return OBJECTS_IN_BODY[route.handler]
    if names & {"stack_id", "stack_name", "arn"}:
        return (*STACK_OBJECTS, "foreign_part") if names & PART_IDS else STACK_OBJECTS
    if names & (SOFTWARE_IDS | {"quarantined_id", "plan_id"}):
        return ("own", "foreign")
    return ("-",)


def list_rows(routes: tuple[Route, ...] = ROUTES) -> Iterator[MatrixRow]:
    """Yield the rows of the routes, in the order of the routes table."""
    for route in routes:
        for each in objects_of(route):
            for action in ACTIONS if route.handler == "stack_actions.action" else ("",):
                yield MatrixRow(route, each, action)


class Matrix:
    """The answers of a service to the rows."""

    def __init__(self, tenants: TwoTenants) -> None:
        self.tenants = tenants
        self.columns = tuple(tenants.callers)

    def names_of(self, row: MatrixRow) -> ObjectNames:
        """Return the value of every name in path and body."""
        own, foreign = self.tenants.objects["p"]["own"], self.tenants.objects["q"]["own"]
        chosen = {
            "nested": self.tenants.objects["p"]["nested"],
            "foreign": foreign,
            "foreign_part": {**own, **{name: foreign[name] for name in PART_IDS}},
        }.get(row.object, own)
        user_tenant = "q" if row.object == "foreign_user_project" else chosen["tenant"]
        new = foreign if row.object == "foreign_config" else chosen
        return {
            **FIXED_NAMES,
            **chosen,
            "user_project_id": f"users-{user_tenant}",
            "new_config_id": new.get("config_id", ""),
        }

    def send(self, row: MatrixRow, caller: str, names: ObjectNames | None = None) -> Response:
        """Return the response to the caller, from objects that no request has changed."""
        self.tenants.restore()
        path, body = self.request_of(row, names or self.names_of(row))
        return self.tenants.send(self.tenants.callers[caller], row.route.method, path, body)

    def request_of(self, row: MatrixRow, names: ObjectNames) -> tuple[str, Json]:
        """Return path and body of the row's request."""
        body = {row.action: None} if row.action else None
        if row.route.handler in BODIES:
            body = BODIES[row.route.handler](names)
        return _path(row.route, names), body

    def statuses(self, row: MatrixRow) -> dict[str, int]:
        """Return the HTTP status for each caller."""
        return {caller: self.send(row, caller).status_int for caller in self.columns}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the data file."""
        yield " ".join(("method", "path", "object", *self.columns))
        for row in list_rows():
            yield " ".join((row.key, *map(str, self.statuses(row).values())))


def _path(route: Route, names: ObjectNames) -> str:
    arn = "arn:openstack:heat::{tenant}:stacks/{stack_name}/{stack_id}"
    path = route.path.replace("{arn:arn:.*}", arn)
    head, brace, rest = path.partition("{subpath:")
    if brace:
        path = head + names["subpath"] + rest.partition("}")[2]
    return path.format_map(names)


def load_expected(text: str) -> dict[str, dict[str, int]]:
    """Return the expected status by row and caller."""
    lines = [line.split() for line in text.splitlines() if line[:1] != "#"]
    callers = lines[0][3:]
    return {
        " ".join(cells[:3]): dict(zip(callers, map(int, cells[3:]), strict=True))
        for cells in lines[1:]
    }


def format_table(lines: list[str]) -> str:
    """Return the lines with aligned columns."""
    cells = [line.split() for line in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in cells)


def main() -> None:
    """Print the matrix as the service answers now."""
    head = "".join(f"{line}\n" for line in DATA.read_text().splitlines() if line[:1] == "#")
    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.object(AuthProtocol, "fetch_token", lambda _, text, **_k: token_document(text)),
    ):
        tenants = TwoTenants(Path(directory))
        print(head + format_table(list(Matrix(tenants).lines())), end="")
        tenants.close()


if __name__ == "__main__":
    main()
