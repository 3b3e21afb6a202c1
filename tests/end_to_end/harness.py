"""What the tests of daemons below a cloud share: the ground they stand on, its user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openstack
from heatclient.client import Client
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection

from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.end_to_end.recorded_services import CallLog, EmulatedCloud
from tests.integration.harness import HeatUser

Json = Any
COMMAND_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class CloudCredentials:
    """Where to log in, as whom the user and as whom the service."""

    auth_url: str
    user: str
    password: str
    project: str
    service_user: str
    service_password: str
    region: str
    users_domain: str | None = None
    domain_admin: str | None = None


@dataclass
class TargetCloud:
    """A cloud, and what daemons are told about it."""

    credentials: CloudCredentials
    call_log: CallLog
    register_endpoint: Callable[[str], None]
    emulated_cloud: EmulatedCloud | None = None

    def options(self) -> dict[str, dict[str, object]]:
        own = self.credentials
        users = {
            "stack_user_domain_id": own.users_domain,
            "stack_domain_admin": own.domain_admin,
            "stack_domain_admin_password": own.service_password,
        }
        return {
            "DEFAULT": {
                "region_name_for_services": own.region,
                **(users if own.users_domain else {}),
            },
            "heat_api": {"auth_strategy": "keystone"},
            "keystone_authtoken": {
                "www_authenticate_uri": own.auth_url,
                "auth_url": own.auth_url,
                "auth_type": "password",
                "interface": "public",
                "username": own.service_user,
                "password": own.service_password,
                "project_name": "service",
                "user_domain_name": "Default",
                "project_domain_name": "Default",
            },
        }

    def as_user(self, user: str, project: str) -> TargetCloud:
        """The same, as another user."""
        return replace(self, credentials=replace(self.credentials, user=user, project=project))

    def register_deployment(self, deployment: ServiceDeployment) -> None:
        self.register_endpoint(f"{deployment.endpoint}/v1")

    def heat_user(self) -> HeatUser:
        """The user with python-heatclient."""
        own = self.credentials
        auth = Password(
            own.auth_url,
            username=own.user,
            password=own.password,
            project_name=own.project,
            user_domain_id="default",
            project_domain_id="default",
        )
        return HeatUser.with_client(
            Client(
                "1",
                session=Session(auth=auth),
                region_name=own.region,
                service_type="orchestration",
                interface="public",
            )
        )

    def sdk_connection(self) -> Connection:
        """The user with openstacksdk."""
        own = self.credentials
        return openstack.connect(
            auth_url=own.auth_url,
            username=own.user,
            password=own.password,
            project_name=own.project,
            user_domain_id="default",
            project_domain_id="default",
            region_name=own.region,
        )

    def openstack(self, *arguments: str, check: bool = True, input_lines: str = "") -> str:
        """The ``openstack`` command line; its standard output.  ``lines`` are what it is
        told to do where there are no arguments."""
        own = self.credentials
        done = subprocess.run(
            [str(Path(sys.executable).with_name("openstack")), *arguments],
            env={
                **os.environ,
                "OS_AUTH_URL": own.auth_url,
                "OS_IDENTITY_API_VERSION": "3",
                "OS_USERNAME": own.user,
                "OS_PASSWORD": own.password,
                "OS_PROJECT_NAME": own.project,
                "OS_USER_DOMAIN_ID": "default",
                "OS_PROJECT_DOMAIN_ID": "default",
                "OS_REGION_NAME": own.region,
            },
            input=input_lines,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
        )
        if check:
            assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout or done.stderr

    def openstack_json(self, *arguments: str) -> Json:
        """As ``openstack``, read as JSON."""
        return json.loads(self.openstack(*arguments, "-f", "json"))

    def openstack_json_many(self, commands: Sequence[str]) -> list[Json]:
        """Several by one process, which takes most of its time to start."""
        lines = "".join(f"{command} -f json\n" for command in commands)
        text = self.openstack(input_lines=lines, check=False)
        found, decoder = [], json.JSONDecoder()
        start = text.find("[")
        while start >= 0:
            document, end = decoder.raw_decode(text, start)
            found.append(document)
            start = text.find("[", end)
        assert len(found) == len(commands), text
        return found
