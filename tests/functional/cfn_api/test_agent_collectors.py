"""os-collect-config, the agent in servers, reads what this service has published for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
from os_collect_config import cfn, collect, exc, heat, request
from oslo_config import cfg

from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter
from heat_convergence.testing.openstack.emulation import EmulatedRequest
from tests.functional.cfn_api.conftest import DOMAIN, SignatureKeystone
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import TEXT, ServerAgentTestbed

Json = Any
CONF = cfg.CONF
Configure = Callable[..., None]


@pytest.fixture(scope="module", autouse=True)
def agent_options() -> None:
    """Register the agent's options, which are global."""
    collect.setup_conf()


@pytest.fixture
def configure() -> Iterator[Configure]:
    """Set the options of a collector, as ``os-collect-config.conf`` does."""
    names: list[tuple[str, str]] = []

    def set_options(group: str, values: Json) -> None:
        for name, value in values.items():
            CONF.set_override(name, [value] if name == "path" else value, group)
            names.append((name, group))

    yield set_options
    for name, group in names:
        CONF.clear_override(name, group)


@pytest.fixture
def stack(service: LocalService, connect: Any) -> str:
    """The name of a stack with an agent."""
    metadata = {"os-collect-config": {"a": "<é>"}, "deployments": [{"name": "d", "group": "x"}]}
    resources = {"one": {"type": "Test::Agent", "metadata": metadata}}
    body = {"heat_template_version": "2018-08-31", "resources": resources}
    connect().create_stack(StackName="s", TemplateBody=json.dumps(body))
    return "s"


@pytest.fixture
def agent(service: LocalService, keystone: SignatureKeystone, stack: str) -> None:
    keystone.keys["agent"] = "agent-secret"
    keystone.tokens["agent"] = f"{DOMAIN}/users/{id_of_stack(service)}/heat_stack_user"


def section(url: str, **changes: Json) -> Json:
    return {
        "metadata_url": url,
        "stack_name": "s",
        "path": "one.Metadata",
        "access_key_id": "agent",
        "secret_access_key": "agent-secret",  # pragma: allowlist secret
        **changes,
    }


@pytest.mark.usefixtures("agent")
def test_cfn_collector_reads_the_metadata(url: str, configure: Configure) -> None:
    configure("cfn", section(url))
    name, found = cfn.Collector().collect()[0]
    assert name == "cfn"
    assert found["os-collect-config"] == {"a": "<é>"}
    assert found["deployments"] == [{"name": "d", "group": "x"}]
    configure("cfn", {"path": "one.Metadata.os-collect-config"})
    assert cfn.Collector().collect()[0][1] == {"a": "<é>"}


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    "changes",
    [
        {"secret_access_key": "wrong"},  # pragma: allowlist secret
        {"access_key_id": "nobody"},
        {"stack_name": "other"},
        {"path": "two.Metadata"},
    ],
)
def test_cfn_collector_is_refused(url: str, configure: Configure, changes: Json) -> None:
    configure("cfn", section(url, **changes))
    with pytest.raises(exc.CfnMetadataNotAvailable):
        cfn.Collector().collect()


class LoginOfAgent:
    """Keystone's client for an agent, whose token says which user it is."""

    def __init__(self, keystone: SignatureKeystone, endpoint: str) -> None:
        self.keystone = keystone
        self.service_catalog = SimpleNamespace(url_for=lambda **_values: endpoint)

    def discover(self, auth_url: str) -> Any:
        return SimpleNamespace(url_for=lambda _version: auth_url)

    def Client(self, *, password: str, **_values: Json) -> Any:  # noqa: N802
        if password != "agent-secret":  # pragma: allowlist secret
            raise ValueError("Keystone rejects the password")
        token = self.keystone.tokens["agent"]
        return SimpleNamespace(service_catalog=self.service_catalog, auth_token=token)


