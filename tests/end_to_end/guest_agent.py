"""An agent of servers that are only pretended: does what is deployed on any of them.

It is told what to do as a real one is, by the metadata of the server, and says that it is
done the way that these name: a signed URL, or the API with the password that is in them.
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


class GuestAgent:
    """Works while the context lasts, for all servers of the ground's project."""

    def __init__(self, target_cloud: TargetCloud) -> None:
        self._heat = target_cloud.heat_user().heat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.completed_config_ids: list[str] = []

    def __enter__(self) -> GuestAgent:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        wait_until(self._round, "the stacks are done", timeout_s=AGENT_LIFETIME_S)

    def _round(self) -> bool:
        for deployment in self._heat.software_deployments.list():
            if deployment.status == "IN_PROGRESS":
                self._do(deployment)
        return self._stopped.wait(1.0)

    def _do(self, deployment: Json) -> None:
        told = self._heat.software_deployments.metadata(deployment.server_id)
        config = next((one for one in told if one["id"] == deployment.config_id), None)
        if config is None:
            return
        given = {one["name"]: one["value"] for one in config["inputs"]}
        outputs = {one["name"]: "done" for one in config["outputs"] if not one.get("error_output")}
        outputs |= {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": 0}
        try:
            _say(given, outputs)
        except (exceptions.ClientException, requests.RequestException):
            return  # the resource is not on record yet: again next time
        self.completed_config_ids.append(config["id"])


def _say(given: dict[str, Json], outputs: Json) -> None:
    if given["deploy_signal_transport"] == "CFN_SIGNAL":
        requests.post(given["deploy_signal_id"], json=outputs, timeout=60).raise_for_status()
        return
    auth = Password(
        given["deploy_auth_url"],
        user_id=given["deploy_user_id"],
        password=given["deploy_password"],
        project_id=given["deploy_project_id"],
    )
    Session(auth=auth).post(
        f"/stacks/{given['deploy_stack_id']}/resources/{given['deploy_resource_name']}/signal",
        json=outputs,
        endpoint_filter={
            "service_type": "orchestration",
            "interface": "public",
            "region_name": given.get("deploy_region_name"),
        },
    )
