"""A real control plane with this service beside it: what the tests in this folder share.

The cloud is described by a JSON file (``HEAT_CONVERGENCE_TEST_CLOUD``).  Existing resources stay
unchanged: the service gets a region of its own with copies of the service catalog's endpoints, and
everything that a test creates is deleted after it.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import openstack
import pytest
import requests
from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity.v3 import Password, Token
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import (
    ConfigOptions,
    free_port,
    wait_until,
)

Json = Any
TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
# Real Heat's endpoint up to ``/v1``, beside the cloud.
HEAT_VARIABLE = "HEAT_CONVERGENCE_TEST_HEAT"
KEYSTONE_START_TIMEOUT_S = 300.0
REPEAT_PAUSES_S = (1.0, 5.0, 15.0)


@dataclass(frozen=True, slots=True)
class CloudTestbed:
    """A cloud with its users, and the Keystone that tests and service authenticate with."""

    folder: Path
    facts: Mapping[str, Json]
    auth_url: str

    @classmethod
    def from_file(cls, path: str) -> CloudTestbed:
        """Read the description of the cloud."""
        facts = json.loads(Path(path).read_text())
        return cls(Path(path).parent, facts, facts["auth_url"])

    def project_id(self, name: str) -> str:
        """Return the id of a project by its name."""
        return str(self.facts["projects"][name])

    def session(self, user: str, project: str | None = None) -> Session:
        """Return a session of a user in a project, by default the one of that name."""
        project = user if project is None else project
        return Session(
            Password(
                self.auth_url, username=user, password=self.facts["password"],
                user_domain_id="default", project_domain_id="default", project_name=project,
            )
        )  # fmt: skip

    def identity_client(
        self, user: str = "admin", project: str | None = None
    ) -> UserIdentityClient:
        """Return a client of the Identity API for a user."""
        return UserIdentityClient(self.session(user, project), self.auth_url)

    def environment(self, user: str, region: str) -> dict[str, str]:
        """Return the environment variables of ``openstack`` for a user."""
        return {
            "OS_AUTH_TYPE": "password",
            "OS_AUTH_URL": self.auth_url,
            "OS_IDENTITY_API_VERSION": "3",
            "OS_USERNAME": user,
            "OS_PASSWORD": self.facts["password"],
            "OS_PROJECT_NAME": user,
            "OS_USER_DOMAIN_ID": "default",
            "OS_PROJECT_DOMAIN_ID": "default",
            "OS_REGION_NAME": region,
        }

    def connection(
        self, user: str, region: str, project: str | None = None
    ) -> openstack.connection.Connection:
        """Return a connection of openstacksdk for a user, by default in his own project."""
        session = self.session(user, project)
        return openstack.connection.Connection(session=session, region_name=region)

    def options(self) -> ConfigOptions:
        """Return the service's options: its user, and the domain of stack users."""
        service_user = {
            "auth_type": "password",
            "auth_url": self.auth_url,
            "www_authenticate_uri": self.auth_url,
            "username": self.facts["heat_service_user"],
            "password": self.facts["password"],
            "project_name": "service",
            "user_domain_id": "default",
            "project_domain_id": "default",
        }
        return {
            "DEFAULT": {
                "stack_user_domain_id": self.facts["heat_domain_id"],
                "stack_domain_admin": self.facts["heat_domain_admin"],
                "stack_domain_admin_password": self.facts["password"],
                "enable_stack_abandon": True,
                "enable_stack_adopt": True,
                "periodic_interval": 5,
            },
            "heat_api": {"auth_strategy": "keystone"},
            "keystone_authtoken": service_user,
        }


class UserIdentityClient:
    """The Identity API for one user."""

    def __init__(self, session: Session, auth_url: str) -> None:
        self._api = Adapter(session, endpoint_override=auth_url)
        self.session = session
        self.user_id = str(session.get_user_id())

    def get(self, path: str) -> Json:
        """Return the JSON of a GET."""
        return repeat(lambda: self._api.get(path)).json()

    def post(self, path: str, body: Json) -> Json:
        """Return the JSON of a POST."""
        return repeat(lambda: self._api.post(path, json=body)).json()

    def delete(self, path: str) -> None:
        """Delete a resource; a missing one is no error."""
        with suppress(exceptions.NotFound):
            repeat(lambda: self._api.delete(path))

    def put(self, path: str) -> None:
        """Send a PUT without a body."""
        self._api.put(path)

    def list_trusts_to(self, service: UserIdentityClient) -> list[Json]:
        """Return the trusts of this user whose trustee is the service."""
        trusts = service.get(f"/OS-TRUST/trusts?trustee_user_id={service.user_id}")["trusts"]
        return [each for each in trusts if each["trustor_user_id"] == self.user_id]

    def list_application_credentials(self) -> list[Json]:
        """Return the user's application credentials."""
        path = f"/users/{self.user_id}/application_credentials"
        return list(self.get(path)["application_credentials"])


