"""Attacks of one tenant on another, beside real services.

``pytest -rP`` shows each request with its answer and milliseconds. No test asserts milliseconds,
but each request and each action of a stack must end in bounded time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.attacks import (
    HIDDEN_VALUE,
    SCRIPT,
    VICTIM_STACK,
    RequestLog,
    Victim,
    adopted_document,
    agent_requests,
    reader_requests,
    victim_stack,
)
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService

Json = Any
NAME = "attack"


@pytest.fixture(scope="module")
def service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def victim(cloud_testbed: CloudTestbed, service: DeployedService) -> Iterator[Victim]:
    owner = cloud_testbed.identity_client("demo")
    with victim_stack(cloud_testbed, service, owner) as created:
        yield created


@pytest.fixture
def attacker(cloud_testbed: CloudTestbed, service: DeployedService) -> RequestLog:
    return RequestLog(service, cloud_testbed.identity_client("alt_demo").session)


@pytest.fixture
def agent(cloud_testbed: CloudTestbed, service: DeployedService, victim: Victim) -> RequestLog:
    return agent_requests(cloud_testbed, service, victim)


@pytest.fixture
def reader(cloud_testbed: CloudTestbed, service: DeployedService) -> Iterator[RequestLog]:
    with reader_requests(cloud_testbed, service) as log:
        yield log


# -- 2: a script on another tenant's server


@pytest.mark.parametrize("project", ["project", "stack user project", None])
def test_deployment_reaches_no_server_of_another_tenant(
    victim: Victim, attacker: RequestLog, agent: RequestLog, project: str | None
) -> None:
    config = {"name": "attack", "group": "script", "config": SCRIPT}
    answer = attacker.send("2 own configuration", "POST", "/software_configs", config)
    config_id = answer.json()["software_config"]["id"]
    body = {"config_id": config_id, "server_id": victim.server_id}
    if project is not None:
        owner_project = victim.requests.session.get_project_id()
        agent_project = victim.agent["project_id"]
        body["stack_user_project_id"] = owner_project if project == "project" else agent_project
    before = victim.server_metadata()
    label = f"2 with the victim's {project}" if project else "2 with the own project"
    answer = attacker.send(label, "POST", "/software_deployments", body)
    assert answer.status_code == (404 if project else 200), answer.text
    _require_no_script(victim, agent)
    assert victim.server_metadata() == before
    if project is None:
        made = answer.json()["software_deployment"]["id"]
        attacker.send("2 deletion", "DELETE", f"/software_deployments/{made}")
    attacker.send("2 deletion", "DELETE", f"/software_configs/{config_id}")


def test_deployment_of_the_owner_is_listed(victim: Victim) -> None:
    """The other tests read the list in which a script would arrive."""
    config = {"name": "own", "group": "script", "config": SCRIPT}
    answer = victim.requests.send("2 owner", "POST", "/software_configs", config)
    config_id = answer.json()["software_config"]["id"]
    body = {"config_id": config_id, "server_id": victim.server_id}
    answer = victim.requests.send("2 owner", "POST", "/software_deployments", body)
    deployment_id = answer.json()["software_deployment"]["id"]
    path = f"/software_deployments/metadata/{victim.server_id}"
    (shown,) = victim.requests.send("2 owner", "GET", path).json()["metadata"]
    assert shown["config"] == SCRIPT
    victim.requests.send("2 owner", "DELETE", f"/software_deployments/{deployment_id}")
    victim.requests.send("2 owner", "DELETE", f"/software_configs/{config_id}")


def _require_no_script(victim: Victim, agent: RequestLog) -> None:
    path = f"/software_deployments/metadata/{victim.server_id}"
    for label, log in (("2 owner", victim.requests), ("2 agent", agent)):
        answer = log.send(label, "GET", path)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"metadata": []}


# -- 3: documents that name users of others


def test_adoption_reaches_no_user_of_another_tenant(
    cloud_testbed: CloudTestbed, victim: Victim, attacker: RequestLog
) -> None:
    """Neither users of another stack nor ordinary ones are disabled or deleted."""
    signal_user, owner = victim.physical_ids["handle"], victim.requests.session.get_user_id()
    user_project, project = victim.agent["project_id"], victim.requests.session.get_project_id()
    entries = {
        "by_id": {"resource_id": signal_user, "resource_data": {}},
        "by_data": {
            "resource_id": signal_user,
            "resource_data": {"user_id": signal_user, "project_id": user_project},
        },
        "agent": {
            "resource_id": victim.agent["user_id"],
            "resource_data": {"user_id": victim.agent["user_id"]},
        },
        "owner": {
            "resource_id": owner,
            "resource_data": {"user_id": owner, "project_id": project, "password": "wrong"},
        },
    }
    handle = {
        "type": "OS::Heat::WaitConditionHandle",
        "properties": {"signal_transport": "CFN_SIGNAL"},
    }
    try:
        _adopt_and_suspend(attacker, adopted_document(dict.fromkeys(entries, handle), entries))
    finally:
        attacker.delete(NAME)
    admin = cloud_testbed.identity_client("admin")
    for user_id in (signal_user, victim.agent["user_id"], owner):
        assert admin.get(f"/users/{user_id}")["user"]["enabled"] is True


def test_adopted_deployment_reaches_no_server_of_another_tenant(
    victim: Victim, attacker: RequestLog, agent: RequestLog
) -> None:
    config = {"name": "attack", "group": "script", "config": SCRIPT}
    answer = attacker.send("3 own configuration", "POST", "/software_configs", config)
    config_id = answer.json()["software_config"]["id"]
    deployment = {
        "type": "OS::Heat::SoftwareDeployment",
        "properties": {
            "config": config_id,
            "server": victim.server_id,
            "signal_transport": "NO_SIGNAL",
            "actions": ["CREATE", "SUSPEND"],
        },
    }
    data = {"user_id": victim.agent["user_id"], "project_id": victim.agent["project_id"]}
    entries = {"d": {"resource_id": "adopted-deployment", "resource_data": data}}
    try:
        _adopt_and_suspend(attacker, adopted_document({"d": deployment}, entries))
        path = f"/software_deployments?server_id={victim.server_id}"
        (deployed,) = attacker.send("3 own", "GET", path).json()["software_deployments"]
        assert deployed["action"] == "SUSPEND"
        _require_no_script(victim, agent)
    finally:
        attacker.delete(NAME)
        attacker.send("3 deletion", "DELETE", f"/software_configs/{config_id}")


def _adopt_and_suspend(attacker: RequestLog, document: Json) -> None:
    body = {"stack_name": NAME, "timeout_mins": 5, "adopt_stack_data": json.dumps(document)}
    assert attacker.send("3 adopt", "POST", "/stacks", body).status_code == 201
    assert attacker.wait_until_done(NAME)[0] == "ADOPT_COMPLETE"
    path = f"/stacks/{NAME}/actions"
    assert attacker.send("3 suspend", "POST", path, {"suspend": None}).status_code == 200
    assert attacker.wait_until_done(NAME)[0] == "SUSPEND_COMPLETE"


# -- 4: a server's own user


def test_user_of_a_server_reads_no_metadata_but_its_own(victim: Victim, agent: RequestLog) -> None:
    path = f"{victim.path}/resources"
    assert agent.send("4 own", "GET", f"{path}/server/metadata").status_code == 200
    for name in ("other", "handle", "secret"):
        answer = agent.send(f"4 {name}", "GET", f"{path}/{name}/metadata")
        assert answer.status_code == 403, answer.text
    for other_path in (
        path,
        f"{path}/server",
        f"{victim.path}/template",
        f"{victim.path}/environment",
    ):
        assert agent.send("4 other routes", "GET", other_path).status_code == 403


# -- 6: secrets shown to readers


def test_reader_is_shown_no_secret(victim: Victim, reader: RequestLog) -> None:
    owner, path = victim.requests, victim.path
    snapshot = owner.send("6 owner", "POST", f"{path}/snapshots", {"name": "s"}).json()["id"]
    assert owner.wait_until_done(VICTIM_STACK)[0] == "SNAPSHOT_COMPLETE"
    shown = owner.send("6 owner", "GET", f"{path}/resources/secret").json()["resource"]
    secrets = (HIDDEN_VALUE, shown["attributes"]["value"], victim.agent["password"])
    exported = owner.send("6 owner", "GET", f"{path}/export").text
    assert all(secret in exported for secret in secrets)
    resource_path = f"{path}/resources/other"
    events = reader.send("6 reader", "GET", f"{resource_path}/events").json()["events"]
    paths = [f"{resource_path}/events/{each['id']}" for each in events]
    paths += [path, f"{path}/environment", f"{path}/snapshots", f"{path}/snapshots/{snapshot}"]
    paths += [f"{path}/resources/{name}" for name in ("other", "secret", "server")]
    paths += [f"{path}/resources/{name}/metadata" for name in ("other", "server")]
    try:
        for each in paths:
            answer = reader.send("6 reader", "GET", each)
            assert answer.status_code == 200, answer.text
            assert not [secret for secret in secrets if secret in answer.text], each
    finally:
        owner.send("6 owner", "DELETE", f"{path}/snapshots/{snapshot}")


# -- 7: a signed URL


def test_signed_url_without_its_version_is_refused(
    service: DeployedService, victim: Victim
) -> None:
    project_id = victim.requests.session.get_project_id()
    arn = f"arn%3Aopenstack%3Aheat%3A%3A{project_id}%3A{victim.path.lstrip('/')}"
    query = "AWSAccessKeyId=key&Signature=wrong&SignatureMethod=HmacSHA256&Timestamp=2026"
    url = f"{service.endpoint}/v1/signal/{arn}/resources/handle?{query}"
    started_s = time.perf_counter()
    answer = requests.post(url, timeout=60)
    milliseconds = (time.perf_counter() - started_s) * 1000
    print(
        f"7 no SignatureVersion | POST /v1/signal | {answer.status_code} | {milliseconds:.0f} ms"
    )
    assert answer.status_code == 403, answer.text


def test_stack_of_the_victim_is_unchanged(service: DeployedService, victim: Victim) -> None:
    session = victim.requests.session

    def is_at_rest() -> bool:
        return "IN_PROGRESS" not in service.stack_status(session, VICTIM_STACK)[0]

    wait_until(is_at_rest, "the victim's stack is at rest")
    assert service.stack_status(session, VICTIM_STACK)[0].endswith("COMPLETE")
