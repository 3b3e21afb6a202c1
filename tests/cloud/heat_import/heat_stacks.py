"""The stacks that real Heat makes for the test of the import: public templates and own ones.

Each own template shows one thing that a change-over must keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heatclient.common import template_utils

from tests.end_to_end.public_templates import AGENT_TEMPLATES, DEMO_USER_TEMPLATES

Json = Any
VERSION = "2018-08-31"
PUBLIC_TEMPLATES = (
    "hot/hello_world.yaml",
    "hot/servers_in_new_neutron_net.yaml",
    "hot/servers_in_existing_neutron_net.yaml",
    "hot/servers_in_existing_neutron_network_no_floating_ips.yaml",
    "hot/vm_with_cinder.yaml",
    "hot/chef-server.yaml",
    "hot/neutron/instance_trunk_port.yaml",
    "hot/resource_group/server_with_volumes.yaml",
    "hot/resource_group/resource_group.yaml",
    "hot/resource_group/resource_group_index_lookup.yaml",
    "hot/resource_group/random.yaml",
    "hot/asg_of_servers.yaml",
    "hot/asg_of_stacks.yaml",
    "hot/condition.yaml",
    "cfn/F17/Neutron.template",
    "cfn/F17/Neutron.yaml",
    "cfn/F17/Neutron_floating.template",
    f"{AGENT_TEMPLATES}install_container_agent.yaml",
    "hot/software-config/example-templates/example-cloud-init.yaml",
    "hot/software-config/example-templates/example-cloud-init-configure-ca-cert.yaml",
)
SERVER = {
    "type": "OS::Nova::Server",
    "properties": {"image": "cirros", "flavor": "m1.nano", "networks": [{"network": "private"}]},
}
ALARM = {"adjustment_type": "change_in_capacity", "scaling_adjustment": 1, "cooldown": 0}


@dataclass(frozen=True, slots=True)
class HeatStack:
    """A stack that Heat is to make.

    Attributes:
        body: the request, without the name.
        status: what the stack shows when Heat has done what it can.
    """

    body: Mapping[str, Json]
    status: str = "CREATE_COMPLETE"
    files: Mapping[str, str] = field(default_factory=dict)


def _stack(
    resources: Json, outputs: Json = None, *, status: str = "CREATE_COMPLETE", **more: Json
) -> HeatStack:
    parameters = more.pop("parameters", {})
    template = {
        "heat_template_version": VERSION,
        "parameters": parameters,
        "resources": resources,
        "outputs": {name: {"value": value} for name, value in (outputs or {}).items()},
    }
    return HeatStack({"template": template, **more}, status)


def _ref(name: str) -> Json:
    return {"get_resource": name}


def _server(**properties: Json) -> Json:
    return {**SERVER, "properties": {**SERVER["properties"], **properties}}


def _nested() -> HeatStack:
    """Three levels of template files, with a group between them and a port at the end."""
    leaf = """
heat_template_version: 2018-08-31
parameters: {net: {type: string}, text: {type: string}}
resources:
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
  word: {type: OS::Heat::RandomString, properties: {length: 9}}
  value: {type: OS::Heat::Value, properties: {value: {get_param: text}}}
outputs:
  text: {value: {get_attr: [value, value]}}
"""
    middle = """
heat_template_version: 2018-08-31
parameters: {net: {type: string}, text: {type: string}}
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: leaf.yaml
        properties: {net: {get_param: net}, text: {get_param: text}}
outputs:
  texts: {value: {get_attr: [group, text]}}
