"""A cloud, its users and their clients, as the end-to-end tests share them."""

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
from openstack.identity.v3 import _proxy as identity_v3

from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.end_to_end.recorded_services import CallLog, EmulatedCloud
from tests.integration.harness import HeatUser

Json = Any
COMMAND_TIMEOUT_S = 300


def identity_of(connection: Connection) -> identity_v3.Proxy:
    """Return the proxy of the Identity API, version 3."""
    proxy = connection.identity
    assert isinstance(proxy, identity_v3.Proxy)
    return proxy


@dataclass(frozen=True, slots=True)
class CloudCredentials:
    """The endpoint of Keystone with the credentials of the user and the service."""

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
    """A cloud with a log of its calls, and the daemons' access to it."""

    credentials: CloudCredentials
    call_log: CallLog
    register_endpoint: Callable[[str], None]
    emulated_cloud: EmulatedCloud | None = None

    def options(self) -> dict[str, dict[str, object]]:
        """Return the daemons' options for this cloud."""
        credentials = self.credentials
        users = {
            "stack_user_domain_id": credentials.users_domain,
            "stack_domain_admin": credentials.domain_admin,
            "stack_domain_admin_password": credentials.service_password,
        }
        return {
            "DEFAULT": {
                "region_name_for_services": credentials.region,
                **(users if credentials.users_domain else {}),
            },
            "heat_api": {"auth_strategy": "keystone"},
            "keystone_authtoken": {
                "www_authenticate_uri": credentials.auth_url,
                "auth_url": credentials.auth_url,
                "auth_type": "password",
                "interface": "public",
                "username": credentials.service_user,
                "password": credentials.service_password,
                "project_name": "service",
                "user_domain_name": "Default",
                "project_domain_name": "Default",
            },
        }

    def as_user(self, user: str, project: str) -> TargetCloud:
        """Return the cloud for another user and project."""
        return replace(self, credentials=replace(self.credentials, user=user, project=project))

    def register_deployment(self, deployment: ServiceDeployment) -> None:
        """Register the daemons in the service catalog."""
        self.register_endpoint(f"{deployment.endpoint}/v1")

    def heat_user(self) -> HeatUser:
        """Return the user as a client by python-heatclient."""
        credentials = self.credentials
        auth = Password(
            credentials.auth_url,
            username=credentials.user,
            password=credentials.password,
            project_name=credentials.project,
            user_domain_id="default",
            project_domain_id="default",
        )
        return HeatUser.with_client(
            Client(
                "1",
                session=Session(auth=auth),
                region_name=credentials.region,
                service_type="orchestration",
                interface="public",
            )
        )

    def sdk_connection(self) -> Connection:
        """Return the user as a connection of openstacksdk."""
        credentials = self.credentials
        return openstack.connect(
            auth_url=credentials.auth_url,
            username=credentials.user,
            password=credentials.password,
            project_name=credentials.project,
            user_domain_id="default",
            project_domain_id="default",
            region_name=credentials.region,
        )

    def openstack(self, *arguments: str, check: bool = True, input_lines: str = "") -> str:
        """Run the ``openstack`` command and return its output.

        Args:
            arguments: The command, or nothing to read commands from ``input_lines``.
            check: Whether a failure raises.
            input_lines: The standard input.
        """
        credentials = self.credentials
        completed = subprocess.run(
            [str(Path(sys.executable).with_name("openstack")), *arguments],
            env={
                **os.environ,
                "OS_AUTH_URL": credentials.auth_url,
                "OS_IDENTITY_API_VERSION": "3",
                "OS_USERNAME": credentials.user,
                "OS_PASSWORD": credentials.password,
                "OS_PROJECT_NAME": credentials.project,
                "OS_USER_DOMAIN_ID": "default",
                "OS_PROJECT_DOMAIN_ID": "default",
                "OS_REGION_NAME": credentials.region,
            },
            input=input_lines,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
        )
        if check:
            assert completed.returncode == 0, (
                f"{arguments}: {completed.stdout}\n{completed.stderr}"
            )
        return completed.stdout or completed.stderr

    def openstack_json(self, *arguments: str) -> Json:
        """Run the ``openstack`` command and return its JSON."""
        return json.loads(self.openstack(*arguments, "-f", "json"))

    def openstack_json_many(self, commands: Sequence[str]) -> list[Json]:
        """Run several commands by one process, as its start takes the most time."""
        lines = "".join(f"{command} -f json\n" for command in commands)
        text = self.openstack(input_lines=lines, check=False)
        documents, decoder = [], json.JSONDecoder()
        start = text.find("[")
        while start >= 0:
            document, end = decoder.raw_decode(text, start)
            documents.append(document)
            start = text.find("[", end)
        assert len(documents) == len(commands), text
        return documents
