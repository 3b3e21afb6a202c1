"""Templates of groups of instances, and what the API shows of the groups.

The members are a template in the place of ``AWS::EC2::Instance``, as many users have it, whose
address is the name of the image.
"""

from __future__ import annotations

from typing import Any

from tests.functional.project_client import ProjectClient

Json = Any
MEMBER = """
heat_template_version: 2013-05-23
parameters:
  ImageId: {type: string}
  InstanceType: {type: string}
  KeyName: {type: string, default: none}
  SecurityGroups: {type: comma_delimited_list, default: []}
  UserData: {type: string, default: ''}
  Tags: {type: json, default: []}
  SubnetId: {type: string, default: ''}
resources:
  random: {type: OS::Heat::RandomString}
  made: {type: OS::Heat::Value, properties: {value: {get_param: UserData}}}
outputs:
  PublicIp: {value: {get_param: ImageId}}
  PrivateIp: {value: {get_param: SubnetId}}
  PublicDnsName: {value: dns}
  PrivateDnsName: {value: {get_param: InstanceType}}
  AvailabilityZone: {value: {get_param: Tags}}
"""
ENVIRONMENT = {"resource_registry": {"AWS::EC2::Instance": "member.yaml"}}
CLOUD_NAMES = ("glance.image", "nova.flavor", "nova.keypair", "nova.server", "cinder.snapshot")
BODY = {"environment": ENVIRONMENT, "files": {"member.yaml": MEMBER}}


def launch(image: str = "i1", **properties: Json) -> Json:
    return {
        "Type": "AWS::AutoScaling::LaunchConfiguration",
        "Properties": {"ImageId": image, "InstanceType": "m1.nano", **properties},
    }


def group(size: int = 3, policy: Json = None, **properties: Json) -> Json:
    found = {
        "Type": "OS::Heat::InstanceGroup",
        "Properties": {
            "AvailabilityZones": ["nova"],
            "LaunchConfigurationName": {"Ref": "Launch"},
            "Size": size,
            **properties,
        },
    }
    return found if policy is None else {**found, "UpdatePolicy": {"RollingUpdate": policy}}


def auto_group(policy: Json = None, **properties: Json) -> Json:
    found = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {
            "AvailabilityZones": ["nova"],
            "LaunchConfigurationName": {"Ref": "Launch"},
            "MinSize": 1,
            "MaxSize": 5,
            **properties,
        },
    }
    section = {"AutoScalingRollingUpdate": policy}
    return found if policy is None else {**found, "UpdatePolicy": section}


def scaling(amount: int, how: str = "ChangeInCapacity", **properties: Json) -> Json:
    return {
        "Type": "AWS::AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": "Group"},
            "AdjustmentType": how,
            "ScalingAdjustment": amount,
            **properties,
        },
    }


def template(group: Json, launch_configuration: Json = None, **resources: Json) -> Json:
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {"Launch": launch_configuration or launch(), "Group": group, **resources},
        "Outputs": {
            "addresses": {"Value": {"Fn::GetAtt": ["Group", "InstanceList"]}},
            "group": {"Value": {"Ref": "Group"}},
            "launch": {"Value": {"Ref": "Launch"}},
        },
    }


def addresses(heat: ProjectClient) -> list[str]:
    """Return the addresses of the members, which are the names of their images."""
    found = heat.outputs("s")["addresses"]
    return found.split(",") if found else []


def member_ids(heat: ProjectClient) -> dict[str, str]:
    """Return name → physical id of the members."""
    found = heat.resources(heat.nested_stack("s", "Group")["id"])
    return {each["resource_name"]: each["physical_resource_id"] for each in found}


def updates(heat: ProjectClient) -> int:
    """Return how often the nested stack of the group was updated."""
    nested = heat.nested_stack("s", "Group")["id"]
    return sum(
        event["resource_status"] == "UPDATE_COMPLETE" and event["physical_resource_id"] == nested
        for event in heat.events(nested)
    )


def refuse(heat: ProjectClient, body: Json) -> Json:
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body, **BODY})
    assert answer.status_int == 400, answer.text
    return answer.json["error"]
