"""Empty texts in properties that Heat takes as not assigned."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.resources.protocol.properties import assigned_property_names
from tests.functional.openstack_types.driver_bench import DriverBench, server

Json = Any


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


def arguments(bench: DriverBench, type_name: str, **properties: Json) -> Json:
    """Return the arguments of a create call."""
    if type_name == "OS::Nova::Server":
        context = server(bench, **properties)
    else:
        context = bench.context(type_name, {"size": 1, **properties})
    resource_type = bench.registry.get(type_name)
    return resource_type.create_arguments(context)


@pytest.mark.parametrize(
    ("type_name", "name", "argument"),
    [
        ("OS::Nova::Server", "availability_zone", "availability_zone"),
        ("OS::Nova::Server", "key_name", "key_name"),
        ("OS::Nova::Server", "admin_pass", "adminPass"),
        ("OS::Nova::Server", "image", "imageRef"),
        ("OS::Cinder::Volume", "availability_zone", "availability_zone"),
        ("OS::Cinder::Volume", "volume_type", "volume_type"),
        ("OS::Cinder::Volume", "image", "imageRef"),
        ("OS::Cinder::Volume", "snapshot_id", "snapshot_id"),
        ("OS::Cinder::Volume", "source_volid", "source_volid"),
    ],
)
def test_empty_text_is_not_sent(
    bench: DriverBench, type_name: str, name: str, argument: str
) -> None:
    assert argument not in arguments(bench, type_name, **{name: ""})


def test_empty_text_is_sent_where_it_is_a_value(bench: DriverBench) -> None:
    assert arguments(bench, "OS::Cinder::Volume", description="")["description"] == ""


def test_reference_inside_a_list_may_be_empty(bench: DriverBench) -> None:
    net = bench.create(bench.context("OS::Neutron::Net", {}))
    fixed_ips = [{"subnet": "", "ip_address": "10.0.0.7"}]
    properties = {"network": net.physical_id, "fixed_ips": fixed_ips}
    context = bench.context("OS::Neutron::Port", properties)
    sent = bench.registry.get("OS::Neutron::Port").create_arguments(context)
    assert sent["fixed_ips"] == [{"ip_address": "10.0.0.7"}]


def test_empty_image_leaves_the_devices_to_boot_from(bench: DriverBench) -> None:
    volume = bench.create(bench.context("OS::Cinder::Volume", {"size": 1}))
    device = {"device_name": "vda", "volume_id": volume.physical_id}
    sent = arguments(bench, "OS::Nova::Server", image="", block_device_mapping_v2=[device])
    assert "imageRef" not in sent
    assert [each["uuid"] for each in sent["block_device_mapping_v2"]] == [volume.physical_id]


def test_empty_source_counts_as_none(bench: DriverBench) -> None:
    schema = bench.registry.get("OS::Cinder::Volume").schema
    names = assigned_property_names(schema, {"image": "", "source_volid": "x", "size": 1})
    assert names == {"source_volid", "size"}


@pytest.mark.parametrize(
    ("before", "after", "replaced"), [(None, "", False), ("", None, False), ("", "cirros", True)]
)
def test_empty_image_of_a_server_is_no_change(
    bench: DriverBench, before: str | None, after: str | None, replaced: bool
) -> None:
    resource_type = bench.registry.get("OS::Nova::Server")
    properties = [{} if image is None else {"image": image} for image in (before, after)]
    changed = frozenset({"image"})
    assert resource_type.needs_replace(properties[0], properties[1], changed) is replaced
