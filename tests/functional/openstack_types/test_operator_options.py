"""Options that change what types are like: names, scheduler hints, backups."""

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
from tests.functional.openstack_types.test_openstack_replacement import (
    ClockedEmulation,
    emulation_service,
    make,
    template,
)

Json = Any
LONG = "my-stack-with-a-name-that-nobody-would-like-to-read-aloud"


@pytest.fixture
def sky() -> ClockedEmulation:
    return ClockedEmulation()


def chosen(**values: Json) -> ResourceTypeRegistry:
    """The types where an operator has set these options, written group__name."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register_all_opts(conf)
    for key, value in values.items():
        group, _dash, name = key.rpartition("__")
        conf.set_override(name, value, group=group or None)
    return ResourceTypeRegistry.load(
        settings.property_defaults(conf), settings.resource_type_traits(conf)
    )


def server(**more: Json) -> Json:
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"subnet": {"get_resource": "subnet"}}],
        **more,
    }
    return {"type": "OS::Nova::Server", "properties": properties}


@pytest.mark.parametrize("most", [53, 20])
def test_names_of_servers_are_cut(tmp_path: Any, sky: ClockedEmulation, most: int) -> None:
    service = emulation_service(sky, tmp_path, registry=chosen(max_server_name_length=most))
    make(service, template(one=server(), two=server(), named=server(name=LONG)), stack_name=LONG)
    names = [body["name"] for body in sky.request_bodies("nova.server")]
    assert names.count(LONG) == 1  # what a template says is left alone
    cut = [name for name in names if name != LONG]
    assert [len(name) for name in cut] == [most, most]
    assert {name[:3] for name in cut} == {f"{LONG[:2]}-"}
    assert len(set(cut)) == 2
    service.close()


def test_a_server_that_a_lost_call_made_is_found_by_the_name_that_it_was_given(
    tmp_path: Any, sky: ClockedEmulation
) -> None:
    service = emulation_service(sky, tmp_path, registry=chosen(max_server_name_length=20))
    sky.emulation.inject_failure("POST", "/servers$", 504, after_processing=True)
    make(service, template(one=server()), stack_name=LONG)
    assert [failure.remaining for failure in sky.emulation.injected_failures] == [0]
    assert len(sky.request_bodies("nova.server")) == 1
    service.close()


class SchedulerHintCloud(SdkCloudClient):
    """A stack's cloud where schedulers are told; keeps what it is asked."""

    settings = ClientSettings(send_scheduler_hints=True)
    tree_id = "the-root"

    def __init__(self, sky: ClockedEmulation) -> None:
        connection = connect(sky.emulation)
        super().__init__("telling", PROJECT_ID, lambda: connection, RequestLimiter(4))
        self.asked: list[CloudRequest] = []

    def send(self, request: CloudRequest) -> CloudResponse:
        self.asked.append(request)
        return super().send(request)


@pytest.mark.parametrize("wanted", [True, False])
def test_schedulers_are_told_of_the_stack(
    tmp_path: Any, sky: ClockedEmulation, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    monkeypatch.setattr(
        SchedulerHintCloud, "settings", ClientSettings(send_scheduler_hints=wanted)
    )
    cloud = SchedulerHintCloud(sky)
    service = emulation_service(sky, tmp_path, cloud_of=lambda tree: sky.cloud_for(tree) and cloud)
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    path = make(service, template(v=volume, s=server(scheduler_hints={"group": "g"})))
    told = {
        "heat_root_stack_id": "the-root",
        "heat_stack_id": path.rsplit("/", 1)[1],
        "heat_stack_name": "s",
    }
    bodies = {each.path: each.body for each in cloud.asked if each.method == "POST"}
    server_hints = bodies["/servers"].get("os:scheduler_hints")
    volume_hints = bodies["/volumes"].get("OS-SCH-HNT:scheduler_hints")
    if not wanted:
        assert (server_hints, volume_hints) == ({"group": "g"}, None)
        return
    assert {name: server_hints[name] for name in told} == told
    assert {name: volume_hints[name] for name in told} == told
    assert server_hints["group"] == "g"
    names = (server_hints["heat_resource_name"], volume_hints["heat_resource_name"])
    assert names == ("s", "v")
    assert len({hints["heat_resource_uuid"] for hints in (server_hints, volume_hints)}) == 2
    service.close()


@pytest.mark.parametrize("enabled", [True, False])
def test_backups_may_be_forbidden(tmp_path: Any, sky: ClockedEmulation, enabled: bool) -> None:
    service = emulation_service(sky, tmp_path, registry=chosen(volumes__backups_enabled=enabled))
    volume = {
        "type": "OS::Cinder::Volume",
        "properties": {"size": 1},
        "deletion_policy": "Snapshot",
    }
    body = {"stack_name": "s", "template": template(v=volume)}
    answer = service.send("POST", "/stacks", body)
    if enabled:
        assert answer.status_int == 201, answer.text
    else:
        assert answer.status_int == 400
        assert "resources.v" in answer.json["error"]["message"]
        assert "Snapshot" in answer.json["error"]["message"]
    service.close()


@pytest.mark.parametrize("given", ["", "internal", "internalURL"])
def test_guests_log_in_at_the_endpoint_that_the_operator_names(given: str) -> None:
    asked = []

    def endpoint(**query: str) -> str:
        asked.append(query)
        return "http://keystone.inside:5000"

    how = ClientSettings(auth_uri="http://keystone.example:5000", server_keystone_interface=given)
    clouds = SimpleNamespace(settings=how, service_auth=None,
        load_credential=lambda _tree: SimpleNamespace(
            intent_name=None, region="R"))  # fmt: skip
    cloud = StackCloud("tree", clouds)  # type: ignore[arg-type]
    cloud.__dict__["session"] = SimpleNamespace(get_endpoint=endpoint)
    inside = "http://keystone.inside:5000/v3"
    assert cloud.server_auth_url == (inside if given else "http://keystone.example:5000/v3")
    query = {"service_type": "identity", "interface": "internal", "region_name": "R"}
    assert asked == ([query] if given else [])