def repeat(call: Callable[[], Any]) -> Any:
    """Return the result of a call, which a loaded Keystone refuses now and then."""
    for pause_s in REPEAT_PAUSES_S:
        try:
            return call()
        except (exceptions.Forbidden, exceptions.HttpServerError):
            time.sleep(pause_s)
    return call()


@contextmanager
def dedicated_region(
    cloud_testbed: CloudTestbed,
    orchestration_url: str,
    region: str | None = None,
    urls: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield a region with copies of all endpoints, but this service for orchestration.

    Args:
        cloud_testbed: the cloud.
        orchestration_url: this service's address.
        region: the id of the region; by default a random one.
        urls: other addresses of services, by type.
    """
    admin = cloud_testbed.identity_client()
    region = region or f"hc-{uuid.uuid4().hex[:8]}"
    service_types = {each["id"]: each["type"] for each in admin.get("/services")["services"]}
    endpoints = [each for each in admin.get("/endpoints")["endpoints"]
             if each["region_id"] == cloud_testbed.facts["region"]]  # fmt: skip
    admin.post("/regions", {"region": {"id": region}})
    try:
        for each in endpoints:
            url = urls.get(service_types[each["service_id"]], each["url"])
            if service_types[each["service_id"]] == "orchestration":
                url = f"{orchestration_url}/v1/%(tenant_id)s"
            copy = {"service_id": each["service_id"], "interface": each["interface"],
                    "region_id": region, "url": url}  # fmt: skip
            admin.post("/endpoints", {"endpoint": copy})
        yield region
    finally:
        # A request that was sent again after a lost response has left two endpoints.
        for each in admin.get(f"/endpoints?region_id={region}")["endpoints"]:
            admin.delete(f"/endpoints/{each['id']}")
        admin.delete(f"/regions/{region}")


@dataclass(frozen=True, slots=True)
class DeployedService:
    """The service under test, and the region that it is registered in.

    Attributes:
        endpoint: the API's address without version and project.
        config: the configuration file of a deployment of this project.
    """

    cloud_testbed: CloudTestbed
    endpoint: str
    region: str
    config: Path | None = None

    def request(
        self, auth: Session, method: str, path: str, body: Json = None, **headers: str
    ) -> requests.Response:
        """Send a request without a client library; follow one redirect."""
        url = f"{self.endpoint}/v1/{auth.get_project_id()}{path}"
        sent = {"X-Auth-Token": str(auth.get_token()), "X-Region-Name": self.region, **headers}
        for _ in range(2):  # a name redirects to the id
            response = requests.request(
                method, url, json=body, headers=sent, timeout=120, allow_redirects=False
            )
            if response.status_code != 302:
                break
            url = response.headers["Location"]
        return response

    def stack_status(self, auth: Session, name: str) -> tuple[str, str]:
        """Return the status of a stack and its reason."""
        shown = self.request(auth, "GET", f"/stacks/{name}").json()["stack"]
        return shown["stack_status"], shown["stack_status_reason"]

    def wait_until_done(
        self, auth: Session, name: str, *, within_s: float = 120.0
    ) -> tuple[str, str]:
        """Return the status of a stack and its reason once its action is over."""
        wait_until(
            lambda: "IN_PROGRESS" not in self.stack_status(auth, name)[0], f"{name} is done",
            timeout_s=within_s,
        )  # fmt: skip
        return self.stack_status(auth, name)

    def create_stack(self, auth: Session, name: str, template: Json, **headers: str) -> str:
        """Create a stack and return its id."""
        body = {"stack_name": name, "template": template}
        response = self.request(auth, "POST", "/stacks", body, **headers)
        assert response.status_code == 201, response.text
        return str(response.json()["stack"]["id"])

    def outputs(self, auth: Session, name: str) -> dict[str, Json]:
        """Return the outputs of a stack."""
        stack = self.request(auth, "GET", f"/stacks/{name}").json()["stack"]
        return {each["output_key"]: each["output_value"] for each in stack["outputs"]}

    def delete_stack(self, auth: Session, name: str) -> None:
        """Delete a stack and wait until it is deleted."""
        assert self.request(auth, "DELETE", f"/stacks/{name}").status_code == 204

        def is_deleted() -> bool:
            response = self.request(auth, "GET", f"/stacks/{name}")
            if response.status_code == 200:
                status = response.json()["stack"]
                assert not status["stack_status"].endswith("FAILED"), status
            return response.status_code == 404

        wait_until(is_deleted, f"{name} is deleted", timeout_s=120)


def notification_url(cloud: CloudTestbed) -> str:
    """Return the URL of the broker that the cloud's services send notifications to."""
    config = cloud.folder / "etc" / "neutron" / "neutron.conf"
    text = config.read_text() if config.exists() else ""
    if "driver = messagingv2" not in text:
        pytest.skip("the services of the cloud send no notifications")
    found = re.search(r"^\[oslo_messaging_notifications\]\n(?:.+\n)*?transport_url = (.+)$",
                      text, re.MULTILINE)  # fmt: skip
    found = found or re.search(r"^transport_url = (.+)$", text, re.MULTILINE)
    assert found is not None
    return found[1]


def token_session(
    cloud_testbed: CloudTestbed,
    session: Session,
    *,
    project_id: str | None = None,
    trust_id: str | None = None,
) -> Session:
    """Return a session with a token, unable to request another one."""
    auth = Token(
        cloud_testbed.auth_url,
        token=str(session.get_token()),
        reauthenticate=False,
        project_id=project_id,
        trust_id=trust_id,
    )
    return Session(auth)


@contextmanager
def short_token_keystone(
    cloud_testbed: CloudTestbed, folder: Path, token_lifetime_s: int
) -> Iterator[CloudTestbed]:
    """Run a second Keystone on the same database, whose tokens expire in seconds.

    Raises:
        FileNotFoundError: The cloud's software is not in the folder of its description.
    """
    with _second_keystone(cloud_testbed, folder, {"expiration": str(token_lifetime_s)}) as found:
        yield found


@contextmanager
def empty_keystone(
    cloud_testbed: CloudTestbed, folder: Path, database_url: str
) -> Iterator[CloudTestbed]:
    """Run a second Keystone on an empty database, which has an administrator and his project.

    Raises:
        FileNotFoundError: The cloud's software is not in the folder of its description.
    """
    options = {"connection": database_url, "enabled": "False", "driver": "noop"}
    with _second_keystone(cloud_testbed, folder, options, is_empty=True) as found:
        yield found


@contextmanager
def _second_keystone(
    cloud_testbed: CloudTestbed,
    folder: Path,
    options: Mapping[str, str],
    *,
    is_empty: bool = False,
) -> Iterator[CloudTestbed]:
    """Run a Keystone with the cloud's configuration, but for some options."""
    programs = cloud_testbed.folder / "venv" / "bin"
    port = free_port()
    _write_keystone_config(
        cloud_testbed, folder, {**options, "public_endpoint": f"http://127.0.0.1:{port}"}
    )
    log = (folder / "keystone.log").open("ab")
    if is_empty:
        manage = [str(programs / "keystone-manage"), f"--config-file={folder}/keystone.conf"]
        account = ["--bootstrap-username=admin", "--bootstrap-project-name=admin",
                   f"--bootstrap-password={cloud_testbed.facts['password']}",
                   f"--bootstrap-region-id={cloud_testbed.facts['region']}",
                   *(f"--bootstrap-{each}-url=http://127.0.0.1:{port}"
                     for each in ("admin", "internal", "public"))]  # fmt: skip
        for command in (["db_sync"], ["bootstrap", *account]):
            subprocess.run([*manage, *command], check=True, stdout=log, stderr=log)
    process = subprocess.Popen(
        [str(programs / "uwsgi"), "--http-socket", f"127.0.0.1:{port}", "--module",
         "keystone.wsgi.api:application", "--virtualenv", str(cloud_testbed.folder / "venv"),
         "--need-app", "--die-on-term", "--enable-threads", "--threads", "4",
         "--buffer-size", "65535", "--add-header", "Connection: close"],
        env={"OS_KEYSTONE_CONFIG_DIR": str(folder), "PATH": "/usr/bin:/bin"},
        stdout=log, stderr=log,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}/v3"
    try:
        wait_until(lambda: _responds(url), "the second Keystone responds",
                   timeout_s=KEYSTONE_START_TIMEOUT_S)  # fmt: skip
        yield CloudTestbed(cloud_testbed.folder, cloud_testbed.facts, url)
    finally:
        process.terminate()
        process.wait(120)
        log.close()


def _write_keystone_config(
    cloud_testbed: CloudTestbed, folder: Path, options: Mapping[str, str]
) -> None:
    """Write the cloud's configuration of Keystone with other values of some options."""
    config_path = cloud_testbed.folder / "etc" / "keystone" / "keystone.conf"
    if not config_path.exists():
        raise FileNotFoundError(f"there is no Keystone to start in {cloud_testbed.folder}")
    lines = []
    for line in config_path.read_text().splitlines():
        name = line.partition(" =")[0]
        lines.append(f"{name} = {options[name]}" if name in options else line)
    (folder / "keystone.conf").write_text("\n".join(lines) + "\n")


def _responds(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False
