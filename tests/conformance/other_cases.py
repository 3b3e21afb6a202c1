"""Lives of the types of Cinder, Glance, Keystone and Nova."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case
from tests.conformance.neutron_cases import NET, SUBNET

KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl hc"
)
FLAVOR = "m1.nano"
VOLUME: tuple[str, str, dict[str, Any]] = ("volume", "OS::Cinder::Volume", {"size": 1})
SERVER: tuple[str, str, dict[str, Any]] = (
    "server", "OS::Nova::Server",
    {"image": "cirros", "flavor": FLAVOR, "user_data_format": "RAW",
     "networks": [{"network": {"get": "net"}}]},
)
KIND = ("kind", "OS::Cinder::VolumeType", {"name": "hc-kind"})
BASE = {"image": "cirros", "flavor": FLAVOR, "user_data_format": "RAW"}


def _case(name: str, *before: Any, admin: bool = False, **given: Any) -> Case:
    return Case(f"OS::{name}", before, admin=admin, **given)


CASES = [
    _case(
        "Cinder::Volume",
        properties={"size": 1, "metadata": {"a": 1}, "description": "d"},
        updates=[
            {"size": 2, "name": "hc-volume", "metadata": {"b": "2"}},
            {"size": 2, "name": "hc-volume", "read_only": True},
        ],
        attributes={"size": "2", "display_name": "hc-volume", "status": "available"},
    ),
    _case(
        "Cinder::Volume",
        properties={"size": 1, "image": "cirros"},
        attributes={"bootable": "true"},
        label="Volume of an image",
    ),
    _case(
        "Cinder::Volume", VOLUME, KIND, admin=True, real_only=True,
        properties={"source_volid": {"get": "volume"}},
        updates=[{"source_volid": {"get": "volume"}, "volume_type": "hc-kind"}],
        label="Volume cloned and retyped",
    ),
    _case(
        "Cinder::VolumeAttachment", NET, SUBNET, SERVER, VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
    ),
    _case(
        "Cinder::VolumeAttachment", NET, SUBNET, SERVER, ("second", SERVER[1], SERVER[2]),
        VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        updates=[{"instance_uuid": {"get": "second"}, "volume_id": {"get": "volume"}}],
        label="VolumeAttachment moved",
    ),
    _case(
        "Cinder::VolumeType", admin=True,
        properties={"name": "hc-vt", "is_public": False, "metadata": {"k": "v"},
                    "projects": ["{other_project}"]},
        updates=[{"name": "hc-vt2", "is_public": False, "metadata": {"l": "w"},
                  "description": "d", "projects": []}],
    ),
    _case(
        "Cinder::EncryptedVolumeType", KIND, admin=True,
        properties={"volume_type": {"get": "kind"}, "provider": "luks", "key_size": 256},
        updates=[{"volume_type": {"get": "kind"}, "provider": "luks", "key_size": 128,
                  "control_location": "back-end"}],
    ),
    _case(
        "Cinder::QoSSpecs", admin=True, findable=True,
        properties={"specs": {"a": "1", "b": "2"}},
        updates=[{"specs": {"a": "3"}}],
    ),
    _case(
        "Cinder::QoSAssociation", KIND,
        ("qos", "OS::Cinder::QoSSpecs", {"specs": {"a": "1"}}), admin=True,
        properties={"qos_specs": {"get": "qos"}, "volume_types": [{"get": "kind"}]},
    ),
    _case("Cinder::Quota", admin=True, lasting=True,
          properties={"project": "{other_project}", "volumes": 11},
          updates=[{"project": "{other_project}", "volumes": 12, "gigabytes": 9}]),
    _case("Nova::Quota", admin=True, lasting=True,
          properties={"project": "{other_project}", "cores": 11},
          updates=[{"project": "{other_project}", "cores": 12, "ram": 1024}]),
    _case("Keystone::Project", admin=True,
          properties={"description": "d", "tags": ["a"]},
          updates=[{"name": "hc-project", "enabled": False, "tags": ["b"]}],
          attributes={"name": "hc-project", "enabled": False, "domain_id": "default"}),
    _case("Keystone::Group", ("project", "OS::Keystone::Project", {}), admin=True,
          properties={"roles": [{"role": "member", "project": {"get": "project"}}]},
          updates=[{"name": "hc-g", "description": "d", "roles": [
              {"role": "reader", "project": {"get": "project"}}]}, {}]),
    _case("Keystone::User", ("project", "OS::Keystone::Project", {}),
          ("group", "OS::Keystone::Group", {}), admin=True,
          properties={"password": "hc-secret-1", "groups": [{"get": "group"}],
                      "default_project": {"get": "project"},
                      "roles": [{"role": "member", "project": {"get": "project"}}]},
          updates=[{"password": "hc-secret-2", "email": "a@example.org", "name": "hc-user",
                    "roles": [{"role": "reader", "project": {"get": "project"}}]},
                   {"name": "hc-user", "enabled": False}]),
    _case("Keystone::Role", admin=True, properties={}, updates=[{"name": "hc-role"}]),
    _case("Keystone::Domain", admin=True, properties={"description": "d"},
          updates=[{"name": "hc-domain", "enabled": True}]),
    _case("Keystone::Region", admin=True, properties={"id": "hc-region"},
          updates=[{"id": "hc-region", "description": "d"}]),
    _case("Keystone::Service", admin=True, properties={"type": "hc"},
          updates=[{"type": "hc2", "name": "hc-service", "enabled": False}]),
    _case("Keystone::Endpoint", ("service", "OS::Keystone::Service", {"type": "hc"}),
          admin=True,
          properties={"service": {"get": "service"}, "interface": "public",
                      "url": "http://127.0.0.1:1"},
          updates=[{"service": {"get": "service"}, "interface": "admin",
                    "url": "http://127.0.0.1:2", "enabled": False}]),
    _case("Keystone::UserRoleAssignment", ("project", "OS::Keystone::Project", {}),
          ("user", "OS::Keystone::User", {}), admin=True,
          properties={"user": {"get": "user"}, "roles": [
              {"role": "member", "project": {"get": "project"}}]},
          updates=[{"user": {"get": "user"}, "roles": [
              {"role": "reader", "project": {"get": "project"}}]}]),
    _case("Keystone::GroupRoleAssignment", ("project", "OS::Keystone::Project", {}),
          ("group", "OS::Keystone::Group", {}), admin=True,
          properties={"group": {"get": "group"}, "roles": [
              {"role": "member", "project": {"get": "project"}}]}),
    _case("Nova::Flavor", admin=True,
          properties={"ram": 64, "vcpus": 1, "is_public": False, "ephemeral": 1,
                      "extra_specs": {"hw:a": "b"}, "tenants": ["{other_project}"]},
          updates=[{"ram": 64, "vcpus": 1, "is_public": False, "ephemeral": 1,
                    "extra_specs": {"hw:c": "d"}, "tenants": []}],
          attributes={"is_public": False}),
    _case("Nova::HostAggregate", admin=True,
          properties={"name": "hc-agg", "metadata": {"a": "b"}},
          updates=[{"name": "hc-agg2", "metadata": {"c": "d"}, "availability_zone": "hc-az"}],
          findable=False),
    _case("Nova::KeyPair", properties={"name": "hc-key", "public_key": KEY},
          attributes={"private_key": ""}),
    _case("Nova::KeyPair", properties={"name": "hc-new", "save_private_key": True},
          label="KeyPair made by the service"),
    _case("Nova::ServerGroup", properties={"policies": ["soft-affinity"]}),
    _case("Nova::ServerGroup", label="ServerGroup with rules", real_only=True,
          properties={"policies": ["anti-affinity"], "rules": {"max_server_per_host": 2}}),
    _case(
        "Nova::Server", NET, SUBNET,
        properties={**BASE, "networks": [{"network": {"get": "net"}}],
                    "metadata": {"a": 1}, "tags": ["t"], "user_data": "#!/bin/sh\ntrue"},
        updates=[
            {**BASE, "networks": [{"network": {"get": "net"}}], "name": "hc-server",
             "metadata": {"b": "2"}, "tags": ["u"], "user_data": "#!/bin/sh\ntrue"},
            {**BASE, "flavor": "m1.tiny", "networks": [{"network": {"get": "net"}}],
             "name": "hc-server", "user_data": "#!/bin/sh\ntrue"},
        ],
        attributes={"name": "hc-server"},
    ),
    _case(
        "Nova::Server", NET, SUBNET, ("port", "OS::Neutron::Port", {"network": {"get": "net"}}),
        ("other", "OS::Neutron::Port", {"network": {"get": "net"}}),
        properties={**BASE, "networks": [{"port": {"get": "port"}}]},
        updates=[
            {**BASE, "networks": [{"port": {"get": "other"}}]},
            {**BASE, "networks": [{"port": {"get": "other"}},
                                  {"subnet": {"get": "subnet"}, "network": {"get": "net"}}]},
            {**BASE, "networks": [{"port": {"get": "other"}}]},
        ],
        label="Server with ports",
    ),
    _case(
        "Nova::Server", NET, SUBNET,
        properties={**BASE, "networks": [{"subnet": {"get": "subnet"}, "fixed_ip": "10.90.0.33"}]},
        label="Server with a port of its own",
    ),
    _case(
        "Nova::Server", NET, SUBNET,
        ("volume", "OS::Cinder::Volume", {"size": 1, "image": "cirros"}),
        properties={"flavor": FLAVOR, "networks": [{"network": {"get": "net"}}],
                    "user_data_format": "SOFTWARE_CONFIG", "user_data": "#!/bin/sh\n",
                    "block_device_mapping_v2": [{"volume_id": {"get": "volume"}}]},
        label="Server started from a volume",
    ),
]
