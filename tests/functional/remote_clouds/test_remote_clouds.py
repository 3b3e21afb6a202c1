"""``OS::Heat::Stack`` in another cloud, with its own Keystone and Orchestration API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from heat_convergence.clients.clouds import StackCloud, StackCloudCache
from heat_convergence.clients.remote.remote_clouds import RemoteAccess, create_plugin
from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.common.failures import ResourceGone
from tests.functional.clients.fake_keystone import FakeKeystone
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
SECRET_ID = "0b5c2a1e-8d4f-4f6a-9c3e-7d1a2b3c4d5e"
REGION = "R2"


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@dataclass
class OtherCloud:
    """A cloud at addresses of its own."""

    service: LocalService
    keystone: FakeKeystone = field(default_factory=FakeKeystone)

    def __post_init__(self) -> None:
        self.server = make_server("127.0.0.1", 0, self.service.app, handler_class=QuietHandler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        url = f"http://127.0.0.1:{self.server.server_port}/v1/p"
        self.keystone.catalog.append(("orchestration", REGION, url))

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.service.close()
        self.keystone.close()

    def credential(self, **changes: Json) -> Json:
        auth = {
            "auth_url": self.keystone.url,
            "user_id": "demo-id",
            "password": "demo-password",
            "project_id": "p",
        }
        return {"auth_type": "v3password", "auth": auth | changes}

    def stacks(self) -> list[Json]:
        return list(self.service.send("GET", "/stacks").json["stacks"])


@dataclass
class OwnCloud:
    """The cloud of the stack, which keeps secrets."""

    secrets: dict[str, str]
    settings: ClientSettings
    tree_id: str = "tree"
    project_id: str = "p"

    def send(self, request: CloudRequest) -> CloudResponse:
        assert request.service == "key_manager"
        payload = self.secrets.get(request.path.split("/")[2])
        if payload is None:
            raise ResourceGone("no such secret")
        return CloudResponse(200, {}, None, payload.encode())

    def connect_remote(self, access: RemoteAccess) -> Any:
        service: Any = None
        clouds = StackCloudCache(self.settings, service, lambda _tree_id: None)
        return StackCloud(self.tree_id, clouds).connect_remote(access)


@pytest.fixture
def other(tmp_path: Any) -> Iterator[OtherCloud]:
    other = OtherCloud(LocalService(f"sqlite:///{tmp_path}/remote.sqlite"))
    yield other
    other.close()


@pytest.fixture
def own(other: OtherCloud) -> OwnCloud:
    secrets = {SECRET_ID: json.dumps(other.credential())}
    return OwnCloud(secrets, ClientSettings(remote_private_addresses=True, timeout_s=10))


@pytest.fixture
def heat(tmp_path: Any, own: OwnCloud) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", cloud_of=lambda _tree_id: own)
    yield ProjectClient(service)
    service.close()


def template(value: str = "1", **context: Json) -> Json:
    inner = hot_template(
        {"a": resource_definition(value={"get_param": "v"})},
        parameters={"v": {"type": "string"}},
        outputs={"out": {"get_attr": ["a", "output"]}},
    )
    place = {"credential_secret_id": SECRET_ID, "region_name": REGION, **context}
    properties = {"template": json.dumps(inner), "parameters": {"v": value}, "context": place}
    outputs = {"out": {"get_attr": ["r", "outputs", "out"]}}
    resources = {"r": {"type": "OS::Heat::Stack", "properties": properties}}
    return hot_template(resources, outputs=outputs)


def run(heat: ProjectClient) -> None:
    for _round in range(6):
        heat.service.run_due_work()
        heat.service.clock.advance(20)
    heat.service.run_due_work()


def start(heat: ProjectClient, body: Json) -> None:
    heat.create("s", body, hold=True)
    run(heat)


def test_stack_is_created_in_the_other_cloud(heat: ProjectClient, other: OtherCloud) -> None:
    start(heat, template())
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    (stack,) = other.stacks()
    assert stack["stack_status"] == "CREATE_COMPLETE"
    assert heat.outputs("s")["out"] == "1"
    heat.update("s", template("2", insecure=True), hold=True)
    run(heat)
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "2")
    assert [each["id"] for each in other.stacks()] == [stack["id"]]
    for action in ("suspend", "resume", "check"):
        heat.perform_action("s", action, leave_pending=True)
        run(heat)
        assert heat.status("s") == f"{action.upper()}_COMPLETE"
    heat.delete("s", leave_pending=True)
    run(heat)
    assert (heat.stack("s"), other.stacks()) == (None, [])


def remote_snapshots(other: OtherCloud) -> list[Json]:
    (stack,) = other.stacks()
    path = f"/stacks/{stack['stack_name']}/{stack['id']}/snapshots"
    return list(other.service.send("GET", path).json["snapshots"])


def test_snapshot_of_the_parent_has_one_of_the_stack(
    heat: ProjectClient, other: OtherCloud
) -> None:
    start(heat, template())
    path = heat.path("s")
    saved = heat.send("POST", f"{path}/snapshots", {"name": "n"}, leave_pending=True).json
    run(heat)
    assert heat.status("s") == "SNAPSHOT_COMPLETE"
    (taken,) = remote_snapshots(other)
    assert taken["status"] == "COMPLETE"
    heat.update("s", template("2"), hold=True)
    run(heat)
    assert heat.outputs("s")["out"] == "2"
    heat.send("POST", f"{path}/snapshots/{saved['id']}/restore", leave_pending=True)
    run(heat)
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("RESTORE_COMPLETE", "1")
    heat.send("DELETE", f"{path}/snapshots/{saved['id']}", leave_pending=True)
    run(heat)
    assert remote_snapshots(other) == []


def test_secret_may_be_named_by_its_url(heat: ProjectClient, other: OtherCloud) -> None:
    url = f"http://barbican.example/v1/secrets/{SECRET_ID}"
    start(heat, template(credential_secret_id=url))
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(other.stacks()) == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("no JSON", "no JSON object"),
        ("[]", "no JSON object"),
        ("{}", 'no "auth_type"'),
        ('{"auth_type": "v3password"}', 'no "auth"'),
        ('{"auth_type": "v3kerberos", "auth": {}}', "must be one of"),
        ('{"auth_type": "v3password", "auth": {"pwd": "hush"}}', "no usable options"),
        (None, "there is no secret"),
        ("x" * 70_000, "too long"),
    ],
)
def test_unusable_credential_fails_the_stack(
    heat: ProjectClient, own: OwnCloud, payload: str | None, reason: str
) -> None:
    own.secrets.clear()
    if payload is not None:
        own.secrets[SECRET_ID] = payload
    start(heat, template())
    assert heat.status("s") == "CREATE_FAILED"
    found = heat.resource("s", "r")["resource_status_reason"]
    assert reason in found
    assert "hush" not in found


def test_reference_that_is_no_secret_fails_the_stack(heat: ProjectClient) -> None:
    start(heat, template(credential_secret_id="../../v1/containers"))
    assert "no id of a secret" in heat.resource("s", "r")["resource_status_reason"]


def test_refused_login_fails_the_stack(
    heat: ProjectClient, own: OwnCloud, other: OtherCloud
) -> None:
    own.secrets[SECRET_ID] = json.dumps(other.credential(password="wrong-one"))
    start(heat, template())
    assert heat.status("s") == "CREATE_FAILED"
    reason = heat.resource("s", "r")["resource_status_reason"]
    assert "did not accept the login" in reason
    assert "wrong-one" not in reason
    assert other.stacks() == []


def test_unknown_region_of_the_other_cloud_fails_the_stack(heat: ProjectClient) -> None:
    start(heat, template(region_name="R9"))
    assert heat.status("s") == "CREATE_FAILED"
    assert "R9" in heat.resource("s", "r")["resource_status_reason"]


def test_private_addresses_need_an_option(
    heat: ProjectClient, own: OwnCloud, other: OtherCloud
) -> None:
    own.settings = ClientSettings(timeout_s=10)
    start(heat, template())
    assert heat.status("s") != "CREATE_COMPLETE"
    assert other.keystone.requests == []
    assert other.stacks() == []


def test_certificates_of_authorities_are_checked(heat: ProjectClient) -> None:
    start(heat, template(ca_cert="no PEM"))
    assert heat.status("s") == "CREATE_FAILED"
    assert "format PEM" in heat.resource("s", "r")["resource_status_reason"]


@pytest.mark.parametrize("auth_type", ["none", "http_basic", "v3oidcaccesstoken", "v3kerberos"])
def test_plugins_that_read_this_host_are_not_loaded(auth_type: str) -> None:
    with pytest.raises(StackValidationFailed, match="must be one of"):
        create_plugin(json.dumps({"auth_type": auth_type, "auth": {}}))
