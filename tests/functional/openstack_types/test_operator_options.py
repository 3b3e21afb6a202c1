"""Options that change the behavior of types: names, scheduler hints, backups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from heat_convergence.cli.components import settings
from heat_convergence.clients.clouds import StackCloud
from heat_convergence.clients.rest_client import (
    CloudRequest,
    CloudResponse,
    RequestLimiter,
    SdkCloudClient,
)
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.conf import opts
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    emulation_service,
    template,
)

Json = Any
LONG_NAME = "my-stack-with-a-name-that-nobody-would-like-to-read-aloud"


def registry_with_options(**values: Json) -> ResourceTypeRegistry:
    """Return the types with these options, written as ``group__name``."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register_all_opts(conf)
    for key, value in values.items():
        group, _dash, name = key.rpartition("__")
        conf.set_override(name, value, group=group or None)
    return ResourceTypeRegistry.load(
        settings.property_defaults(conf), settings.resource_type_traits(conf)
    )


def server(**extra: Json) -> Json:
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"subnet": {"get_resource": "subnet"}}],
        **extra,
    }
    return {"type": "OS::Nova::Server", "properties": properties}


@pytest.mark.parametrize("limit", [53, 20])
def test_server_names_are_truncated(
    tmp_path: Any, emulated_cloud: ClockedEmulation, limit: int
) -> None:
    service = emulation_service(
        emulated_cloud, tmp_path, registry=registry_with_options(max_server_name_length=limit)
    )
    create_stack(
        service,
        template(one=server(), two=server(), named=server(name=LONG_NAME)),
        stack_name=LONG_NAME,
    )
    names = [body["name"] for body in emulated_cloud.bodies("nova.server")]
    assert names.count(LONG_NAME) == 1  # a name of the template is not truncated
    truncated = [name for name in names if name != LONG_NAME]
    assert [len(name) for name in truncated] == [limit, limit]
    assert {name[:3] for name in truncated} == {f"{LONG_NAME[:2]}-"}
    assert len(set(truncated)) == 2
    service.close()


def test_server_of_lost_response_is_found_by_truncated_name(
    tmp_path: Any, emulated_cloud: ClockedEmulation
) -> None:
    service = emulation_service(
        emulated_cloud, tmp_path, registry=registry_with_options(max_server_name_length=20)
    )
    emulated_cloud.emulation.inject_failure("POST", "/servers$", 504, after_processing=True)
    create_stack(service, template(one=server()), stack_name=LONG_NAME)
    assert [failure.remaining for failure in emulated_cloud.emulation.injected_failures] == [0]
    assert len(emulated_cloud.bodies("nova.server")) == 1
    service.close()


class SchedulerHintCloud(SdkCloudClient):
    """A stack's cloud with scheduler hints that records its requests."""

    settings = ClientSettings(send_scheduler_hints=True)
    tree_id = "the-root"

    def __init__(self, emulated_cloud: ClockedEmulation) -> None:
        connection = connect(emulated_cloud.emulation)
        super().__init__("hints", PROJECT_ID, lambda: connection, RequestLimiter(4))
        self.requests: list[CloudRequest] = []

    def send(self, request: CloudRequest) -> CloudResponse:
        self.requests.append(request)
        return super().send(request)


@pytest.mark.parametrize("enabled", [True, False])
def test_scheduler_hints_name_the_stack(
    tmp_path: Any, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    monkeypatch.setattr(
        SchedulerHintCloud, "settings", ClientSettings(send_scheduler_hints=enabled)
    )
    cloud = SchedulerHintCloud(emulated_cloud)
    service = emulation_service(
        emulated_cloud, tmp_path, cloud_of=lambda tree: emulated_cloud.cloud_for(tree) and cloud
    )
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    path = create_stack(service, template(v=volume, s=server(scheduler_hints={"group": "g"})))
    expected = {
        "heat_root_stack_id": "the-root",
        "heat_stack_id": path.rsplit("/", 1)[1],
        "heat_stack_name": "s",
    }
    bodies = {each.path: each.body for each in cloud.requests if each.method == "POST"}
    server_hints = bodies["/servers"].get("os:scheduler_hints")
    volume_hints = bodies["/volumes"].get("OS-SCH-HNT:scheduler_hints")
    if not enabled:
        assert (server_hints, volume_hints) == ({"group": "g"}, None)
        return
    assert {name: server_hints[name] for name in expected} == expected
    assert {name: volume_hints[name] for name in expected} == expected
    assert server_hints["group"] == "g"
    names = (server_hints["heat_resource_name"], volume_hints["heat_resource_name"])
    assert names == ("s", "v")
    assert len({hints["heat_resource_uuid"] for hints in (server_hints, volume_hints)}) == 2
    service.close()


@pytest.mark.parametrize("enabled", [True, False])
def test_backups_can_be_disabled(
    tmp_path: Any, emulated_cloud: ClockedEmulation, enabled: bool
) -> None:
    service = emulation_service(
        emulated_cloud, tmp_path, registry=registry_with_options(volumes__backups_enabled=enabled)
    )
    volume = {
        "type": "OS::Cinder::Volume",
        "properties": {"size": 1},
        "deletion_policy": "Snapshot",
    }
    body = {"stack_name": "s", "template": template(v=volume)}
    response = service.send("POST", "/stacks", body)
    if enabled:
        assert response.status_int == 201, response.text
    else:
        assert response.status_int == 400
        assert "resources.v" in response.json["error"]["message"]
        assert "Snapshot" in response.json["error"]["message"]
    service.close()


@pytest.mark.parametrize("interface", ["", "internal", "internalURL"])
def test_servers_authenticate_at_configured_endpoint(interface: str) -> None:
    requests = []

    def endpoint(**query: str) -> str:
        requests.append(query)
        return "http://keystone.inside:5000"

    settings = ClientSettings(
        auth_uri="http://keystone.example:5000", server_keystone_interface=interface
    )
    clouds = SimpleNamespace(settings=settings, service_auth=None,
        load_credential=lambda _tree: SimpleNamespace(
            intent_name=None, region="R"))  # fmt: skip
    cloud = StackCloud("tree", clouds)  # type: ignore[arg-type]
    cloud._session = SimpleNamespace(get_endpoint=endpoint)  # type: ignore[assignment]
    inside = "http://keystone.inside:5000/v3"
    assert cloud.server_auth_url == (inside if interface else "http://keystone.example:5000/v3")
    query = {"service_type": "identity", "interface": "internal", "region_name": "R"}
    assert requests == ([query] if interface else [])
