"""Test targets and test modules of the types without a row of the catalog's table.

Read by ``catalog_table``. A type belongs here if it is supported and no ``DeclarativeType``: it
needs no service, is a nested stack, or stands for another type.
"""

from __future__ import annotations

from enum import StrEnum

from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import SupportLevel
from tests.catalog_types import DECLARATIVE_TYPES
from tests.installed_types import REGISTRY


class TestTarget(StrEnum):
    """The services that a module tests its types on."""

    CLOUD = "a real cloud"
    EMULATION = "emulation"
    NO_SERVICE = "no service needed"


_STORIES = "tests/cloud/differential/data/stories/builtin.yaml"
_GROUPS = "tests/functional/aws_types/group_templates.py"
_NETWORKS = "tests/functional/aws_types/test_virtual_networks.py"
_SIGNALS = "tests/cloud/test_signal_transports.py"
_TRANSLATED = "tests/functional/aws_types/test_translated_types.py"
_USERS = "tests/functional/clients/test_iam_types.py"
_MODULES: tuple[tuple[TestTarget, str, str, str], ...] = (  # target, module, prefix, types
    (TestTarget.CLOUD, _SIGNALS, "AWS::CloudFormation::", "WaitCondition WaitConditionHandle"),
    (TestTarget.CLOUD, _SIGNALS, "OS::Heat::", "WaitCondition WaitConditionHandle"),
    (TestTarget.CLOUD, _STORIES, "OS::Heat::", "AutoScalingGroup ScalingPolicy ResourceGroup"),
    (TestTarget.CLOUD, _STORIES, "OS::Heat::", "ResourceChain Delay None RandomString Value"),
    (TestTarget.CLOUD, _STORIES, "OS::Heat::", "TestResource CloudConfig MultipartMime"),
    (TestTarget.CLOUD, _STORIES, "OS::Heat::", "StructuredConfig StructuredDeployment"),
    (TestTarget.CLOUD, _STORIES, "OS::Heat::", "SoftwareConfig SoftwareDeployment"),
    (TestTarget.CLOUD, "tests/cloud/test_cloud_remote_stacks.py", "OS::Heat::", "Stack"),
    (TestTarget.EMULATION, _GROUPS, "AWS::AutoScaling::", "AutoScalingGroup LaunchConfiguration"),
    (TestTarget.EMULATION, _GROUPS, "AWS::AutoScaling::", "ScalingPolicy"),
    (TestTarget.EMULATION, _GROUPS, "OS::Heat::", "InstanceGroup"),
    (TestTarget.EMULATION, _TRANSLATED, "AWS::EC2::", "Instance SecurityGroup"),
    (TestTarget.EMULATION, _TRANSLATED, "AWS::EC2::", "Volume VolumeAttachment"),
    (TestTarget.EMULATION, _TRANSLATED, "AWS::S3::", "Bucket"),
    (TestTarget.EMULATION, _NETWORKS, "AWS::EC2::", "EIP EIPAssociation InternetGateway"),
    (TestTarget.EMULATION, _NETWORKS, "AWS::EC2::", "NetworkInterface RouteTable Subnet"),
    (TestTarget.EMULATION, _NETWORKS, "AWS::EC2::", "SubnetRouteTableAssociation VPC"),
    (TestTarget.EMULATION, _NETWORKS, "AWS::EC2::", "VPCGatewayAttachment"),
    (
        TestTarget.EMULATION,
        "tests/functional/aws_types/test_load_balancers.py",
        "AWS::ElasticLoadBalancing::",
        "LoadBalancer",
    ),
    (TestTarget.EMULATION, _USERS, "AWS::IAM::", "AccessKey User"),
    (TestTarget.NO_SERVICE, _USERS, "OS::Heat::", "AccessPolicy"),
    (
        TestTarget.EMULATION,
        "tests/functional/software/test_deployed_servers.py",
        "OS::Heat::",
        "DeployedServer",
    ),
    (
        TestTarget.EMULATION,
        "tests/functional/openstack_types/test_stored_signals.py",
        "OS::Heat::",
        "SwiftSignal SwiftSignalHandle",
    ),
    (
        TestTarget.NO_SERVICE,
        "tests/functional/nested/test_resource_groups.py",
        "AWS::CloudFormation::",
        "Stack",
    ),
    (
        TestTarget.NO_SERVICE,
        "tests/functional/software/test_software_configs.py",
        "OS::Heat::",
        "SoftwareComponent",
    ),
    (
        TestTarget.NO_SERVICE,
        "tests/functional/software/test_deployment_groups.py",
        "OS::Heat::",
        "SoftwareDeploymentGroup StructuredDeploymentGroup",
    ),
    (
        TestTarget.NO_SERVICE,
        "tests/functional/lifecycle/test_wait_conditions.py",
        "OS::Heat::",
        "UpdateWaitConditionHandle",
    ),
)
TESTED_BY: dict[str, tuple[TestTarget, str]] = {
    f"{prefix}{name}": (target, module)
    for target, module, prefix, names in _MODULES
    for name in names.split()
}


def supported_types() -> tuple[ResourceType, ...]:
    """Return the supported types that the table of the catalog does not have."""
    return tuple(
        each
        for each in REGISTRY
        if each.schema.support_status.status is SupportLevel.SUPPORTED
        and each.name not in DECLARATIVE_TYPES
    )
