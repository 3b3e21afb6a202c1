"""One list call for the resources of all projects, by an operator's credential."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa

from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.common.failures import ResourceGone, TemporaryFailure
from heat_convergence.db.tables import resource
from heat_convergence.resources.openstack import shared_lists
from heat_convergence.resources.openstack.project_lists import ProjectListsCloud, RefusalLog
from heat_convergence.resources.openstack.shared_lists import ListRound
from tests.functional.drift.drift_cases import INTERVAL_S, ours
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    emulation_service,
    port,
    server,
    template,
)

Json = Any
PROJECTS = [f"p{number}" for number in range(4)]
SHARED = {
    ("compute", "/servers/detail"): "servers",
    ("block_storage", "/volumes/detail"): "volumes",
    **{
        ("network", f"/{name}"): name.replace("-", "_")
        for name in ("networks", "ports", "security-groups", "subnets")
    },
}
OWNER_KEYS = ("project_id", "tenant_id", "os-vol-tenant-attr:tenant_id")


def of_six_types(port_name: str = "front") -> Json:
    return template(
        group={"type": "OS::Neutron::SecurityGroup"},
        volume={"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        port=port(name=port_name),
        server=server(),
    )


class OperatorClient:
    """An administrator's client: lists show all projects, or those that are asked for.

    Attributes:
        sent: The requests.
        error: What each request fails with.
    """

    def __init__(self, inner: Any, project_id: str, sent: list[CloudRequest]) -> None:
        self.cache_key, self.project_id = f"{inner.cache_key}/{project_id}", project_id
        self.error: Exception | None = None
        self.sent = sent
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def send(self, request: CloudRequest) -> CloudResponse:
        self.sent.append(request)
        if self.error is not None:
            raise self.error
        query = dict(request.query)
        expected_ids = query.pop("project_id", None)
        answer: CloudResponse = self._inner.send(replace(request, query=query))
        name = SHARED.get((request.service, request.path))
        if expected_ids is None or name is None:
            return answer
        owners = [expected_ids] if isinstance(expected_ids, str) else expected_ids
        items = [each for each in answer.body[name] if each.get("tenant_id") in owners]
        return replace(answer, body={**answer.body, name: items})


class SharedCloud:
    """The clients of a service with an operator's credential."""

    def __init__(self) -> None:
        self.emulated = ClockedEmulation()
        self.own: list[CloudRequest] = []
        self.operator: list[CloudRequest] = []
        self.error: Exception | None = None

    def watch_cloud_of(self, tree_id: str, project_id: str, lists: ListRound) -> ProjectListsCloud:
        cloud = self.emulated.cloud_for(tree_id)
        own, operator = (
            OperatorClient(cloud, project_id, sent) for sent in (self.own, self.operator)
        )
        operator.error = self.error
        return ProjectListsCloud(lambda: own, lambda: operator, cloud, RefusalLog(), lists)

    def calls(self) -> Counter[tuple[str, str]]:
        """Return how often each list was requested, whoever requested it."""
        sent = [(each.service, each.path) for each in (*self.own, *self.operator)]
        return Counter(each for each in sent if each in SHARED)


@pytest.fixture
def clouds() -> SharedCloud:
    return SharedCloud()


@pytest.fixture
def service(tmp_path: Path, clouds: SharedCloud) -> Iterator[LocalService]:
    class Service(LocalService):
        evaluation_values: ClassVar[Json] = {"watch_cloud_of": clouds.watch_cloud_of}

    service = emulation_service(clouds.emulated, tmp_path, Service)
    service.use_settings(watch_interval_s=INTERVAL_S)
    yield service
    service.close()


@pytest.fixture
def paths(service: LocalService, clouds: SharedCloud) -> dict[str, str]:
    """Return the path of a stack of each project, watched until nothing changes for long."""
    found = {}
    for project in PROJECTS:
        body = {"stack_name": "s", "template": of_six_types()}
        answer = service.send("POST", "/stacks", body, project=project)
        service.run_until_idle()
        found[project] = f"/stacks/s/{answer.json['stack']['id']}"
        _give_owners(service, clouds)
        service.watch.tick()
        service.clock.advance(7)  # so that the groups of projects are not due together by chance
    watch(service, 600)
    clouds.own.clear()
    clouds.operator.clear()
    return found


def _give_owners(service: LocalService, clouds: SharedCloud) -> None:
    """Let each object show the project of its stack, as services do."""
    with service.database.read() as connection:
        owners = dict(
            connection.execute(sa.select(resource.c.physical_id, resource.c.project_id)).all()
        )
    for entity in (
        "nova.server",
        "cinder.volume",
        *(f"neutron.{name}" for name in ("network", "port", "security_group", "subnet")),
    ):
        for body in clouds.emulated.bodies(entity):
            body.update(dict.fromkeys(OWNER_KEYS, owners.get(body["id"], "another")))


def watch(service: LocalService, seconds: float) -> None:
    """Let the watch do what is due, when it is due, for some time."""
    left_s = seconds
    while left_s > 0:
        step_s = min(max(service.watch.tick(), 0.1), left_s)
        service.clock.advance(step_s)
        left_s -= step_s


