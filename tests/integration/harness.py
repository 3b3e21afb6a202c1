"""Helpers of the tests of real daemons: a user, a template, queries past the API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import requests
import sqlalchemy as sa
from heatclient.client import Client
from heatclient.exc import HTTPException, HTTPNotFound
from keystoneauth1.exceptions import ClientException
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

SETTLE_TIMEOUT_S = 180
PROJECT = "integration"
# The level stands after date, time and process; elsewhere the word is somebody's text.
_COMPLAINT = re.compile(r"\S+ \S+ \d+ (ERROR|CRITICAL) |Traceback ")


class HeatUser:
    """A user of python-heatclient."""

    def __init__(self, endpoint: str) -> None:
        session = Session(auth=NoAuth(endpoint=f"{endpoint}/v1/{PROJECT}"))
        self.heat = Client("1", session=session)

    @classmethod
    def with_client(cls, heat: Client) -> HeatUser:
        """Return a user with an existing client."""
        user = cls.__new__(cls)
        user.heat = heat
        return user

    def create(self, name: str, template: Any, **parameters: Any) -> str:
        made = self.heat.stacks.create(stack_name=name, template=template, parameters=parameters)
        return str(made["stack"]["id"])

    def status(self, name: str) -> str:
        return str(self.heat.stacks.get(name, resolve_outputs=False).stack_status)

    def wait_for_status(
        self, name: str, status: str, *, within_s: float = SETTLE_TIMEOUT_S
    ) -> None:
        """Until the stack has the status; another end of its action is a failure."""
        self._wait_for(name, status.__eq__, status, within_s)

    def _wait_for(
        self,
        name: str,
        is_it: Callable[[str], bool],
        what: str,
        within_s: float = SETTLE_TIMEOUT_S,
    ) -> None:
        def reached() -> bool:
            try:
                now = self.heat.stacks.get(name, resolve_outputs=False)
            except (HTTPException, ClientException):
                return False  # the API is just away
            assert not now.stack_status.endswith("_FAILED"), now.stack_status_reason
            return is_it(now.stack_status)

        wait_until(reached, f"{name} is {what}", timeout_s=within_s)

    def wait_complete(self, name: str) -> None:
        """Until the stack's last action, whichever it was, is done well."""
        self._wait_for(name, lambda status: status.endswith("_COMPLETE"), "COMPLETE")

    def wait_deleted(self, name: str, *, within_s: float = SETTLE_TIMEOUT_S) -> None:
        wait_until(lambda: not self._there(name), f"{name} is gone", timeout_s=within_s)

    def outputs(self, name: str) -> dict[str, Any]:
        found = self.heat.stacks.get(name).outputs
        return {one["output_key"]: one["output_value"] for one in found}

    def resources(self, name: str) -> dict[str, Any]:
        """Return the resources by name; a duplicate name fails the test."""
        found = self.heat.resources.list(name)
        by_name = {one.resource_name: one for one in found}
        assert len(by_name) == len(found)
        return by_name

    def _there(self, name: str) -> bool:
        try:
            now = self.heat.stacks.get(name, resolve_outputs=False)
        except HTTPNotFound:
            return False
        except (HTTPException, ClientException):
            return True  # the API is just away
        assert not now.stack_status.endswith("_FAILED"), now.stack_status_reason
        # By its id a deleted stack can still be shown.
        return bool(now.stack_status != "DELETE_COMPLETE")


def drop_all_tables(database_url: str) -> None:
    """Drops every table."""
    engine = sa.create_engine(database_url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        tables.drop_all(connection)


def user_for(deployment: ServiceDeployment) -> HeatUser:
    return HeatUser(deployment.endpoint)


def is_ready(endpoint: str) -> bool:
    """Return whether an API has found its database and accepts requests."""
    return requests.get(f"{endpoint}/healthcheck", timeout=10).status_code == 200


def error_log_lines(deployment: ServiceDeployment) -> list[str]:
    """Lines at ERROR or above in any daemon's log."""
    return [
        line
        for daemon in deployment.daemons
        for line in daemon.log.read_text(errors="replace").splitlines()
        if _COMPLAINT.match(line)
    ]


def query_rows(database_url: str, query: str) -> list[Any]:
    """Return the rows of a query, without the API, which may have been killed."""
    engine = sa.create_engine(database_url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        return list(connection.execute(sa.text(query)))


def slow_template(count: int, wait_s: float) -> dict[str, Any]:
    """``count`` resources in four layers, each of which takes its time."""
    width = count // 4
    resources: dict[str, Any] = {}
    for number in range(count):
        definition: dict[str, Any] = {
            "type": "OS::Heat::TestResource",
            "properties": {"value": f"v{number}", "action_wait_secs": {"create": wait_s}},
        }
        if number >= width:
            definition["properties"]["value"] = {"get_attr": [f"r{number - width}", "output"]}
        resources[f"r{number}"] = definition
    return {"heat_template_version": "2021-04-16", "resources": resources}


def wait_until_more_ready(database_url: str, more_than: int) -> None:
    """Waits until so many resources have no job left."""
    wait_until(
        lambda: (
            query_rows(database_url, "SELECT count(*) FROM resource WHERE job IS NULL")[0][0]
            > more_than
        ),
        f"more than {more_than} resources are ready",
        timeout_s=SETTLE_TIMEOUT_S,
    )


def assert_each_once(database_url: str, user: HeatUser, stack: str, count: int) -> None:
    """The stack has its resources and no others, and each was made once."""
    found = user.resources(stack)
    assert sorted(found) == sorted(f"r{number}" for number in range(count))
    assert {one.resource_status for one in found.values()} == {"CREATE_COMPLETE"}
    assert len({one.physical_resource_id for one in found.values()}) == count
    assert query_rows(database_url, "SELECT count(*) FROM resource")[0][0] == count
    made = "action = 'CREATE' AND status = 'COMPLETE' AND resource_type = 'OS::Heat::TestResource'"
    assert query_rows(database_url, f"SELECT count(*) FROM event WHERE {made}")[0][0] == count
