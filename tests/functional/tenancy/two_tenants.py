"""A service with two tenants that have the same objects, and the callers of the access matrix.

Tenant ``p`` is the one whose objects are tried; ``q`` is the other one.  Only Keystone is
replaced: a token is its own description.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oslo_config import cfg
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.reads import resources
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareDeploymentRow
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.testing.sample_rows import quarantine_entry
from tests.functional.harness import LocalService

Json = Any
ObjectNames = Mapping[str, str]
DOMAIN = "heat-domain"
PUBLIC_DOMAIN = "default"
STACK_USER = "heat_stack_user"
CLOUD_ADMIN = "cloud_admin"  # marks a token of the project that administers the cloud
VERSION = "heat_template_version.2018-08-31"


class AgentType(LocalType):
    """A server whose agent is the user that the properties name."""

    name = "Test::Agent"
    schema = TypeSchema(
        properties={
            "user": PropertySchema(type=PropertyType.STRING, required=True),
            "server_id": PropertySchema(type=PropertyType.STRING, required=True),
        }
    )

    def create(self, context: ResourceContext) -> VerbResult:
        properties = context.properties
        data = {"user_id": properties["user"]}
        return VerbResult(ObservedState.READY, properties["server_id"], data=data)

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        return SignalResult(data={**context.data, "signalled": True})


def _template(tenant: str, place: str) -> Json:
    """Return a template with two agents of the tenant, a value and an output."""

    def agent(user: str) -> Json:
        properties = {"user": f"{user}-{tenant}", "server_id": f"server-{place}-{user}-{tenant}"}
        return {"type": "Test::Agent", "properties": properties, "metadata": {"owner": tenant}}

    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "r": {"type": "OS::Heat::Value", "properties": {"value": f"secret of {tenant}"}},
            "agent": agent("agent"),
            "agent_2": agent("agent_2"),
        },
        "outputs": {"o": {"value": {"get_attr": ["r", "value"]}}},
    }


def template_of(tenant: str) -> Json:
    """Return a template with a nested stack."""
    template = _template(tenant, "own")
    template["resources"]["child"] = {"type": "child.yaml"}
    return template


def stack_body(tenant: str, name: str) -> Json:
    """Return the body that creates a stack of ``template_of``."""
    files = {"child.yaml": json.dumps(_template(tenant, "nested"))}
    return {"stack_name": name, "template": template_of(tenant), "files": files}


@dataclass(frozen=True, slots=True)
class Token:
    """A token, as Keystone describes it.

    Attributes:
        project_name: for a user of a stack the id of its stack tree.
        user: each project has a user of its own by default.
    """

    project_id: str
    roles: tuple[str, ...]
    project_name: str = ""
    domain: str = PUBLIC_DOMAIN
    user: str = ""

    def to_text(self) -> str:
        """Return the token as clients send it."""
        name, user = self.project_name or self.project_id, self.user or f"user-{self.project_id}"
        return "/".join((self.domain, self.project_id, name, "+".join(self.roles), user))


def token_document(text: str) -> Json:
    """Return Keystone's description of a token, which the token's text gives."""
    domain, project_id, project_name, roles, user = text.split("/")
    domain_document = {"id": domain, "name": domain}
    return {
        "token": {
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": "2126-01-01T00:00:00.000000Z",
            "user": {"id": user, "name": user, "domain": domain_document},
            "project": {"id": project_id, "name": project_name, "domain": domain_document},
            "is_admin_project": CLOUD_ADMIN in roles.split("+"),
            "roles": [{"id": role, "name": role} for role in roles.split("+")],
        }
    }


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, with the project in its URL."""

    token: Token | None
    url_project: str


