"""Requests of two tenants, and the objects that one of them attacks.

``demo`` is the victim, ``alt_demo`` the attacker.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.testbed import CloudTestbed, DeployedService, UserIdentityClient

Json = Any
VICTIM_STACK = "victim"
HIDDEN_VALUE = "hidden-value-of-the-victim"
SCRIPT = "#!/bin/sh\necho script-of-the-attacker\n"


def template(resources: Json, **sections: Json) -> Json:
    """Return a template with these resources."""
    return {"heat_template_version": "2018-08-31", "resources": resources, **sections}


def yaql(expression: str, data: Json = None) -> Json:
    """Return the call of an expression."""
    return {"yaql": {"expression": expression, "data": {} if data is None else data}}


def value_resource(value: Json) -> Json:
    """Return a resource whose attribute ``value`` is the value."""
    return {"type": "OS::Heat::Value", "properties": {"value": value}}


class RequestLog:
    """Requests of one user, each printed with its answer and its milliseconds."""

    def __init__(self, service: DeployedService, session: Session) -> None:
        self.session = session
        self._service = service

    def send(
        self, label: str, method: str, path: str, body: Json = None, **headers: str
    ) -> requests.Response:
        """Send a request; an answer 5xx but 503 is a failure."""
        started_s = time.perf_counter()
        answer = self._service.request(self.session, method, path, body, **headers)
        milliseconds = (time.perf_counter() - started_s) * 1000
        print(f"{label} | {method} {path[:70]} | {answer.status_code} | {milliseconds:.0f} ms")
        assert answer.status_code < 500 or answer.status_code == 503, (label, answer.text)
        return answer

    def wait_until_done(self, name: str) -> tuple[str, str]:
        """Wait for the stack's action; return its status and reason."""
        started_s = time.perf_counter()
        status, reason = self._service.wait_until_done(self.session, name)
        milliseconds = (time.perf_counter() - started_s) * 1000
        print(f"  stack {name} | {status}: {reason[:200]} | {milliseconds:.0f} ms")
        return status, reason

    def delete(self, name: str) -> None:
        """Delete the stack, if it exists, and wait until it is deleted."""
        if self._service.request(self.session, "GET", f"/stacks/{name}").status_code != 200:
            return
        started_s = time.perf_counter()
        self._service.delete_stack(self.session, name)
        milliseconds = (time.perf_counter() - started_s) * 1000
        print(f"  stack {name} | deleted | {milliseconds:.0f} ms")


@dataclass(frozen=True, slots=True)
class Victim:
    """The victim's stack: a server with an agent, a signalled resource, a hidden parameter.

    Attributes:
        requests: those of its owner.
        path: of the stack, below the project.
        physical_ids: of its resources, by their names.
        agent: what the metadata of the server tells its agent, with the agent's password.
    """

    requests: RequestLog
    path: str
    physical_ids: Mapping[str, str]
    agent: Mapping[str, str]

    @property
    def server_id(self) -> str:
        """The id of the server."""
        return self.physical_ids["server"]

    def server_metadata(self) -> Json:
        """Return the metadata of the server, as its owner reads them."""
        path = f"{self.path}/resources/server/metadata"
        return self.requests.send("  owner", "GET", path).json()["metadata"]


@contextmanager
def victim_stack(
    cloud_testbed: CloudTestbed, service: DeployedService, owner: UserIdentityClient
) -> Iterator[Victim]:
    """Yield the victim's stack."""
    log = RequestLog(service, owner.session)
    hidden = {"hidden_text": {"type": "string", "hidden": True}}
    body = {
        "stack_name": VICTIM_STACK,
        "template": template(_victim_resources(cloud_testbed), parameters=hidden),
        "parameters": {"hidden_text": HIDDEN_VALUE},
    }
    created = service.request(owner.session, "POST", "/stacks", body)
    assert created.status_code == 201, created.text
    try:
        assert log.wait_until_done(VICTIM_STACK)[0] == "CREATE_COMPLETE"
        path = f"/stacks/{VICTIM_STACK}/{created.json()['stack']['id']}"
        listed = log.send("  owner", "GET", f"{path}/resources").json()["resources"]
        ids = {each["resource_name"]: each["physical_resource_id"] for each in listed}
        metadata = Victim(log, path, ids, {}).server_metadata()
        yield Victim(log, path, ids, metadata["os-collect-config"]["heat"])
    finally:
        log.delete(VICTIM_STACK)
        _wait_for_cleanup(cloud_testbed, created.json()["stack"]["id"], owner)


