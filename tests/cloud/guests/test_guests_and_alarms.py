"""Signals from the cloud: a server's script by the CFN URL, an alarm of Aodh by its web hook."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from heat_convergence.testing.daemon_processes import CFN, DaemonProcess, free_port, wait_until
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import (
    CloudTestbed,
    DeployedService,
    UserIdentityClient,
    notification_url,
)

Json = Any
NAME = "visitors"
SIGNAL = json.dumps(
    {"Status": "SUCCESS", "Reason": "done", "Data": "from inside", "UniqueId": "1"}
)
SCRIPT = "#!/bin/sh\ncurl -s -X PUT -H 'Content-Type:' --data-binary '{body}' '{url}'\n"
ALARM_TOPIC = "alarm.all"  # to which Ceilometer hands events on


@pytest.fixture(scope="module")
def service(
    deploy: DeployService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeployedService]:
    """Yield a service whose signed URLs lead to its CFN API."""
    port = free_port()
    found = deploy(
        sections={"heat_api_cfn": {"bind_host": "127.0.0.1", "bind_port": port, "workers": 1}},
        heat_waitcondition_server_url=f"http://127.0.0.1:{port}/v1/waitcondition",
    )
    log = tmp_path_factory.mktemp("cfn") / "api-cfn.log"
    command = ["heat-convergence-api-cfn", "--config-file", str(found.config)]
    daemon = DaemonProcess(CFN, command, log)
    daemon.start()
    yield found
    daemon.terminate()


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client("demo")


def create(
    service: DeployedService, user: UserIdentityClient, resources: Json, values: Json
) -> None:
    """Create the stack and wait until it is complete."""
    template = {
        "heat_template_version": "2016-10-14",
        "resources": resources,
        "outputs": {name: {"value": value} for name, value in values.items()},
    }
    service.create_stack(user.session, NAME, template)
    status, reason = service.wait_until_done(user.session, NAME, within_s=300)
    assert status == "CREATE_COMPLETE", reason


@pytest.fixture
def deleted_stack(service: DeployedService, user: UserIdentityClient) -> Iterator[None]:
    yield
    service.delete_stack(user.session, NAME)


@pytest.mark.usefixtures("deleted_stack")
def test_script_of_a_server_signals_by_the_cfn_url(
    service: DeployedService, user: UserIdentityClient
) -> None:
    script = {
        "str_replace": {
            "template": SCRIPT,
            "params": {"{body}": SIGNAL, "{url}": {"get_resource": "handle"}},
        }
    }
    resources = {
        "handle": {"type": "AWS::CloudFormation::WaitConditionHandle"},
        "wait": {
            "type": "AWS::CloudFormation::WaitCondition",
            "depends_on": "server",
            "properties": {"Handle": {"get_resource": "handle"}, "Timeout": 240},
        },
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.nano",
                "networks": [{"network": "private"}],
                "user_data_format": "RAW",
                "user_data": script,
            },
        },
    }
    values = {"data": {"get_attr": ["wait", "Data"]}, "url": {"get_resource": "handle"}}
    create(service, user, resources, values)
    found = service.outputs(user.session, NAME)
    assert json.loads(found["data"]) == {"1": "from inside"}
    assert service.endpoint not in found["url"], "the URL is that of the CFN API"


@pytest.mark.usefixtures("deleted_stack")
def test_event_alarm_scales_a_group(
    cloud_testbed: CloudTestbed, service: DeployedService, user: UserIdentityClient
) -> None:
    if "alarming" not in {each["type"] for each in _services(cloud_testbed)}:
        pytest.skip("the cloud has no Aodh")
    event_type = f"visitors.{uuid.uuid4().hex}"
    resources = {
        "group": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {"min_size": 1, "max_size": 3, "resource": {"type": "OS::Heat::None"}},
        },
        "up": {
            "type": "OS::Heat::ScalingPolicy",
            "properties": {
                "auto_scaling_group_id": {"get_resource": "group"},
                "scaling_adjustment": 1,
                "adjustment_type": "change_in_capacity",
            },
        },
        "alarm": {
            "type": "OS::Aodh::EventAlarm",
            "properties": {
                "event_type": event_type,
                "alarm_actions": [{"get_attr": ["up", "alarm_url"]}],
            },
        },
    }
    create(service, user, resources, {"size": {"get_attr": ["group", "current_size"]}})
    assert service.outputs(user.session, NAME)["size"] == 1

    _send_event(notification_url(cloud_testbed), event_type, user.session.get_project_id())

    wait_until(
        lambda: service.outputs(user.session, NAME)["size"] == 2,
        "the group has two",
        timeout_s=120,
    )


def _services(cloud_testbed: CloudTestbed) -> list[Json]:
    return list(cloud_testbed.identity_client().get("/services")["services"])


def _send_event(url: str, event_type: str, project_id: str | None) -> None:
    """Send an event of a project to Aodh, as Ceilometer does."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    transport = oslo_messaging.get_notification_transport(conf, url)
    notifier = oslo_messaging.Notifier(
        transport, "test", driver="messagingv2", topics=[ALARM_TOPIC]
    )
    event = {
        "message_id": str(uuid.uuid4()),
        "event_type": event_type,
        "generated": "2026-01-01T00:00:00",
        "traits": [["project_id", 1, project_id]],
    }
    notifier.sample({}, "event", [event])
