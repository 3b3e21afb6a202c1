"""Tests of the users of servers' agents, and of the metadata that the agents receive."""

from __future__ import annotations

import base64
import email
import email.policy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.clients import endpoints
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import StackUser, StackUsers
from heat_convergence.clients.version_documents import VersionDocuments
from heat_convergence.common.errors import MissingCredentialError
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from heat_convergence.resources.openstack.nova import server_agents
from heat_convergence.resources.openstack.nova.servers import Server
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.evaluation import ValueAtPath
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.clients.fake_keystone import FakeKeystone

Json = Any
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOMAIN = ClientSettings(
    stack_user_domain_id="heat-domain",
    stack_domain_admin="domain_admin",
    stack_domain_admin_password="admin-password",
)
ContextBuilder = Callable[..., ResourceContext]
HEAT = {"software_config_transport": "POLL_SERVER_HEAT"}


@dataclass
class FakeStackCloud:
    """The emulation, with users of a fake Keystone."""

    cloud: SdkCloudClient
    users: StackUsers
    metadata_url: str | None = "http://cfn.example:8000/v1/"
    tree_id: str = "tree"
    server_auth_url: str = "http://keystone.example/v3"
    region: str = "R"
    key: str = "k"
    project_id: str = PROJECT_ID
    software: Any = None
    heat_base_url: str | None = "http://heat.example:8004"
    call_region: str = "R"

    def signed_url_base(self, url_type: str) -> str:
        return endpoints.signed_url_base(str(self.heat_base_url), url_type)

    def connect_as(self, user: StackUser) -> Any:
        """Return a connection of a user who has proved who they are."""
        assert self.users.issue_token(user)
        return self.cloud._connect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cloud, name)


@pytest.fixture
def server() -> Server:
    found = ResourceTypeRegistry(load_resource_types()).get("OS::Nova::Server")
    assert isinstance(found, Server)
    return found


@pytest.fixture
def fake() -> Iterator[FakeKeystone]:
    fake = FakeKeystone()
    yield fake
    fake.close()


def users_of(fake: FakeKeystone, how: ClientSettings = DOMAIN) -> StackUsers:
    service: Any = SimpleNamespace(auth_url=fake.url, documents=VersionDocuments())
    return StackUsers(how, service)


@pytest.fixture
def cloud(fake: FakeKeystone) -> FakeStackCloud:
    connection = connect(create_emulation())
    connected = SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))
    return FakeStackCloud(connected, users_of(fake))


@pytest.fixture
def build_context(server: Server, cloud: FakeStackCloud) -> ContextBuilder:
    def make(metadata: Json = None, **values: Json) -> ResourceContext:
        properties = {
            "image": "cirros",
            "flavor": "m1.nano",
            "networks": [],
            "user_data_format": "SOFTWARE_CONFIG",
            **values,
        }
        return ResourceContext(
            stack_id="s-1",
            stack_name="web",
            project_id=PROJECT_ID,
            resource_id="r-1",
            name="it",
            type=server.name,
            physical_name="web-it-1",
            physical_id=None,
            properties=resolve_properties(server.schema, properties),
            attributes={},
            data={},
            action=Action.CREATE,
            started_at=NOW,
            now=NOW,
            cloud=cloud,
            metadata=metadata or {},
        )

    return make


def recorded(server: Server, context: ResourceContext, verb: str = "create") -> ResourceContext:
    """Return the context as the row records it after a verb."""
    result = getattr(server, verb)(context)
    return replace(
        context,
        physical_id=result.physical_id or context.physical_id,
        data=context.data if result.data is None else result.data,
        attributes=result.attributes,
    )


def user_data_parts(server: Server, context: ResourceContext) -> dict[str, str]:
    """Return file name → content of the parts of a server's user data."""
    text = base64.b64decode(server.create_arguments(context)["user_data"]).decode()
    message = email.message_from_string(text, policy=email.policy.default)
    parts = message.iter_parts()
    return {str(part.get_filename()): part.get_content() for part in parts}


