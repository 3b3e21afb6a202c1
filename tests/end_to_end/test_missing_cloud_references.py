"""References to missing resources and services of the cloud.

A missing resource is rejected with the path of its property; a missing service makes its types
unavailable, and no others.
"""

from __future__ import annotations

from typing import Any

import pytest
from heatclient.exc import HTTPBadRequest, HTTPNotFound

from tests.end_to_end.harness import TargetCloud

Json = Any
SERVER = {"image": "cirros", "flavor": "m1.nano"}
MISSING_REFERENCES: list[tuple[str, Json, str, str]] = [
    (
        "OS::Nova::Server",
        {**SERVER, "image": "none"},
        "image",
        "The image (none) could not be found.",
    ),
    (
        "OS::Nova::Server",
        {**SERVER, "flavor": "none"},
        "flavor",
        "The flavor (none) could not be found.",
    ),
    (
        "OS::Nova::Server",
        {**SERVER, "key_name": "none"},
        "key_name",
        "The key (none) could not be found.",
    ),
    (
        "OS::Nova::Server",
        {**SERVER, "networks": [{"network": "none"}]},
        "networks[0].network",
        "The network (none) could not be found.",
    ),
    (
        "OS::Neutron::Port",
        {"network": "none"},
        "network",
        "The network (none) could not be found.",
    ),
    (
        "OS::Neutron::Port",
        {"network": "public", "fixed_ips": [{"subnet": "none"}]},
        "fixed_ips[0].subnet",
        "The subnet (none) could not be found.",
    ),
    (
        "OS::Neutron::RouterInterface",
        {"router": "none", "subnet": "none"},
        "router",
        "The router (none) could not be found.",
    ),
    (
        "OS::Cinder::Volume",
        {"size": 1, "volume_type": "none"},
        "volume_type",
        "The volume type (none) could not be found.",
    ),
    (
        "OS::Cinder::Volume",
        {"snapshot_id": "none"},
        "snapshot_id",
        "The snapshot (none) could not be found.",
    ),
    (
        "OS::Cinder::VolumeAttachment",
        {"instance_uuid": "x", "volume_id": "none"},
        "volume_id",
        "The volume (none) could not be found.",
    ),
]


def template(type_name: str, properties: Json) -> Json:
    return {
        "heat_template_version": "2016-10-14",
        "resources": {"it": {"type": type_name, "properties": properties}},
    }


def test_missing_reference_is_rejected_with_property_path(
    target_cloud: TargetCloud, deploy: Any
) -> None:
    deploy(target_cloud)
    user = target_cloud.heat_user()
    for type_name, properties, path, message in MISSING_REFERENCES:
        with pytest.raises(HTTPBadRequest) as caught:
            user.create("bad", template(type_name, properties))
        assert f"resources.it.properties.{path}" in str(caught.value)
        assert message in str(caught.value)
        with pytest.raises(HTTPNotFound):
            user.heat.stacks.get("bad")


def test_missing_service_disables_only_its_types(
    emulated_target_cloud: TargetCloud, deploy: Any
) -> None:
    assert emulated_target_cloud.emulated_cloud is not None
    del emulated_target_cloud.emulated_cloud.keystone.endpoints["load-balancer"]
    del emulated_target_cloud.emulated_cloud.keystone.endpoints["block-storage"]
    deploy(emulated_target_cloud)
    user = emulated_target_cloud.heat_user()
    for type_name, properties in (
        ("OS::Octavia::Pool", {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}),
        ("OS::Cinder::Volume", {"size": 1}),
    ):
        with pytest.raises(HTTPBadRequest) as caught:
            user.create("bad", template(type_name, properties))
        message = str(caught.value)
        assert "HEAT-E99001" in message
        assert f"is not available for resource type {type_name}" in message
        assert "Service endpoint not in service catalog." in message
    user.create("good", template("OS::Neutron::Net", {}))
    user.wait_for_status("good", "CREATE_COMPLETE")
