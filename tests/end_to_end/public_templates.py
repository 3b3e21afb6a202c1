"""Templates of openstack/heat-templates that a cloud of five services can host.

The services are Keystone, Nova, Neutron, Cinder and Glance.  A template's entry holds its
parameters and, under ``-e``, its environment; names in braces are replaced by values of the cloud.

Left out are

- templates that name a service or a type that does not exist here: Octavia, Swift, Zaqar, Mistral,
  Barbican, Designate, Magnum, Monasca, Zun, Aodh, Ceilometer, Blazar, Rackspace's, AWS::EC2,
  AWS::IAM, AWS::AutoScaling, AWS::ElasticLoadBalancing, AWS::S3, AWS::RDS, OS::Heat::AccessPolicy,
  OS::Heat::HARestarter, OS::Heat::InstanceGroup;
- those that wait for a guest of Windows or OpenShift to install itself and to signal;
- server_with_encrpyted_volume.yaml: Cinder requests the key of such a volume from Barbican;
- multi_region_hello_world.yaml: its stacks are in RegionOne and RegionTwo;
- example-chef-template.yaml, which has a list where its type takes a map.
"""

from __future__ import annotations

KEY_PARAMETERS = {"key_name": "heat_key"}
IMAGE_PARAMETERS = {"image": "cirros", "flavor": "m1.nano"}
SERVER_PARAMETERS = {**KEY_PARAMETERS, **IMAGE_PARAMETERS}
FEDORA_PARAMETERS = {"image_id": "cirros", "instance_type": "m1.small", **KEY_PARAMETERS}
FEDORA_18_IMAGE = "F18-x86_64-cfntools"  # the only images that some templates accept
CENTOS_IMAGE = "centos-6.5-x86_64-cfntools"
REQUIRED_IMAGES = (FEDORA_18_IMAGE, CENTOS_IMAGE)
_SOFTWARE = "hot/software-config/example-templates/"
_BOOT_CONFIG = "hot/software-config/boot-config/"
AGENT_TEMPLATES = f"{_BOOT_CONFIG}templates/"  # they read scripts of openstack/heat-agents
ENVIRONMENT_OPTION = "-e"  # these environments install one of the agents