def drifted(service: LocalService) -> dict[str, list[tuple[str, str]]]:
    """Return the resources that differ, by project."""
    found = {}
    for project in PROJECTS:
        shown = service.send("GET", "/drift", project=project).json["resources"]
        if shown:
            found[project] = [(each["resource_name"], each["drift_status"]) for each in shown]
    return found


def physical_id(service: LocalService, path: str, project: str, name: str) -> str:
    shown = service.send("GET", f"{path}/resources/{name}", project=project).json["resource"]
    return str(shown["physical_resource_id"])


def test_one_list_of_each_type_serves_all_projects(service, clouds, paths):
    minutes = 10
    watch(service, minutes * 60)
    calls = clouds.calls()
    assert set(calls) == set(SHARED)
    assert set(calls.values()) == {minutes}
    assert drifted(service) == {}
    shared = [each for each in clouds.operator if each.path == "/servers/detail"]
    assert {each.query.get("project_id") for each in shared} == {None}
    assert {each.query["all_tenants"] for each in shared} == {"1"}
    networks = [each for each in clouds.operator if each.path == "/networks"]
    assert {tuple(each.query["project_id"]) for each in networks} == {tuple(PROJECTS)}


def test_each_project_gets_its_own_objects(service, clouds, paths):
    for project, name, noun in (("p1", "port", "neutron.port"), ("p3", "server", "nova.server")):
        key = physical_id(service, paths[project], project, name)
        if noun == "nova.server":
            clouds.emulated.emulation.collection(noun).remove(key)
        else:
            ours(clouds.emulated, noun, key)["name"] = "other"
    watch(service, 120)
    assert drifted(service) == {"p1": [("port", "MODIFIED")], "p3": [("server", "DELETED")]}


def test_object_that_a_shared_list_leaves_out_is_read_alone(service, clouds, paths):
    """RULE 10: a list that shows an object as another project's proves nothing either."""
    key = physical_id(service, paths["p2"], "p2", "server")
    ours(clouds.emulated, "nova.server", key)["tenant_id"] = "another"
    watch(service, 120)
    assert drifted(service) == {}
    assert any(each.path.endswith(key) for each in clouds.own)


def test_list_with_more_pages_than_projects_is_not_shared(service, clouds, paths, monkeypatch):
    monkeypatch.setattr(shared_lists, "PAGE_SIZE", 1)
    collection = clouds.emulated.emulation.collection("nova.server")
    (body, *_rest) = collection.bodies()
    for number in range(len(PROJECTS)):
        foreign = {**body, "id": f"foreign-{number}"}
        collection.add({**foreign, **dict.fromkeys(OWNER_KEYS, "another")})
    watch(service, 300)
    servers = [each for each in clouds.operator if each.path == "/servers/detail"]
    tried = [each for each in servers if "project_id" not in each.query]
    assert len(tried) == len(PROJECTS)  # once, and not again within the hour
    assert len(servers) - len(tried) == 5 * len(PROJECTS)
    assert drifted(service) == {}


def test_failure_in_the_middle_of_the_pages_shares_nothing(service, clouds, paths, monkeypatch):
    """A marker whose object was deleted: no project gets a part of the list."""
    monkeypatch.setattr(shared_lists, "PAGE_SIZE", 2)
    real_send = OperatorClient.send

    def send(client: OperatorClient, request: CloudRequest) -> CloudResponse:
        if "marker" in request.query:
            raise ResourceGone("the marker is gone")
        return real_send(client, request)

    monkeypatch.setattr(OperatorClient, "send", send)
    watch(service, 120)
    assert drifted(service) == {}
    servers = [each for each in clouds.operator if each.path == "/servers/detail"]
    assert Counter(each.query.get("project_id") for each in servers) == Counter(
        {None: 2, **dict.fromkeys(PROJECTS, 2)}
    )


def test_objects_without_a_project_are_not_shared(service, clouds, paths):
    for body in clouds.emulated.bodies("cinder.volume"):
        del body["os-vol-tenant-attr:tenant_id"]
    watch(service, 120)
    volumes = [each for each in clouds.operator if each.path == "/volumes/detail"]
    assert Counter(each.query.get("project_id") for each in volumes) == Counter(
        {None: 1, **dict.fromkeys(PROJECTS, 2)}
    )
    assert drifted(service) == {}


def test_service_that_does_not_answer_is_read_once_for_all_projects(service, clouds, paths):
    clouds.error = TemporaryFailure("down")
    watch(service, 60)
    assert set(clouds.calls().values()) <= {1, 1 + len(PROJECTS)}
    assert drifted(service) == {}


def test_change_of_a_stack_after_the_list_is_no_drift(service, clouds, paths):
    """Rows are read before the list that they are compared with."""
    updated = of_six_types("renamed")
    sent = service.send("PUT", paths["p3"], {"template": updated}, project="p3")
    assert sent.status_int == 202
    service.run_until_idle()
    watch(service, 120)
    assert drifted(service) == {}
