"""An agent that completes the deployments on servers that run none.

As a real agent does, it reads the server's metadata, and signals completion as these say: by a
signed URL, or by the API with the password in them.
"""

from __future__ import annotations

import threading
from typing import Any

import requests
from keystoneauth1 import exceptions
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.end_to_end.harness import TargetCloud

Json = Any
AGENT_LIFETIME_S = 3000.0


class DeploymentAgent:
    """An agent for all servers of the project, which works while the context lasts."""

    def __init__(self, target_cloud: TargetCloud) -> None:
        self._heat = target_cloud.heat_user().heat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.completed_config_ids: list[str] = []

    def __enter__(self) -> DeploymentAgent:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        wait_until(self._poll, "the stacks are complete", timeout_s=AGENT_LIFETIME_S)

    def _poll(self) -> bool:
        for deployment in self._heat.software_deployments.list():
            if deployment.status == "IN_PROGRESS":
                self._complete(deployment)
        return self._stopped.wait(1.0)

    def _complete(self, deployment: Json) -> None:
        metadata = self._heat.software_deployments.metadata(deployment.server_id)
        config = next((item for item in metadata if item["id"] == deployment.config_id), None)
        if config is None:
            return
        inputs = {item["name"]: item["value"] for item in config["inputs"]}
        outputs: Json = {
            item["name"]: "done" for item in config["outputs"] if not item.get("error_output")
        }
        outputs |= {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": 0}
        try:
            _send_signal(inputs, outputs)
        except (exceptions.ClientException, requests.RequestException):
            return  # the resource is not recorded yet: retry at the next poll
        self.completed_config_ids.append(config["id"])


def _send_signal(inputs: dict[str, Json], outputs: Json) -> None:
    if inputs["deploy_signal_transport"] == "CFN_SIGNAL":
        requests.post(inputs["deploy_signal_id"], json=outputs, timeout=60).raise_for_status()
        return
    auth = Password(
        inputs["deploy_auth_url"],
        user_id=inputs["deploy_user_id"],
        password=inputs["deploy_password"],
        project_id=inputs["deploy_project_id"],
    )
    Session(auth=auth).post(
        f"/stacks/{inputs['deploy_stack_id']}/resources/{inputs['deploy_resource_name']}/signal",
        json=outputs,
        endpoint_filter={
            "service_type": "orchestration",
            "interface": "public",
            "region_name": inputs.get("deploy_region_name"),
        },
    )