DEMO_USER_TEMPLATES: dict[str, dict[str, str]] = {
    "hot/hello_world.yaml": {**SERVER_PARAMETERS, "admin_pass": "Secret12"},
    "hot/servers_in_new_neutron_net.yaml": {
        **SERVER_PARAMETERS,
        "public_net": "public",
        "private_net_name": "hc-templates",
        "private_net_cidr": "10.66.0.0/24",
        "private_net_gateway": "10.66.0.1",
        "private_net_pool_start": "10.66.0.10",
        "private_net_pool_end": "10.66.0.99",
    },
    "hot/servers_in_existing_neutron_net.yaml": {
        **SERVER_PARAMETERS,
        "public_net_id": "{public_network}",
        "private_net_id": "{private_network}",
        "private_subnet_id": "{private_subnet}",
    },
    "hot/servers_in_existing_neutron_network_no_floating_ips.yaml": {
        **SERVER_PARAMETERS,
        "net_id": "{private_network}",
        "subnet_id": "{private_subnet}",
    },
    "hot/vm_with_cinder.yaml": SERVER_PARAMETERS,
    "hot/server_console.yaml": IMAGE_PARAMETERS,
    "hot/chef-server.yaml": {
        "ssh_key_name": "heat_key",
        "chef_image_name": "cirros",
        "chef_flavor_name": "m1.nano",
    },
    "hot/neutron/instance_trunk_port.yaml": {"key": "heat_key", **IMAGE_PARAMETERS},
    "hot/resource_group/server_with_volumes.yaml": FEDORA_PARAMETERS,
    "hot/resource_group/volume_with_attachment.yaml": {"instance_id": "{server}"},
    "hot/resource_group/resource_group.yaml": {},
    "hot/resource_group/resource_group_index_lookup.yaml": {},
    "hot/resource_group/random.yaml": {"lengths": "3,4", "index": "0"},
    "hot/asg_of_servers.yaml": SERVER_PARAMETERS,
    "hot/asg_of_stacks.yaml": SERVER_PARAMETERS,
    "hot/condition.yaml": {},
    "hot/external_resource.yaml": {"external_server_id": "{server}"},
    "hot/native_waitcondition.yaml": SERVER_PARAMETERS,
    "hot/F18/NovaInstanceWithCinderVolume_Native.yaml": {
        **FEDORA_PARAMETERS,
        "image_id": FEDORA_18_IMAGE,
    },
    "hot/F18/WordPress_Native.yaml": {**FEDORA_PARAMETERS, "image_id": FEDORA_18_IMAGE},
    "hot/F20/WordPress_Native.yaml": FEDORA_PARAMETERS,
    "hot/F20/WordPress_2_Instances.yaml": FEDORA_PARAMETERS,
    "cfn/F17/Neutron.template": {},
    "cfn/F17/Neutron.yaml": {},
    "cfn/F17/Neutron_floating.template": {
        "external_network": "{public_network}",
        "internal_network": "{private_network}",
        "internal_subnet": "{private_subnet}",
    },
    "openshift-origin/centos65/OpenShift.yaml": KEY_PARAMETERS,
    f"{AGENT_TEMPLATES}install_config_agent_centos7_rdo.yaml": {},
    f"{AGENT_TEMPLATES}install_config_agent_fedora_pip.yaml": {},
    f"{AGENT_TEMPLATES}install_config_agent_fedora_yum.yaml": {},
    f"{AGENT_TEMPLATES}install_config_agent_test_image.yaml": {},
    f"{AGENT_TEMPLATES}install_config_agent_ubuntu_pip.yaml": {},
    f"{AGENT_TEMPLATES}install_container_agent.yaml": {},
    f"{_SOFTWARE}cirros-example/cirros-hello-world.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-ansible-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-cfn-init-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-cloud-init-configure-ca-cert.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-cloud-init.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-config-pristine-image.yaml": {
        **SERVER_PARAMETERS,
        ENVIRONMENT_OPTION: f"{_SOFTWARE}example-config-pristine-image_env.yaml",
    },
    f"{_SOFTWARE}example-docker-compose-template.yaml": {
        **SERVER_PARAMETERS,
        **{f"env_file_{number}": "NAME=value" for number in range(4)},
    },
    f"{_SOFTWARE}example-kubelet-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-pristine-atomic-docker-compose.yaml": {
        **SERVER_PARAMETERS,
        ENVIRONMENT_OPTION: f"{_SOFTWARE}example-pristine-atomic-docker-compose_env.yaml",
    },
    f"{_SOFTWARE}example-pristine-atomic-tool.yaml": {
        **SERVER_PARAMETERS,
        ENVIRONMENT_OPTION: f"{_BOOT_CONFIG}container_agent_env.yaml",
    },
    f"{_SOFTWARE}example-deploy-sequence.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-os-apply-config-plus-cloud-config.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-os-apply-config.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-puppet-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-salt-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-script-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-software-deploymentgroup-template.yaml": {
        **KEY_PARAMETERS,
        "flavor": "m1.nano",
        "ubuntu_image": "cirros",
        "fedora_image": "cirros",
        "network": "private",
    },
    f"{_SOFTWARE}example-ssh-copy-id.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-structured-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}example-sw-component-template.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}wordpress/WordPress_software-config_1-instance.yaml": SERVER_PARAMETERS,
    f"{_SOFTWARE}wordpress/WordPress_software-config_2-instances.yaml": SERVER_PARAMETERS,
}
ADMIN_TEMPLATES: dict[str, dict[str, str]] = {
    "hot/nova/host_aggregate.yaml": {
        "host_aggregate_name": "hc-templates",
        "availability_zone_name": "hc-templates",
        "hosts": "{host}",
        "metadata": '{"a": "b"}',
    },
    "hot/keystone/keystone.yaml": {},
    "hot/keystone/keystone_updated.yaml": {},
    "hot/keystone/keystone_domain.yaml": {"domain_name": "hc-templates"},
    "hot/keystone/keystone_group.yaml": {
        "group_name": "hc-templates",
        "group_description": "d",
        "group_domain": "default",
        "group_role": "member",
        "group_role_domain": "default",
        "group_role_project": "demo",
    },
    "hot/keystone/keystone_project.yaml": {
        "project_name": "hc-templates",
        "project_description": "d",
        "project_enabled": "true",
        "project_domain": "default",
    },
    "hot/keystone/keystone_region.yaml": {
        "region_id": "hc-templates",
        "parent_region_id": "hc-templates-parent",
    },
    "hot/keystone/keystone_role.yaml": {"role_name": "hc-templates"},
    "hot/keystone/keystone_service.yaml": {
        "name": "hc-templates",
        "description": "d",
        "type": "hc",
    },
    "hot/keystone/keystone_service_endpoint.yaml": {
        "name": "hc-templates",
        "description": "d",
        "type": "hc",
        "region": "{region}",
        "public_url": "http://127.0.0.1:1",
        "internal_url": "http://127.0.0.1:2",
        "admin_url": "http://127.0.0.1:3",
    },
    "hot/keystone/keystone_user.yaml": {
        "user_name": "hc-templates",
        "user_description": "d",
        "user_enabled": "true",
        "user_domain": "default",
        "user_email": "a@example.org",
        "user_password": "Secret12",
        "user_default_project": "demo",
        "user_groups": "{group}",
        "group_role": "member",
        "group_role_domain": "default",
        "group_role_project": "demo",
    },
}
# Templates that need a host without servers come first.
CASES = [
    *((name, "admin") for name in ADMIN_TEMPLATES),
    *((name, "demo") for name in DEMO_USER_TEMPLATES),
]