def heat_section(own_stack_id: str, **changes: Json) -> Json:
    return {
        "auth_url": "http://keystone.example/v3",
        "user_id": "u",
        "password": "agent-secret",  # pragma: allowlist secret
        "project_id": "users",
        "stack_id": f"s/{own_stack_id}",
        "resource_name": "one",
        **changes,
    }


@pytest.fixture
def collector(keystone: SignatureKeystone, orchestration_url: str) -> heat.Collector:
    login = LoginOfAgent(keystone, orchestration_url)
    return heat.Collector(keystoneclient=login, discover_class=login.discover)


def id_of_stack(service: LocalService) -> str:
    with service.database.read() as conn:
        (found,) = stacks.list_page(conn, StackFilter("p"))
    return found.id


@pytest.mark.usefixtures("agent")
def test_heat_collector_reads_the_metadata(
    service: LocalService, configure: Configure, collector: heat.Collector
) -> None:
    configure("heat", heat_section(id_of_stack(service)))
    name, found = collector.collect()[0]
    assert name == "heat"
    assert found["os-collect-config"] == {"a": "<é>"}
    assert found["deployments"] == [{"name": "d", "group": "x"}]


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    "changes",
    [
        {"password": "wrong"},  # pragma: allowlist secret
        {"stack_id": "other/1"},
        {"resource_name": "two"},
    ],
)
def test_heat_collector_is_refused(
    service: LocalService, configure: Configure, collector: heat.Collector, changes: Json
) -> None:
    configure("heat", heat_section(id_of_stack(service), **changes))
    with pytest.raises(exc.HeatMetadataNotAvailable):
        collector.collect()


class ObjectSession:
    """A session of ``requests`` that reaches the object storage of an emulation."""

    def __init__(self, testbed: ServerAgentTestbed) -> None:
        self.testbed = testbed
        self.text = ""
        self.changes = 0

    def head(self, url: str, timeout: float) -> Any:
        path = "/" + unquote(urlsplit(url).path).split("/", 4)[4]
        ask = EmulatedRequest("object_store", "GET", path, {}, None)
        text = self.testbed.sky.emulation.handle(ask).content.decode()
        if text != self.text:
            self.text, self.changes = text, self.changes + 1
        return SimpleNamespace(headers={"last-modified": formatdate(self.changes, usegmt=True)})

    def get(self, url: str, timeout: float) -> Any:
        return SimpleNamespace(text=self.text, raise_for_status=lambda: None)


def template(*names: str) -> Json:
    host = {"software_config_transport": "POLL_TEMP_URL"}
    properties = {
        "config": {"get_resource": "config"},
        "server": {"get_resource": "host"},
        "signal_transport": "NO_SIGNAL",
    }
    resources = {
        "host": {"type": "OS::Heat::DeployedServer", "properties": host},
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": TEXT}},
        **{
            name: {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {**properties, "name": name},
            }
            for name in names
        },
    }
    outputs = {"agent": {"get_attr": ["host", "os_collect_config", "request"]}}
    return hot_template(resources, outputs=outputs)


def test_request_collector_reads_published_metadata(tmp_path: Path, configure: Configure) -> None:
    testbed = ServerAgentTestbed(tmp_path)
    client = ProjectClient(testbed.service)
    client.create("s", template("a"))
    configure("request", client.outputs("s")["agent"])
    implementation = SimpleNamespace(
        Session=lambda: ObjectSession(testbed), exceptions=requests.exceptions
    )
    collector = request.Collector(implementation)
    merged = dict(collector.collect())
    assert [each["name"] for each in merged["request"]["deployments"]] == ["a"]
    with pytest.raises(exc.RequestMetadataNotAvailable):
        collector.collect()  # nothing has changed
    client.update("s", template("a", "b"))
    merged = dict(collector.collect())
    assert [each["name"] for each in merged["request"]["deployments"]] == ["a", "b"]
    testbed.service.close()
    testbed.fake.close()
