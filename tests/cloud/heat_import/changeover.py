"""Both services of a change-over, and the stacks that one makes for the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.heat_import.heat_stacks import OWN_STACKS, HeatStack, public_stacks
from tests.cloud.testbed import CloudTestbed, DeployedService
from tests.end_to_end.recorded_services import CallLog

Json = Any
CONFIG_VARIABLE = "HEAT_CONVERGENCE_TEST_HEAT_CONFIG"
TEMPLATES_VARIABLE = "HEAT_CONVERGENCE_TEST_TEMPLATES"
CREATE_TIMEOUT_S = 900
_TRIES = 5


@dataclass
class Changeover:
    """Heat, this service, and the project whose stacks change over.

    Attributes:
        cfn_endpoint: address of this service's CFN API.
        call_log: this service's calls to the cloud.
        copy_url: the URL of a copy of Heat's database.
        stacks: the stacks by name.
    """

    cloud_testbed: CloudTestbed
    project: str
    heat: DeployedService
    own: DeployedService
    cfn_endpoint: str
    call_log: CallLog
    copy_url: str = ""
    stacks: Mapping[str, HeatStack] = field(default_factory=dict)
    start_daemons: Callable[[], None] = lambda: None
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        self.session = self.cloud_testbed.session("demo", self.project)

    def get(self, service: DeployedService, path: str) -> Json:
        """Return the JSON of a GET."""
        response = service.request(self.session, "GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def send(self, method: str, path: str, body: Json = None) -> Json:
        """Send a request to this service and return the JSON, if there is any."""
        response = self.own.request(self.session, method, path, body)
        assert response.status_code < 300, response.text
        return response.json() if response.text.startswith("{") else None

    def stack(self, service: DeployedService, name: str) -> Json:
        """Return a stack as a service shows it."""
        return self.get(service, f"/stacks/{name}")["stack"]

    def outputs(self, service: DeployedService, name: str) -> dict[str, Json]:
        """Return the outputs of a stack."""
        shown = self.stack(service, name)["outputs"]
        return {each["output_key"]: each["output_value"] for each in shown}

    def path(self, name: str) -> str:
        """Return the path of a stack."""
        return f"/stacks/{name}/{self.stack(self.own, name)['id']}"

    def resources(self, service: DeployedService, name: str) -> dict[str, Json]:
        """Return all resources of a stack tree by stack and name."""
        path = f"/stacks/{name}/{self.stack(service, name)['id']}/resources?nested_depth=5"
        listed = self.get(service, path)["resources"]
        return {f"{_stack_name(each)}/{each['resource_name']}": each for each in listed}

    def update(self, name: str, body: Json, *, within_s: float = 240.0) -> str:
        """Update a stack with this service and return its status."""
        self.send("PATCH", self.path(name), body)
        return self.own.wait_until_done(self.session, name, within_s=within_s)[0]

    def jobs(self, name: str) -> list[Json]:
        """Return what happened to each resource in the last action, at every depth."""
        found = self.get(self.own, f"{self.path(name)}/timeline?nested_depth=5")["timeline"]
        return list(found["resources"])

    def send_signal(self, url: str, method: str, body: Json, *, to_own: bool) -> int:
        """Send a signal to a signed URL; this service answers at Heat's old address."""
        address, _, path = url.removeprefix("http://").partition("/")
        target = f"{self.cfn_endpoint}/{path}" if to_own else url
        response = requests.request(
            method, target, json=body, headers={"Host": address}, timeout=120
        )
        return response.status_code

    def delete_from_heat(self) -> None:
        """Delete Heat's rows; this service may have deleted the resources already."""
        for name in self.stacks:
            with suppress(requests.RequestException, AssertionError):
                self.heat.request(self.session, "DELETE", f"/stacks/{name}")

        def is_done() -> bool:
            shown = self.get(self.heat, "/stacks")["stacks"]
            return not any(each["stack_status"] == "DELETE_IN_PROGRESS" for each in shown)

        with suppress(AssertionError):
            wait_until(is_done, "Heat has deleted its stacks", timeout_s=300)


def _stack_name(resource: Json) -> str:
    """Return the name of a resource's stack, which a link has."""
    [href] = [each["href"] for each in resource["links"] if each["rel"] == "stack"]
    return str(href).split("/")[-2]


def make_stacks(changeover: Changeover, templates: Path) -> None:
    """Create all stacks with Heat, and do with them what users do."""
    ids = _ids(changeover)
    stacks = {**public_stacks(templates, ids), **OWN_STACKS}
    # Keystone accepts the signed URLs of handles for a quarter of an hour: they are made last.
    changeover.stacks = {name: stacks[name] for name in sorted(stacks, key="waiting".__eq__)}
    for name, stack in changeover.stacks.items():
        body = {"stack_name": name, "timeout_mins": 60, **stack.body, "files": _files(stack)}
        _create(changeover, body)
    _signal_while_created(changeover)
    changeover.stacks = {
        name: replace(stack, status=_final_status(changeover, name, stack))
        for name, stack in changeover.stacks.items()
    }
    _act_on_stacks(changeover)