class TwoTenants:
    """Two tenants; each has stacks, a snapshot, a configuration and a deployment."""

    def __init__(self, directory: Path, options: ApiOptions | None = None) -> None:
        options = options or ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
        self._file = directory / "hc.sqlite"
        self._saved = directory / "saved.sqlite"
        self.service = LocalService(f"sqlite:///{self._file}", options, types=(AgentType(),))
        file = directory / "hc.conf"
        file.write_text("[keystone_authtoken]\nwww_authenticate_uri = http://keystone.example\n")
        self._conf = cfg.ConfigOpts()
        self._conf([], default_config_files=[str(file)], default_config_dirs=[])
        self.use_options()
        self.objects: dict[str, dict[str, ObjectNames]] = {
            t: self._create_objects(t) for t in "pq"
        }
        self.callers = self._list_callers()
        self._monitor = sqlite3.connect(self._file)
        with sqlite3.connect(self._saved) as saved:
            self._monitor.backup(saved)
        self._version = self._data_version()

    def close(self) -> None:
        self._monitor.close()
        self.service.close()

    def use_options(self, **values: Any) -> None:
        """Serve later requests with the options of the beginning, except those of ``values``."""
        services = self.service.services
        services = replace(
            services,
            stack_user_domain=StackUserDomain(DOMAIN),
            options=replace(services.options, **values),
        )
        app = build_app(services, auth=AuthStrategy.KEYSTONE, conf=self._conf)
        self.service.use_application(app)

    # -- requests

    def send(self, caller: Caller, method: str, path: str, body: Json) -> Response:
        request = Request.blank(f"/v1/{caller.url_project}{path}", method=method)
        if caller.token is not None:
            request.headers["X-Auth-Token"] = caller.token.to_text()
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def was_changed(self) -> bool:
        """Return whether rows were written since the objects were created or restored."""
        return self._data_version() != self._version

    def restore(self) -> None:
        """Restore all rows, if a request has changed some."""
        if not self.was_changed():
            return
        with sqlite3.connect(self._saved) as saved, sqlite3.connect(self._file) as live:
            saved.backup(live)
        self._version = self._data_version()

    def _data_version(self) -> int:
        return int(self._monitor.execute("PRAGMA data_version").fetchone()[0])

    # -- objects

    def _create_objects(self, tenant: str) -> dict[str, ObjectNames]:
        name = f"stack-{tenant}"
        made = self._member(tenant, "POST", "/stacks", stack_body(tenant, name))["stack"]
        path = f"/stacks/{name}/{made['id']}"
        links = self._member(tenant, "GET", f"{path}/resources/child")["resource"]["links"]
        (nested,) = [link["href"] for link in links if link["rel"] == "nested"]
        nested_name, nested_id = nested.split("/")[-2:]
        software_names = self._create_software(tenant)
        quarantined_id = self._quarantine(tenant, made["id"])
        own = {**self._stack_names(tenant, name, made["id"]), **software_names}
        return {
            "own": {**own, "quarantined_id": quarantined_id},
            "nested": self._stack_names(tenant, nested_name, nested_id),
        }

    def _stack_names(self, tenant: str, name: str, stack_id: str) -> dict[str, str]:
        path = f"/stacks/{name}/{stack_id}"
        snapshot = self._member(tenant, "POST", f"{path}/snapshots", {})
        event = self._member(tenant, "GET", f"{path}/resources/agent/events")["events"][0]
        plan = self._member(tenant, "POST", f"{path}/plans", {"action": "delete"})["plan"]
        return {
            "tenant": tenant, "stack_name": name, "stack_id": stack_id,
            "snapshot_id": snapshot["id"], "event_id": event["id"], "plan_id": plan["id"],
            "resource_id": self._resource_id(stack_id),
        }  # fmt: skip

    def _resource_id(self, stack_id: str) -> str:
        with self.service.database.read() as conn:
            return next(r.id for r in resources.list_by_stacks(conn, [stack_id]) if r.name == "r")

    def _quarantine(self, tenant: str, stack_id: str) -> str:
        """Quarantine a resource as an observer does."""
        now = self.service.clock()
        entry = quarantine_entry(
            f"quarantined-{'qp'.index(tenant)}",  # that of q comes first
            stack_id=stack_id,
            root_id=stack_id,
            project_id=tenant,
            resource_type="Test::Agent",
            physical_id=f"server-{tenant}",
            since=now,
            next_at=now,
        )
        with self.service.services.store.transaction() as tx:
            tx.quarantine.add([entry])
        return entry.resource_id

    def _create_software(self, tenant: str) -> dict[str, str]:
        config = self._member(tenant, "POST", "/software_configs", {"name": f"c-{tenant}"})
        config_id = config["software_config"]["id"]
        server_id = f"server-own-agent-{tenant}"
        row = SoftwareDeploymentRow(
            id=f"deployment-{tenant}",
            project_id=tenant,
            config_id=config_id,
            server_id=server_id,
            action="CREATE",
            status="IN_PROGRESS",
            status_reason="",
            stack_user_project_id=f"users-{tenant}",
            created_at=self.service.clock(),
        )
        with self.service.database.write() as conn:  # as the resource type creates one
            software.insert_deployment(conn, row)
        return {"config_id": config_id, "deployment_id": row.id, "server_id": server_id}

    def _member(self, tenant: str, method: str, path: str, body: Json = None) -> Json:
        caller = Caller(Token(tenant, ("member", "reader")), tenant)
        response = self.send(caller, method, path, body)
        assert response.status_int < 300, response.text
        return response.json

    # -- callers

    def _list_callers(self) -> dict[str, Caller]:
        return {
            "none": Caller(None, "p"),
            "reader": Caller(Token("p", ("reader",)), "p"),
            "member": Caller(Token("p", ("member", "reader")), "p"),
            "admin": Caller(Token("p", ("admin", "member", "reader")), "p"),
            "no_role": Caller(Token("p", ("other",)), "p"),
            "member_q": Caller(Token("q", ("member", "reader")), "q"),
            "url_p_q": Caller(Token("q", ("member", "reader")), "p"),
            "admin_q": Caller(Token("q", ("admin", "member", "reader")), "p"),
            "cloud_admin": Caller(
                Token("cloud", ("admin", "member", "reader", CLOUD_ADMIN)), "cloud"
            ),
            "agent": self._agent("p", "agent"),
            "agent_2": self._agent("p", "agent_2"),
            "agent_q": self._agent("q", "agent"),
            "url_p_agent": Caller(self._agent("p", "agent").token, "p"),
            "service": Caller(Token("service", ("service",)), "service"),
        }

    def _agent(self, tenant: str, user: str) -> Caller:
        tree_id = self.objects[tenant]["own"]["stack_id"]
        project = f"users-{tenant}"
        token = Token(project, (STACK_USER,), tree_id, DOMAIN, f"{user}-{tenant}")
        return Caller(token, project)