def _wait_for_cleanup(
    cloud_testbed: CloudTestbed, stack_id: str, owner: UserIdentityClient
) -> None:
    """Wait until the observer has deleted what the stack had in Keystone."""
    admin, domain = cloud_testbed.identity_client(), cloud_testbed.facts["heat_domain_id"]
    trustee = cloud_testbed.identity_client(cloud_testbed.facts["heat_service_user"], "service")

    def is_clean() -> bool:
        trusts = {each.get("description") for each in owner.list_trusts_to(trustee)}
        projects = admin.get(f"/projects?domain_id={domain}&name={stack_id}")["projects"]
        return not projects and f"heat-{stack_id}" not in trusts

    wait_until(is_clean, "the users' project and the trust are deleted", timeout_s=60)


def _victim_resources(cloud_testbed: CloudTestbed) -> Json:
    ids = cloud_testbed.facts["ids"]
    hidden = {"get_param": "hidden_text"}
    return {
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": ids["image"],
                "flavor": ids["flavor_m1.nano"],
                "networks": [{"network": ids["private_network"]}],
                "user_data_format": "SOFTWARE_CONFIG",
                "software_config_transport": "POLL_SERVER_HEAT",
            },
            "metadata": {"own": "metadata"},
        },
        "handle": {
            "type": "OS::Heat::WaitConditionHandle",
            "properties": {"signal_transport": "CFN_SIGNAL"},
        },
        "other": {**value_resource(hidden), "metadata": {"text": hidden}},
        "secret": {"type": "OS::Heat::RandomString"},
    }


def agent_requests(
    cloud_testbed: CloudTestbed, service: DeployedService, victim: Victim
) -> RequestLog:
    """Return requests of the user that the stack has created for its server."""
    auth = Password(
        cloud_testbed.auth_url,
        user_id=victim.agent["user_id"],
        password=victim.agent["password"],
        project_id=victim.agent["project_id"],
    )
    return RequestLog(service, Session(auth))


@contextmanager
def reader_requests(cloud_testbed: CloudTestbed, service: DeployedService) -> Iterator[RequestLog]:
    """Yield requests of a user whose only role in the victim's project is reader."""
    admin = cloud_testbed.identity_client("admin")
    name = f"hc-reader-{uuid.uuid4().hex[:8]}"
    user = {"name": name, "password": name, "domain_id": "default"}
    user_id = admin.post("/users", {"user": user})["user"]["id"]
    try:
        (role,) = [each for each in admin.get("/roles")["roles"] if each["name"] == "reader"]
        project_id = cloud_testbed.project_id("demo")
        admin.put(f"/projects/{project_id}/users/{user_id}/roles/{role['id']}")
        auth = Password(
            cloud_testbed.auth_url, user_id=user_id, password=name, project_id=project_id
        )
        yield RequestLog(service, Session(auth))
    finally:
        with suppress(requests.RequestException):
            admin.delete(f"/users/{user_id}")


def adopted_document(resources: Json, entries: Mapping[str, Json]) -> Json:
    """Return the document of an abandoned stack.

    Args:
        resources: those of its template.
        entries: resource name → ``resource_id`` and ``resource_data``.
    """
    return {
        "name": "adopted",
        "id": str(uuid.uuid4()),
        "action": "CREATE",
        "status": "COMPLETE",
        "template": template(resources),
        "environment": {},
        "resources": {
            name: {
                "name": name,
                "type": resources[name]["type"],
                "action": "CREATE",
                "status": "COMPLETE",
                "metadata": {},
                **entry,
            }
            for name, entry in entries.items()
        },
    }