"""
    found = _stack(
        {
            "net": {"type": "OS::Neutron::Net"},
            "subnet": {
                "type": "OS::Neutron::Subnet",
                "properties": {"network": _ref("net"), "cidr": "10.81.0.0/24"},
            },
            "middle": {
                "type": "middle.yaml",
                "depends_on": "subnet",
                "properties": {"net": _ref("net"), "text": {"get_param": "text"}},
            },
        },
        {"texts": {"get_attr": ["middle", "texts"]}},
        parameters={"text": {"type": "string", "default": "before"}},
    )
    files = {"middle.yaml": middle, "leaf.yaml": leaf}
    registry = {"resource_registry": {name: name for name in files}}
    return HeatStack({**found.body, "files": files, "environment": registry})


def _wait(status: str) -> HeatStack:
    return _stack(
        {
            "handle": {
                "type": "OS::Heat::WaitConditionHandle",
                "properties": {"signal_transport": "CFN_SIGNAL"},
            },
            "cfn": {"type": "AWS::CloudFormation::WaitConditionHandle"},
            "condition": {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": _ref("handle"), "timeout": 3000},
            },
            "cfn_condition": {
                "type": "AWS::CloudFormation::WaitCondition",
                "properties": {"Handle": _ref("cfn"), "Timeout": "3000"},
            },
        },
        {
            "signal": {"get_attr": ["handle", "signal"]},
            "url": _ref("cfn"),
            "data": {"get_attr": ["condition", "data"]},
        },
        status=status,
    )


OWN_STACKS: Mapping[str, HeatStack] = {
    "nested": _nested(),
    "waited": _wait("CREATE_COMPLETE"),
    "waiting": _wait("CREATE_IN_PROGRESS"),
    "scaled": _stack(
        {
            "group": {
                "type": "OS::Heat::AutoScalingGroup",
                "properties": {"min_size": 1, "max_size": 5, "resource": SERVER},
            },
            "up": {
                "type": "OS::Heat::ScalingPolicy",
                "properties": {**ALARM, "auto_scaling_group_id": _ref("group")},
            },
        },
        {
            "url": {"get_attr": ["up", "alarm_url"]},
            "size": {"get_attr": ["group", "current_size"]},
        },
    ),
    "deployed": _stack(
        {
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"group": "script", "config": "echo", "outputs": [{"name": "sum"}]},
            },
            "server": _server(
                user_data_format="SOFTWARE_CONFIG", software_config_transport="POLL_SERVER_HEAT"
            ),
            "signalled": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": _ref("config"),
                    "server": _ref("server"),
                    "signal_transport": "HEAT_SIGNAL",
                },
            },
            "quiet": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": _ref("config"),
                    "server": _ref("server"),
                    "signal_transport": "NO_SIGNAL",
                },
            },
        },
        {"sum": {"get_attr": ["signalled", "sum"]}},
    ),
    "hidden": _stack(
        {
            "server": _server(metadata={"release": {"get_param": "release"}}),
            "word": {"type": "OS::Heat::RandomString"},
            "value": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"get_param": "password"}},
            },
        },
        parameters={
            "password": {"type": "string", "hidden": True},
            "release": {"type": "string", "default": "1"},
        },
        environment={"parameters": {"password": "hidden word"}},
    ),
    "failed": _stack(
        {
            "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
            "bad": {
                "type": "OS::Heat::TestResource",
                "depends_on": "volume",
                "properties": {"value": "v", "fail": {"get_param": "fail"}},
            },
        },
        parameters={"fail": {"type": "boolean", "default": True}},
        status="CREATE_FAILED",
    ),
    "saved": _stack(
        {
            "volume": {
                "type": "OS::Cinder::Volume",
                "properties": {"size": 1, "description": {"get_param": "text"}},
            },
            "server": _server(),
        },
        parameters={"text": {"type": "string", "default": "saved"}},
    ),
    "suspended": _stack({"server": _server()}),
    "meshed": _stack(
        {
            "net": {"type": "OS::Neutron::Net"},
            "subnet": {
                "type": "OS::Neutron::Subnet",
                "properties": {"network": _ref("net"), "cidr": "10.82.0.0/24"},
            },
            "router": {
                "type": "OS::Neutron::Router",
                "properties": {"external_gateway_info": {"network": "public"}},
            },
            "interface": {
                "type": "OS::Neutron::RouterInterface",
                "properties": {"router": _ref("router"), "subnet": _ref("subnet")},
            },
            "port": {
                "type": "OS::Neutron::Port",
                "depends_on": "interface",
                "properties": {"network": _ref("net"), "fixed_ips": [{"subnet": _ref("subnet")}]},
            },
            "address": {
                "type": "OS::Neutron::FloatingIP",
                "properties": {"floating_network": "public", "port_id": _ref("port")},
            },
            "server": _server(networks=[{"port": _ref("port")}]),
            "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
            "attachment": {
                "type": "OS::Cinder::VolumeAttachment",
                "properties": {"instance_uuid": _ref("server"), "volume_id": _ref("volume")},
            },
            "members": {
                "type": "OS::Neutron::SecurityGroup",
                "properties": {"rules": [{"protocol": "tcp", "port_range_min": 22,
                                          "port_range_max": 22}]},
            },
        },
        {"ip": {"get_attr": ["address", "floating_ip_address"]},
         "show": {"get_attr": ["server", "show"]},
         "size": {"get_attr": ["volume", "size"]}},
    ),
}  # fmt: skip


def public_stacks(checkout: Path, placeholders: Mapping[str, str]) -> dict[str, HeatStack]:
    """Return the stacks of public templates by their names.

    Args:
        checkout: a clone of openstack/heat-templates.
        placeholders: values of the cloud, by their names in parameters.
    """
    found = {}
    for name in PUBLIC_TEMPLATES:
        read, template = template_utils.get_template_contents(str(checkout / name))
        files = {
            key: text.decode() if isinstance(text, bytes) else text for key, text in read.items()
        }
        parameters = {
            key: value.format(**placeholders) for key, value in DEMO_USER_TEMPLATES[name].items()
        }
        title = f"public-{Path(name).stem}-{Path(name).suffix[1:]}".replace("_", "-")
        found[title] = HeatStack({"template": template, "files": files, "parameters": parameters})
    return found
