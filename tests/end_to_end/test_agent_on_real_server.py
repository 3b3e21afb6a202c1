"""A server's agent on real services: its authentication, deployment, signal and limits."""

from __future__ import annotations

from typing import Any

import pytest
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.end_to_end.harness import TargetCloud, identity_of

Json = Any
NAME = "agents"


def template() -> Json:
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "net": {"type": "OS::Neutron::Net"},
            "subnet": {
                "type": "OS::Neutron::Subnet",
                "properties": {"network": {"get_resource": "net"}, "cidr": "10.94.0.0/24"},
            },
            "server": {
                "type": "OS::Nova::Server",
                "properties": {
                    "image": "cirros",
                    "flavor": "m1.nano",
                    "networks": [{"subnet": {"get_resource": "subnet"}}],
                    "user_data_format": "SOFTWARE_CONFIG",
                    "software_config_transport": "POLL_SERVER_HEAT",
                },
            },
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"config": "echo", "outputs": [{"name": "result"}]},
            },
            "deployment": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "config"},
                    "server": {"get_resource": "server"},
                    "signal_transport": "HEAT_SIGNAL",
                },
            },
        },
        "outputs": {
            "agent": {"value": {"get_attr": ["server", "os_collect_config", "heat"]}},
            "result": {"value": {"get_attr": ["deployment", "result"]}},
        },
    }


class AgentSession:
    """A session with the agent's configuration in the server's user data, and nothing else."""

    def __init__(self, agent_config: Json) -> None:
        auth = Password(
            agent_config["auth_url"],
            user_id=agent_config["user_id"],
            password=agent_config["password"],
            project_id=agent_config["project_id"],
        )
        self._session = Session(auth=auth)
        self._stack = f"/stacks/{agent_config['stack_id']}"
        self._agent_config = agent_config

    def request(self, method: str, path: str, body: Json = None) -> Any:
        endpoint_filter = {
            "service_type": "orchestration",
            "interface": "public",
            "region_name": self._agent_config["region_name"],
        }
        return self._session.request(
            f"{self._stack}{path}",
            method,
            json=body,
            endpoint_filter=endpoint_filter,
            raise_exc=False,
        )

    def metadata(self) -> Json:
        response = self.request(
            "GET", f"/resources/{self._agent_config['resource_name']}/metadata"
        )
        assert response.status_code == 200, response.text
        return response.json()["metadata"]


@pytest.mark.timeout(900)
def test_agent_completes_deployment(
    real_target_cloud: TargetCloud, real_testbed: Json, deploy: Any
) -> None:
    deploy(real_target_cloud)
    user = real_target_cloud.heat_user()
    user.create(NAME, template())
    wait_until(
        lambda: bool(user.outputs(NAME)["agent"]), "the agent has its configuration", timeout_s=300
    )
    agent_config = user.outputs(NAME)["agent"]
    agent = AgentSession(agent_config)
    wait_until(
        lambda: bool(agent.metadata()["deployments"]), "the agent has a deployment", timeout_s=300
    )
    metadata = agent.metadata()
    assert metadata["os-collect-config"]["heat"] == agent_config
    (config,) = metadata["deployments"]
    inputs = {item["name"]: item["value"] for item in config["inputs"]}
    assert inputs["deploy_resource_name"] == "deployment"
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/resources")):
        assert agent.request(method, path).status_code == 403
    deployment_user = AgentSession(
        {
            **agent_config,
            "user_id": inputs["deploy_user_id"],
            "password": inputs["deploy_password"],
        }
    )
    response = deployment_user.request(
        "POST", "/resources/deployment/signal", {"deploy_status_code": 0, "result": "done"}
    )
    assert response.status_code == 200, response.text
    user.wait_for_status(NAME, "CREATE_COMPLETE")
    assert user.outputs(NAME)["result"] == "done"
    user.heat.stacks.delete(NAME)
    user.wait_deleted(NAME)
    identity = identity_of(real_target_cloud.as_user("admin", "admin").sdk_connection())
    users = identity.users(domain_id=real_testbed["heat_domain_id"])
    assert agent_config["user_id"] not in [item.id for item in users]
