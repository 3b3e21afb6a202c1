"""A real control plane, and this service beside it: what the tests here share.

Facts are a file as the test bed writes it (``HEAT_CONVERGENCE_TEST_CLOUD``).  Nothing that
was there is changed: the service gets a region of its own with copies of the catalogue's
endpoints, and whatever is made for a test goes after it.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openstack
import requests
from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity.v3 import Password, Token
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import (
    ConfigOptions,
    ServiceDeployment,
    free_port,
    wait_until,
)

Json = Any
TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
KEYSTONE_START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CloudTestbed:
    """``auth_url`` is the Keystone that tests and service log in at."""

    folder: Path
    facts: Mapping[str, Json]
    auth_url: str

    @classmethod
    def from_file(cls, path: str) -> CloudTestbed:
        facts = json.loads(Path(path).read_text())
        return cls(Path(path).parent, facts, facts["auth_url"])

    def project_id(self, name: str) -> str:
        return str(self.facts["projects"][name])

    def session(self, user: str, project: str | None = None) -> Session:
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
        return UserIdentityClient(self.session(user, project), self.auth_url)

    def environment(self, user: str, region: str) -> dict[str, str]:
        """What ``openstack`` reads."""
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

    def connection(self, user: str, region: str) -> openstack.connection.Connection:
        return openstack.connection.Connection(session=self.session(user), region_name=region)

    def options(self) -> ConfigOptions:
        """How the service logs in, and where users of stacks live."""
        own = {
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
            "keystone_authtoken": own,
        }


class UserIdentityClient:
    """The Identity API of one user."""

    def __init__(self, session: Session, auth_url: str) -> None:
        self._api = Adapter(session, endpoint_override=auth_url)
        self.session = session
        self.user_id = str(session.get_user_id())

    def get(self, path: str) -> Json:
        return self._api.get(path).json()

    def post(self, path: str, body: Json) -> Json:
        return self._api.post(path, json=body).json()

    def delete(self, path: str) -> None:
        with suppress(exceptions.NotFound):
            self._api.delete(path)

    def put(self, path: str) -> None:
        self._api.put(path)

    def list_trusts_to(self, service: UserIdentityClient) -> list[Json]:
        """Those of this user that the service holds."""
        found = service.get(f"/OS-TRUST/trusts?trustee_user_id={service.user_id}")["trusts"]
        return [each for each in found if each["trustor_user_id"] == self.user_id]

    def list_application_credentials(self) -> list[Json]:
        path = f"/users/{self.user_id}/application_credentials"
        return list(self.get(path)["application_credentials"])


@contextmanager
def dedicated_region(cloud_testbed: CloudTestbed, orchestration_url: str) -> Iterator[str]:
    """A region that has everything, and this service for orchestration."""
    admin = cloud_testbed.identity_client()
    region = f"hc-{uuid.uuid4().hex[:8]}"
    kinds = {each["id"]: each["type"] for each in admin.get("/services")["services"]}
    there = [each for each in admin.get("/endpoints")["endpoints"]
             if each["region_id"] == cloud_testbed.facts["region"]]  # fmt: skip
    with ExitStack() as undo:  # what can't be deleted does not keep the rest
        admin.post("/regions", {"region": {"id": region}})
        undo.callback(admin.delete, f"/regions/{region}")
        for each in there:
            url = each["url"]
            if kinds[each["service_id"]] == "orchestration":
                url = f"{orchestration_url}/v1/%(tenant_id)s"
            copy = {"service_id": each["service_id"], "interface": each["interface"],
                    "region_id": region, "url": url}  # fmt: skip
            made = admin.post("/endpoints", {"endpoint": copy})["endpoint"]["id"]
            undo.callback(admin.delete, f"/endpoints/{made}")
        yield region


@dataclass(frozen=True, slots=True)
class DeployedService:
    """The service under test, and the region that leads to it."""

    cloud_testbed: CloudTestbed
    deployment: ServiceDeployment
    region: str

    def request(
        self, auth: Session, method: str, path: str, body: Json = None, **headers: str
    ) -> requests.Response:
        """As somebody without a client."""
        url = f"{self.deployment.endpoint}/v1/{auth.get_project_id()}{path}"
        sent = {"X-Auth-Token": str(auth.get_token()), "X-Region-Name": self.region, **headers}
        for _ in range(2):  # a stack's name leads to its id, as clients know
            answer = requests.request(
                method, url, json=body, headers=sent, timeout=60, allow_redirects=False
            )
            if answer.status_code != 302:
                break
            url = answer.headers["Location"]
        return answer

    def stack_status(self, auth: Session, name: str) -> tuple[str, str]:
        shown = self.request(auth, "GET", f"/stacks/{name}").json()["stack"]
        return shown["stack_status"], shown["stack_status_reason"]

    def wait_until_done(
        self, auth: Session, name: str, *, within_s: float = 120.0
    ) -> tuple[str, str]:
        """Until the stack's action is over; its status and reason."""
        wait_until(
            lambda: "IN_PROGRESS" not in self.stack_status(auth, name)[0], f"{name} is done",
            timeout_s=within_s,
        )  # fmt: skip
        return self.stack_status(auth, name)

    def create_stack(self, auth: Session, name: str, template: Json, **headers: str) -> str:
        body = {"stack_name": name, "template": template}
        answer = self.request(auth, "POST", "/stacks", body, **headers)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["stack"]["id"])

    def delete_stack(self, auth: Session, name: str) -> None:
        """And wait until it is gone."""
        assert self.request(auth, "DELETE", f"/stacks/{name}").status_code == 204

        def gone() -> bool:
            answer = self.request(auth, "GET", f"/stacks/{name}")
            if answer.status_code == 200:
                status = answer.json()["stack"]
                assert not status["stack_status"].endswith("FAILED"), status
            return answer.status_code == 404

        wait_until(gone, f"{name} is gone", timeout_s=120)