def _final_status(changeover: Changeover, name: str, stack: HeatStack) -> str:
    """Return the status of a stack when Heat has done what it can.

    Heat fails on some public templates, for example on servers without a network.
    """
    if stack.status.endswith("IN_PROGRESS"):
        return stack.status
    status, reason = changeover.heat.wait_until_done(
        changeover.session, name, within_s=CREATE_TIMEOUT_S
    )
    assert status == stack.status or name not in OWN_STACKS, f"{name}: {reason}"
    return status


def _create(changeover: Changeover, body: Json) -> None:
    """Create a stack; a Keystone under load refuses some of Heat's requests for a trust."""
    for _ in range(_TRIES):
        response = changeover.heat.request(changeover.session, "POST", "/stacks", body)
        if response.status_code != 500:
            break
        time.sleep(2)
    assert response.status_code == 201, f"{body['stack_name']}: {response.text}"


def _ids(changeover: Changeover) -> dict[str, str]:
    region = changeover.cloud_testbed.facts["region"]
    connection = changeover.cloud_testbed.connection("demo", region, changeover.project)
    private = connection.network.find_network("private", ignore_missing=False)
    return {
        **changeover.cloud_testbed.facts["ids"],
        "private_network": private.id,
        "private_subnet": private.subnet_ids[0],
    }


def _files(stack: HeatStack) -> Mapping[str, str]:
    found: Mapping[str, str] = stack.body.get("files") or {}
    return found


def _signal_while_created(changeover: Changeover) -> None:
    """Signal what the creation of two stacks waits for."""
    heat, session = changeover.heat, changeover.session

    def is_ready(stack: str, *names: str) -> bool:
        shown = changeover.resources(heat, stack)
        states = {each["resource_name"]: each["resource_status"] for each in shown.values()}
        return all(states.get(name) == "CREATE_COMPLETE" for name in names)

    for stack in ("waited", "waiting"):
        wait_until(
            lambda stack=stack: is_ready(stack, "handle", "cfn"),  # type: ignore[misc]
            f"the handles of {stack} exist",
            timeout_s=CREATE_TIMEOUT_S,
        )
    signal_waits(changeover, "waited", heat)
    deployment = "/resources/signalled"

    def deployment_exists() -> bool:
        path = f"/stacks/deployed/{changeover.stack(heat, 'deployed')['id']}{deployment}"
        return bool(changeover.get(heat, path)["resource"]["physical_resource_id"])

    wait_until(deployment_exists, "the deployment exists", timeout_s=CREATE_TIMEOUT_S)
    path = f"/stacks/deployed/{changeover.stack(heat, 'deployed')['id']}{deployment}/signal"
    body = {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": 0, "sum": "7"}
    assert heat.request(session, "POST", path, body).status_code == 200


def signal_waits(changeover: Changeover, name: str, source: DeployedService) -> None:
    """Signal both wait conditions of a stack by the URLs that Heat has given out.

    Args:
        changeover: the services.
        name: the stack.
        source: the service that shows the URLs, and gets the signals.
    """
    to_own = source is changeover.own
    found = changeover.outputs(source, name)
    signal = json.loads(found["signal"])["alarm_url"]
    native = {"status": "SUCCESS", "reason": "r", "data": "word", "id": "1"}
    assert changeover.send_signal(signal, "PUT", native, to_own=to_own) == 200
    cfn = {"Status": "SUCCESS", "Reason": "r", "Data": "word", "UniqueId": "1"}
    assert changeover.send_signal(found["url"], "PUT", cfn, to_own=to_own) == 200


def _act_on_stacks(changeover: Changeover) -> None:
    """Scale, save and suspend; Heat makes the URLs of a handle when they are read first."""
    heat, session = changeover.heat, changeover.session
    assert changeover.outputs(heat, "waiting")["signal"]
    before = changeover.outputs(heat, "scaled")
    assert changeover.send_signal(before["url"], "POST", {}, to_own=False) == 200
    wait_until(
        lambda: changeover.outputs(heat, "scaled")["size"] == before["size"] + 1,
        "the group has grown", timeout_s=240,
    )  # fmt: skip
    for name, path, body in (
        ("saved", "snapshots", {"name": "before"}),
        ("suspended", "actions", {"suspend": None}),
    ):
        stack_id = changeover.stack(heat, name)["id"]
        response = heat.request(session, "POST", f"/stacks/{name}/{stack_id}/{path}", body)
        assert response.status_code < 300, response.text
        time.sleep(1)
        assert heat.wait_until_done(session, name, within_s=240)[0].endswith("_COMPLETE")