def test_agent_polls_the_orchestration_service(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    created = recorded(server, build_context(**HEAT))
    found = server.attribute(created, "os_collect_config")
    assert found["collectors"] == ["ec2", "heat", "local"]
    heat = found["heat"]
    user = fake.users[heat["user_id"]]
    assert (user["name"], user["password"]) == ("web-it-1", heat["password"])
    assert fake.grants == {(heat["project_id"], heat["user_id"], "role-heat_stack_user")}
    assert (heat["auth_url"], heat["region_name"]) == ("http://keystone.example/v3", "R")
    assert (heat["stack_id"], heat["resource_name"]) == ("web/s-1", "it")


def test_agent_polls_the_configured_metadata_url(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    created = recorded(server, build_context())
    found = server.attribute(created, "os_collect_config")
    assert found["collectors"] == ["ec2", "cfn", "local"]
    keys = fake.ec2[found["cfn"]["access_key_id"]]
    assert found["cfn"] == {
        "metadata_url": "http://cfn.example:8000/v1/",
        "access_key_id": keys["access"],
        "secret_access_key": keys["secret"],
        "stack_name": "web",
        "path": "it.Metadata",
    }


def test_server_that_was_never_created_shows_no_agent(
    server: Server, build_context: ContextBuilder
) -> None:
    """Heat may have made the agent's user before another resource failed."""
    created = recorded(server, build_context(**HEAT))
    assert server.attribute(replace(created, physical_id=None), "os_collect_config") is None


@pytest.mark.parametrize("more", [{}, HEAT])
def test_user_data_contains_the_metadata(
    server: Server, build_context: ContextBuilder, more: Json
) -> None:
    new = build_context({"mine": 1}, **more)
    created = recorded(server, new)
    parts = user_data_parts(server, replace(new, data=created.data))
    shown = server.shown_metadata(created, {"mine": 1})
    assert json.loads(parts["cfn-init-data"]) == shown
    assert shown["os-collect-config"] == server.attribute(created, "os_collect_config")
    assert (shown["mine"], shown["deployments"]) == (1, [])


def test_lost_create_is_resumed_with_the_same_user(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    new = build_context(**HEAT)
    first = recorded(server, new)
    found = recorded(server, replace(new, physical_id=server.find(new)), "resume_create")
    assert found.physical_id == first.physical_id
    assert server.attribute(found, "os_collect_config") == server.attribute(
        first, "os_collect_config"
    )
    again = server_agents.create_agent(new)  # of a create that goes on before the service
    assert again == first.data
    assert [user["name"] for user in fake.users.values()].count("web-it-1") == 1
    assert len(fake.ec2) == 1


def test_user_without_keys_gets_a_new_password(
    server: Server, build_context: ContextBuilder, cloud: FakeStackCloud, fake: FakeKeystone
) -> None:
    lost = cloud.users.ensure_user("web-it-1", cloud.users.ensure_project("tree"))
    created = recorded(server, build_context(**HEAT))
    heat = server.attribute(created, "os_collect_config")["heat"]
    assert heat["user_id"] == lost.id
    assert fake.users[lost.id]["password"] == heat["password"] != lost.password


def test_transport_changes_in_place(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    created = recorded(server, build_context())
    after = {**created.properties, **HEAT}
    result = server.update(replace(created, action=Action.UPDATE), after, frozenset(HEAT))
    assert result.data is not None
    changed = replace(created, properties=after, data=result.data)
    keys = fake.ec2[created.data["access"]]
    heat = server.attribute(changed, "os_collect_config")["heat"]
    assert heat["password"] == keys["secret"]
    assert len(fake.ec2) == 1


def test_delete_removes_the_user(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    created = recorded(server, build_context(**HEAT))
    server.delete(replace(created, action=Action.DELETE))
    assert "web-it-1" not in [user["name"] for user in fake.users.values()]
    lost = build_context(**HEAT)
    server_agents.create_agent(lost)  # and the server was never made
    nothing = replace(lost, physical_name="web-it-1", action=Action.DELETE)
    server.delete(replace(nothing, physical_id=created.physical_id))
    assert "web-it-1" not in [user["name"] for user in fake.users.values()]


def test_user_without_server_is_removed(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone
) -> None:
    lost = build_context(**HEAT)
    server_agents.create_agent(lost)
    assert server.find(replace(lost, action=Action.DELETE)) is None
    assert "web-it-1" not in [user["name"] for user in fake.users.values()]


@pytest.mark.parametrize("form", ["RAW", "HEAT_CFNTOOLS"])
def test_other_user_data_formats_have_no_agent(
    server: Server, build_context: ContextBuilder, fake: FakeKeystone, form: str
) -> None:
    created = recorded(server, build_context(user_data_format=form, user_data="x"))
    assert created.data == {}
    assert server.attribute(created, "os_collect_config") == {}
    assert server.shown_metadata(created, {"a": 1}) == {"a": 1}
    assert not server.shows_deployments(created)
    server.delete(replace(created, action=Action.DELETE))
    assert [path for _, path in fake.requests if "/users" in path] == []


def test_cfn_tools_receive_the_metadata_url(server: Server, build_context: ContextBuilder) -> None:
    parts = user_data_parts(server, build_context(user_data_format="HEAT_CFNTOOLS", user_data="x"))
    assert parts["cfn-metadata-server"] == "http://cfn.example:8000/v1/"
    assert "cfn-metadata-server" not in user_data_parts(
        server, build_context(user_data="#!/bin/sh")
    )


def test_no_user_is_created_without_an_endpoint(
    server: Server, build_context: ContextBuilder, cloud: FakeStackCloud, fake: FakeKeystone
) -> None:
    cloud.metadata_url = None
    assert recorded(server, build_context()).data == {}
    cloud.users = users_of(fake, ClientSettings())
    cloud.metadata_url = "http://cfn.example:8000/v1/"
    assert server_agents.create_agent(build_context()) == {}
    with pytest.raises(MissingCredentialError, match="stack_user_domain_id"):
        server_agents.create_agent(build_context(**HEAT))


def test_only_agents_have_secret_data(server: Server) -> None:
    assert server.has_secret_data({"user_data_format": "SOFTWARE_CONFIG"})
    assert server.has_secret_data({"user_data_format": {"get_attr": ["a", "b"]}})
    assert not server.has_secret_data({"user_data_format": "RAW"})
    assert not server.has_secret_data({})
    name = (server.name, "user_data_format")
    usual = ResourceTypeRegistry.load({name: "SOFTWARE_CONFIG"}).get(server.name)
    assert usual.has_secret_data({})
    assert not usual.has_secret_data({"user_data_format": "RAW"})


def test_operator_overrides_property_defaults() -> None:
    one, other = (
        ("OS::Nova::Server", "user_data_format"),
        ("OS::Heat::SoftwareDeploymentGroup", "signal_transport"),
    )
    chosen = ResourceTypeRegistry.load({one: "RAW", other: "HEAT_SIGNAL"})
    assert chosen.get(one[0]).schema.properties[one[1]].default == "RAW"
    shown = chosen.schema_view(other[0])["properties"]["signal_transport"]
    assert shown["default"] == "HEAT_SIGNAL"
    assert (
        ResourceTypeRegistry.load().get(one[0]).schema.properties[one[1]].default
        == "HEAT_CFNTOOLS"
    )


@pytest.mark.parametrize(
    "url", ["http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/"]
)
def test_metadata_url_has_a_version(url: str) -> None:
    assert endpoints.metadata_base_url(url) == "http://h:8000/v1/"


class TestConsoles:
    def test_console_urls_are_requested_by_the_reader(
        self, server: Server, build_context: ContextBuilder, cloud: FakeStackCloud
    ) -> None:
        created = recorded(server, build_context(user_data_format="RAW"))
        assert server.attribute(created, "console_urls") == {}  # nobody asks
        with use_request_cloud(cloud.cloud):
            found = server.attribute(created, "console_urls")
            assert list(found) == [
                "novnc", "xvpvnc", "spice-html5", "rdp-html5", "serial", "webmks",
            ]  # fmt: skip
            assert found["novnc"].startswith("http://consoles.example/")
            single = server.attribute_at_path(created, "console_urls", ("novnc",))
        assert isinstance(single, ValueAtPath)
        assert single.value.startswith("http://consoles.example/")

    def test_unavailable_console_has_a_reason(
        self, server: Server, build_context: ContextBuilder, cloud: FakeStackCloud
    ) -> None:
        """Heat's texts, which are values: the other outputs are shown."""
        created = recorded(server, build_context(user_data_format="RAW"))
        with use_request_cloud(cloud.cloud):
            found = server.attribute(created, "console_urls")["webmks"]
            single = server.attribute_at_path(created, "console_urls", ("webmks",))
            unknown = server.attribute_at_path(created, "console_urls", ("tty",))
        assert isinstance(single, ValueAtPath)
        assert single.value == found
        assert found.startswith("Cannot get console url: ")
        assert "Unavailable console type webmks." in found
        assert isinstance(unknown, ValueAtPath)
        assert unknown.value == 'Unsupported console_type "tty"'
