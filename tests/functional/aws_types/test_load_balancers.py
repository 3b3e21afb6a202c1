"""Load balancers of CloudFormation, over the emulated cloud, to docs/reference/aws-types.rst."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from heat_convergence.resources.aws.load_balancing.haproxy import build_configuration
from heat_convergence.resources.aws.load_balancing.load_balancer import LoadBalancer
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import ServerAgentTestbed

Json = Any
CHECK = {
    "Target": "HTTP:80/",
    "HealthyThreshold": 3,
    "UnhealthyThreshold": 5,
    "Interval": 30,
    "Timeout": 10,
}
LISTENER = {"LoadBalancerPort": 80, "InstancePort": 8080, "Protocol": "HTTP"}
CONFIGURATION = "/etc/haproxy/haproxy.cfg"
VALUES = {"LbImageId": "cirros", "LbFlavor": "m1.nano", "LBTimeout": "600"}


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[ServerAgentTestbed]:
    testbed = ServerAgentTestbed(tmp_path)
    yield testbed
    testbed.service.close()
    testbed.fake.close()


@pytest.fixture
def heat(testbed: ServerAgentTestbed) -> ProjectClient:
    return ProjectClient(testbed.service)


def template(*instances: str, **properties: Json) -> Json:
    """Return a template with instances of these names behind a load balancer."""
    values: Json = {
        "AvailabilityZones": [],
        "Listeners": [LISTENER],
        "HealthCheck": CHECK,
        "Instances": [{"get_resource": name} for name in instances],
        **properties,
    }
    server = {
        "type": "AWS::EC2::Instance",
        "properties": {"ImageId": "cirros", "InstanceType": "m1.nano"},
    }
    balancer = {"type": "AWS::ElasticLoadBalancing::LoadBalancer", "properties": values}
    body = hot_template(
        {"LB": balancer, **dict.fromkeys(instances, server)},
        outputs={
            "name": {"get_resource": "LB"},
            "address": {"get_attr": ["LB", "DNSName"]},
            "zone": {"get_attr": ["LB", "CanonicalHostedZoneName"]},
            **{name: {"get_attr": [name, "PublicIp"]} for name in instances},
        },
    )
    names = {"LbImageId", "LbFlavor", "LBTimeout"}
    return {**body, "parameters": {name: {"type": "string"} for name in sorted(names)}}


def start(heat: ProjectClient, body: Json, **extra: Json) -> None:
    """Create the stack, and signal for its server, which the emulation does not run."""
    heat.create("s", body, hold=True, parameters=VALUES, **extra)
    for _ in range(40):
        heat.service.run_due_work()
        nested = heat.nested_stack("s", "LB")
        waiting = None if nested is None else heat.resource(nested["id"], "WaitCondition")
        if waiting is not None and waiting["resource_status"] == "CREATE_IN_PROGRESS":
            break
        heat.service.clock.advance(5)
    signal = {"Status": "SUCCESS", "Reason": "", "Data": "", "UniqueId": "1"}
    path = f"{heat.path(nested['id'])}/resources/WaitHandle/signal"
    assert heat.send("POST", path, signal).status_int == 200


def configuration(heat: ProjectClient) -> str:
    nested = heat.nested_stack("s", "LB")
    path = f"{heat.path(nested['id'])}/resources/LB_instance/metadata"
    found = heat.send("GET", path, leave_pending=True).json["metadata"]
    return str(found["AWS::CloudFormation::Init"]["config"]["files"][CONFIGURATION]["content"])


def test_server_balances_the_load_of_the_instances(heat: ProjectClient) -> None:
    start(heat, template("one", "two"))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    outputs = heat.outputs("s")
    assert (outputs["name"], outputs["zone"]) == ("LB", "")
    assert outputs["address"] == heat.outputs(heat.nested_stack("s", "LB")["id"])["PublicIp"]
    text = configuration(heat)
    assert "bind *:80\n" in text
    words = f"server server1 {outputs['one']}:8080 check inter 30s fall 5 rise 3\n"
    assert words in text
    assert f"server server2 {outputs['two']}:8080 check" in text
    nested = heat.nested_stack("s", "LB")["id"]
    before = heat.resource(nested, "LB_instance")["physical_resource_id"]
    heat.update("s", template("two", "three"), parameters=VALUES)
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    outputs, text = heat.outputs("s"), configuration(heat)
    assert f"server server1 {outputs['two']}:8080" in text
    assert f"server server2 {outputs['three']}:8080" in text
    assert heat.nested_stack("s", "LB")["id"] == nested
    assert heat.resource(nested, "LB_instance")["physical_resource_id"] == before
    heat.delete("s")
    assert heat.stack("s") is None


def test_unknown_instances_have_no_address(heat: ProjectClient) -> None:
    start(heat, template(Instances=["elsewhere"]))
    assert "server server1 0.0.0.0:8080" in configuration(heat)


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"HealthCheck": {**CHECK, "Timeout": 31}}, "HealthCheck"),
        ({"Subnets": ["a"]}, "Subnets"),
        ({"LBCookieStickinessPolicy": "a"}, "LBCookieStickinessPolicy"),
        ({"Listeners": [{**LISTENER, "Protocol": "UDP"}]}, "Listeners[0].Protocol"),
        ({"Listeners": [{**LISTENER, "SSLCertificateId": "x"}]}, "SSLCertificateId"),
        ({"Listeners": "no list"}, "Listeners"),
    ],
)
def test_bad_properties_are_refused(heat: ProjectClient, properties: Json, path: str) -> None:
    body = {"stack_name": "s", "template": template(**properties), "parameters": VALUES}
    answer = heat.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert path in answer.json["error"]["message"]


def test_template_of_the_operator(
    heat: ProjectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {"LB_instance": {"Type": "OS::Heat::None"}},
        "Outputs": {"PublicIp": {"Value": "192.0.2.7"}},
    }
    path = tmp_path / "balancer.yaml"
    path.write_text(yaml.safe_dump(own))
    monkeypatch.setattr(LoadBalancer, "template_path", str(path))
    heat.create("s", template(), parameters=VALUES)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s")["address"] == "192.0.2.7"
    assert "backend servers" in configuration(heat)


@pytest.mark.parametrize("text", ["{", "Resources: {}", "[]"])
def test_unusable_template_of_the_operator(
    heat: ProjectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / f"{len(text)}.yaml"
    path.write_text(text)
    monkeypatch.setattr(LoadBalancer, "template_path", str(path))
    body = {"stack_name": "s", "template": template(), "parameters": VALUES}
    answer = heat.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert str(path) not in answer.text


def test_configuration_without_health_check() -> None:
    text = build_configuration({"Listeners": [LISTENER]}, ["192.0.2.1"])
    assert text.endswith("    server server1 192.0.2.1:8080\n")
    assert "timeout check" not in text
