"""The API as conversations: every file beside this one, in process, on every database."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from gabbi import driver, fixture
from gabbi.handlers.base import ResponseHandler
from gabbi.suite import GabbiSuite

from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES, RouteTable
from heat_convergence.api.services import ApiOptions
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.db.tables import metadata
from tests.functional.harness import LocalService
from tests.quarantined_resource import add_quarantined

DIRECTORY = Path(__file__).parents[1] / "gabbits"


class ServiceFixture(fixture.GabbiFixture):
    """A service with an empty database for each file."""

    url: str
    current: LocalService

    def start_fixture(self) -> None:
        options = ApiOptions(enable_stack_abandon=True)
        service = ServiceFixture.current = LocalService(ServiceFixture.url, options)
        with service.database.write() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
            add_stack_user_project(connection, service)
            add_quarantined(connection, service.clock(), "quarantined", project_id="p")

    def stop_fixture(self) -> None:
        ServiceFixture.current.close()


def add_stack_user_project(connection: Any, service: LocalService) -> None:
    """Store a deployment as a stack of project ``p`` does, with users in project ``users``."""
    now = service.clock()
    config = SoftwareConfigRow("seeded", "stacks", "seeded", "script", {}, now)
    software.insert_config(connection, config)
    deployment = SoftwareDeploymentRow(
        id="seeded",
        project_id="p",
        server_id="server-of-a-stack",
        config_id=config.id,
        action="CREATE",
        status="COMPLETE",
        status_reason="",
        created_at=now,
        stack_user_project_id="users",
    )
    software.insert_deployment(connection, deployment)


class ForbiddenStrings(ResponseHandler):
    """``response_forbidden_strings``: what the body must not hold."""

    test_key_suffix = "forbidden_strings"
    test_key_value: list[str] = []  # noqa: RUF012  # gabbi reads its type

    def action(self, test: Any, expected: str, value: Any = None) -> None:
        assert expected not in test.output


TABLE = RouteTable()
ANSWERED: dict[Route, set[str]] = {}
# What cannot be asked for wrongly; lists of services and types have other tests.
NO_MISTAKE = {
    "/template_versions", "/stacks/detail", "/build_info", "/services", "/drift/breakers",
    "/software_deployments", "/software_deployments/metadata/{server_id}", "/overview",
}  # fmt: skip


def note(method: str, path: str, status: str) -> None:
    """Which routes were answered, well or badly."""
    subpath = path.split("/", 3)[3:]
    match = TABLE.match(method, f"/{subpath[0]}") if subpath else None
    if match is not None and match.route is not None:
        ANSWERED.setdefault(match.route, set()).add("good" if status < "4" else "bad")


def application() -> Callable[..., Iterable[bytes]]:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def noting(status: str, *rest: Any) -> Any:
            note(environ["REQUEST_METHOD"], environ["PATH_INFO"], status)
            return start_response(status, *rest)

        return ServiceFixture.current.app(environ, noting)

    return app


def conversations() -> dict[str, GabbiSuite]:
    """File name → its steps, which build on each other."""
    suites = driver.build_tests(
        str(DIRECTORY),
        unittest.TestLoader(),
        intercept=application,
        fixture_module=sys.modules[__name__],
        response_handlers=[ForbiddenStrings],
        test_loader_name="api",
    )
    steps = {type(next(iter(suite))).__name__: suite for suite in suites}
    return {
        name: suite for step, suite in steps.items() for name in NAMES if step.startswith(name)
    }


NAMES = sorted(path.stem for path in DIRECTORY.glob("*.yaml"))
RAN: set[str] = set()


@pytest.mark.parametrize("name", NAMES)
def test_conversation_has_the_expected_responses(name: str, any_database_url: str) -> None:
    """Run the suite of one file; gabbi's pytest plug-in conflicts with other tests' names."""
    result = unittest.TestResult()
    ServiceFixture.url = any_database_url
    RAN.add(name)
    conversations()[name].run(result)
    failures = [f"{step}\n{trace}" for step, trace in [*result.failures, *result.errors]]
    assert not failures, "\n".join(failures)
    assert result.testsRun > 0


def test_every_route_has_a_conversation_good_and_bad() -> None:
    """Runs last: what the conversations have shown."""
    if set(NAMES) != RAN:
        pytest.skip("not all conversations were run")
    desired = {
        route: {"good", "bad"} - ({"bad"} if route.path in NO_MISTAKE else set())
        for route in ROUTES
    }
    missing = {
        f"{route.method} {route.path}": sorted(outcomes - ANSWERED.get(route, set()))
        for route, outcomes in desired.items()
    }
    assert {route: outcomes for route, outcomes in missing.items() if outcomes} == {}
