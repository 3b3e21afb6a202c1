"""A server's agent on real services: it logs in with what the server was handed, reads what
is deployed, says that it is done, and may do no more."""

from __future__ import annotations

from typing import Any

import pytest
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.end_to_end.harness import TargetCloud

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
    """Knows what the server was handed, and nothing else."""

    def __init__(self, told: Json) -> None:
        auth = Password(
            told["auth_url"],
            user_id=told["user_id"],
            password=told["password"],
            project_id=told["project_id"],
        )
        self._session = Session(auth=auth)
        self._stack = f"/stacks/{told['stack_id']}"
        self._told = told

    def request(self, method: str, path: str, body: Json = None) -> Any:
        where = {
            "service_type": "orchestration",
            "interface": "public",
            "region_name": self._told["region_name"],
        }
        return self._session.request(
            f"{self._stack}{path}", method, json=body, endpoint_filter=where, raise_exc=False
        )

    def metadata(self) -> Json:
        answer = self.request("GET", f"/resources/{self._told['resource_name']}/metadata")
        assert answer.status_code == 200, answer.text
        return answer.json()["metadata"]


@pytest.mark.timeout(900)
def test_agent_completes_deployment(
    real_target_cloud: TargetCloud, real_facts: Json, deploy: Any
) -> None:
    deploy(real_target_cloud)
    user = real_target_cloud.heat_user()
    user.create(NAME, template())
    wait_until(lambda: bool(user.outputs(NAME)["agent"]), "the agent is told", timeout_s=300)
    told = user.outputs(NAME)["agent"]
    agent = AgentSession(told)
    wait_until(lambda: bool(agent.metadata()["deployments"]), "it is deployed", timeout_s=300)
    shown = agent.metadata()
    assert shown["os-collect-config"]["heat"] == told
    (config,) = shown["deployments"]
    given = {one["name"]: one["value"] for one in config["inputs"]}
    assert given["deploy_resource_name"] == "deployment"
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/resources")):
        assert agent.request(method, path).status_code == 403
    doer = AgentSession(
        {**told, "user_id": given["deploy_user_id"], "password": given["deploy_password"]}
    )
    answer = doer.request(
        "POST", "/resources/deployment/signal", {"deploy_status_code": 0, "result": "done"}
    )
    assert answer.status_code == 200, answer.text
    user.wait_for_status(NAME, "CREATE_COMPLETE")
    assert user.outputs(NAME)["result"] == "done"
    user.heat.stacks.delete(NAME)
    user.wait_deleted(NAME)
    identity = real_target_cloud.as_user("admin", "admin").sdk_connection().identity
    left = identity.users(domain_id=real_facts["heat_domain_id"])
    assert told["user_id"] not in [one.id for one in left]
