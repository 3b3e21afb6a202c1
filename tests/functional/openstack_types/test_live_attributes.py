"""Attributes that others change: read anew by the reads of outputs and of single resources."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.clients.rest_client import CloudRequest, CloudResponse, SdkCloudClient
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.resources.protocol.live_attributes import LiveAttributes
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.reads.resource_attributes import MAX_LIVE_READS
from tests.functional.fake_server import get_outputs
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    port,
    server,
    template,
)
from tests.functional.user_clouds import let_requests_use

Json = Any


class CountingCloud:
    """The cloud of a user, which counts requests and may fail."""

    def __init__(self, cloud: SdkCloudClient, project_id: str = "p") -> None:
        self._cloud = cloud
        self.cache_key = cloud.cache_key
        self.project_id: str | None = project_id
        self.sent: list[CloudRequest] = []
        self.fails = False

    def send(self, request: CloudRequest) -> CloudResponse:
        self.sent.append(request)
        if self.fails:
            raise TemporaryFailure("the service does not answer")
        return self._cloud.send(request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)


@pytest.fixture
def cloud(
    service: LocalService, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> CountingCloud:
    """Return the cloud of the user who reads."""
    found = CountingCloud(emulated_cloud.cloud_for(""))
    let_requests_use(monkeypatch, found)
    return found


def with_outputs(stack: Json, **attributes: Json) -> Json:
    outputs = {name: {"value": {"get_attr": path}} for name, path in attributes.items()}
    return {**stack, "outputs": outputs}


def volume() -> Json:
    return {"type": "OS::Cinder::Volume", "properties": {"size": 1}}


def test_volume_is_in_use_after_its_attachment(
    service: LocalService, cloud: CountingCloud
) -> None:
    attachment = {
        "type": "OS::Cinder::VolumeAttachment",
        "properties": {
            "volume_id": {"get_resource": "volume"},
            "instance_uuid": {"get_resource": "server"},
        },
    }
    stack = template(port=port(), server=server(), volume=volume(), attachment=attachment)
    path = create_stack(service, with_outputs(stack, status=["volume", "status"]))
    assert get_outputs(service, path) == {"status": "in-use"}
    shown = service.send("GET", f"{path}/resources/volume").json["resource"]
    assert shown["attributes"]["status"] == "in-use"
    shown = service.send("GET", f"{path}/outputs/status").json["output"]
    assert shown["output_value"] == "in-use"


def test_network_shows_its_subnets_and_server_its_later_floating_ip(
    service: LocalService, cloud: CountingCloud
) -> None:
    floating = {"type": "OS::Neutron::FloatingIP", "depends_on": "server", "properties": {
        "floating_network": "public", "port_id": {"get_resource": "port"}}}  # fmt: skip
    stack = with_outputs(template(port=port(), server=server(), floating=floating),
                         subnets=["net", "subnets"], addresses=["server", "addresses"],
                         floating=["floating", "floating_ip_address"])  # fmt: skip
    path = create_stack(service, stack)
    outputs = get_outputs(service, path)
    assert len(outputs["subnets"]) == 1
    for addresses in outputs["addresses"].values():
        assert outputs["floating"] in [each["addr"] for each in addresses]


def test_one_read_serves_all_attributes_of_a_resource(
    service: LocalService, cloud: CountingCloud
) -> None:
    path = create_stack(service, with_outputs(template(volume=volume()), a=["volume", "status"],
                        b=["volume", "show"], c=["volume", "attachments"]))  # fmt: skip
    cloud.sent.clear()
    get_outputs(service, path)
    assert len(cloud.sent) == 1


def test_attributes_that_only_updates_change_are_not_read(
    service: LocalService, cloud: CountingCloud
) -> None:
    path = create_stack(service, with_outputs(template(volume=volume()),
                        a=["volume", "display_name"], b=["subnet", "cidr"]))  # fmt: skip
    cloud.sent.clear()
    assert get_outputs(service, path)["b"] == "10.90.0.0/24"
    assert cloud.sent == []


def test_number_of_reads_is_bounded(service: LocalService, cloud: CountingCloud) -> None:
    names = [f"v{number}" for number in range(MAX_LIVE_READS + 3)]
    stack = with_outputs(
        template(**{name: volume() for name in names}),
        **{name: [name, "status"] for name in names},
    )
    path = create_stack(service, stack)
    cloud.sent.clear()
    assert set(get_outputs(service, path).values()) == {"available"}
    assert len(cloud.sent) == MAX_LIVE_READS


def test_lists_of_resources_ask_no_service(service: LocalService, cloud: CountingCloud) -> None:
    path = create_stack(service, template(volume=volume()))
    cloud.sent.clear()
    listed = service.send("GET", f"{path}/resources?with_detail=true").json["resources"]
    assert {"available"} == {
        each["attributes"]["status"] for each in listed if each["resource_name"] == "volume"
    }
    assert cloud.sent == []


def test_failing_service_receives_one_request_and_recorded_values_stay(
    service: LocalService, cloud: CountingCloud
) -> None:
    names = ("one", "two")
    stack = with_outputs(
        template(**{name: volume() for name in names}),
        **{name: [name, "status"] for name in names},
    )
    path = create_stack(service, stack)
    cloud.sent.clear()
    cloud.fails = True
    assert get_outputs(service, path) == {"one": "available", "two": "available"}
    assert len(cloud.sent) == 1


def test_user_of_another_project_reads_what_is_recorded(
    service: LocalService, cloud: CountingCloud
) -> None:
    path = create_stack(service, with_outputs(template(volume=volume()), a=["volume", "status"]))
    cloud.sent.clear()
    cloud.project_id = "other"
    assert get_outputs(service, path) == {"a": "available"}
    assert cloud.sent == []


def test_object_that_somebody_deleted_has_no_status(
    service: LocalService, cloud: CountingCloud, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, with_outputs(template(volume=volume()), a=["volume", "status"]))
    (body,) = emulated_cloud.bodies("cinder.volume")
    cloud.send(CloudRequest("block_storage", "DELETE", f"/volumes/{body['id']}"))
    emulated_cloud.emulation.now_s += 60
    assert get_outputs(service, path) == {"a": None}


def test_live_attributes_are_declared() -> None:
    types = [each for each in ResourceTypeRegistry.load() if isinstance(each, LiveAttributes)]
    live = {each.name: each.live_attributes for each in types}
    assert "status" in live["OS::Cinder::Volume"]
    assert "networks" in live["OS::Nova::Server"]
    assert all(
        each.schema.has_attribute(name) for each in types for name in each.spec.live_attributes
    )