def token_session(cloud_testbed: CloudTestbed, session: Session, **scope: str) -> Session:
    """A session that has a token and nothing to make another with."""
    token = session.get_token()
    return Session(Token(cloud_testbed.auth_url, token=token, reauthenticate=False, **scope))


@contextmanager
def short_token_keystone(
    cloud_testbed: CloudTestbed, folder: Path, token_lifetime_s: int
) -> Iterator[CloudTestbed]:
    """A second Keystone on the same database whose tokens live for seconds.

    Raises ``FileNotFoundError`` where the bed's own software is not beside its facts.
    """
    given = cloud_testbed.folder / "etc" / "keystone" / "keystone.conf"
    server = cloud_testbed.folder / "venv" / "bin" / "uwsgi"
    if not (given.exists() and server.exists()):
        raise FileNotFoundError(f"there is no Keystone to start in {cloud_testbed.folder}")
    port = free_port()
    lines = []
    for line in given.read_text().splitlines():
        if line.startswith("expiration ="):
            line = f"expiration = {token_lifetime_s}"
        elif line.startswith("public_endpoint ="):
            line = f"public_endpoint = http://127.0.0.1:{port}"
        lines.append(line)
    (folder / "keystone.conf").write_text("\n".join(lines) + "\n")
    log = (folder / "keystone.log").open("ab")
    process = subprocess.Popen(
        [str(server), "--http-socket", f"127.0.0.1:{port}", "--module",
         "keystone.wsgi.api:application", "--virtualenv", str(cloud_testbed.folder / "venv"),
         "--need-app", "--die-on-term", "--enable-threads", "--threads", "4",
         "--buffer-size", "65535", "--add-header", "Connection: close"],
        env={"OS_KEYSTONE_CONFIG_DIR": str(folder), "PATH": "/usr/bin:/bin"},
        stdout=log, stderr=log,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}/v3"
    try:
        wait_until(lambda: _answers(url), "the second Keystone answers",
                   timeout_s=KEYSTONE_START_TIMEOUT_S)  # fmt: skip
        yield CloudTestbed(cloud_testbed.folder, cloud_testbed.facts, url)
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False
