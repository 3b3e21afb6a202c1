"""Lists of the watch by an operator's credential, which the credentials of stacks cannot stop."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.common.errors import Forbidden
from heat_convergence.common.failures import RowsContradict, TemporaryFailure
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.openstack.project_lists import (
    PROJECT_LISTS,
    ProjectListsCloud,
    RefusalLog,
)
from heat_convergence.resources.openstack.shared_lists import ListRound
from tests.functional.drift.drift_cases import INTERVAL_S, drift, entry, ours, watch
from tests.functional.drift.drift_cases import template_with_everything as everything
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    emulation_service,
    physical_id,
)

Json = Any


class RecordingClient:
    """A client that records its requests, and may refuse them.

    Attributes:
        error: What each request fails with; None for the answer of the emulation.
        sent: The requests.
    """

    def __init__(self, inner: Any) -> None:
        self.cache_key, self.project_id = inner.cache_key, "p"
        self.error: Exception | None = None
        self.sent: list[CloudRequest] = []
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def send(self, request: CloudRequest) -> CloudResponse:
        self.sent.append(request)
        if self.error is not None:
            raise self.error
        query = {key: value for key, value in request.query.items() if key != "project_id"}
        answer: CloudResponse = self._inner.send(replace(request, query=query))
        return answer

    def lists(self) -> set[tuple[str, str]]:
        """Return service and path of the lists that were requested."""
        keys = {(each.service, each.path) for each in self.sent if each.method == "GET"}
        return keys & set(PROJECT_LISTS)


class DamagedCloud:
    """The cloud of a stack whose credential cannot be decoded."""

    @property
    def call_region(self) -> str:
        raise RowsContradict("The stored credential cannot be decoded.")


class CloudPair:
    """The clients of a service with an operator's credential."""

    def __init__(self) -> None:
        self.emulated = ClockedEmulation()
        self.own: RecordingClient | None = None
        self.operator: RecordingClient | None = None
        self.refusals = RefusalLog()
        self.damaged_tree_id = ""

    def watch_cloud_of(
        self, tree_id: str, _project_id: str, lists: ListRound
    ) -> ProjectListsCloud:
        cloud = self.emulated.cloud_for(tree_id)
        own = self.own = self.own or RecordingClient(cloud)
        operator = self.operator = self.operator or RecordingClient(cloud)
        shown_cloud = DamagedCloud() if tree_id == self.damaged_tree_id else cloud
        return ProjectListsCloud(lambda: own, lambda: operator, shown_cloud, self.refusals, lists)


@pytest.fixture
def clouds() -> CloudPair:
    return CloudPair()


@pytest.fixture
def service(tmp_path: Path, clouds: CloudPair) -> Iterator[LocalService]:
    class Service(LocalService):
        evaluation_values: ClassVar[Json] = {"watch_cloud_of": clouds.watch_cloud_of}

    service = emulation_service(clouds.emulated, tmp_path, Service)
    service.use_settings(watch_interval_s=INTERVAL_S)
    yield service
    service.close()


def test_lists_are_requested_by_the_operator(service, clouds):
    create_stack(service, everything())
    watch(service)
    assert {("compute", "/servers/detail"), ("network", "/ports")} <= clouds.operator.lists()
    assert clouds.own.lists() == set()
    assert {each.query["project_id"] for each in clouds.operator.sent} == {"p"}
    by_path = {each.path: each.query for each in clouds.operator.sent}
    assert by_path["/servers/detail"]["all_tenants"] == "1"
    assert "all_tenants" not in by_path["/ports"]


def test_drift_is_observed_while_the_credential_of_the_stack_is_revoked(service, clouds):
    path = create_stack(service, everything())
    watch(service)
    clouds.own.error = Forbidden("revoked")
    key = physical_id(service, path, "port")
    ours(clouds.emulated, "neutron.port", key)["name"] = "other"
    watch(service)
    assert entry(service, path)[:2] == ("port", "MODIFIED")


def test_stack_with_a_damaged_credential_hides_no_drift_of_others(service, clouds):
    paths = [create_stack(service, everything(), stack_name=name) for name in ("damaged", "other")]
    clouds.damaged_tree_id = paths[0].rsplit("/", 1)[1]
    key = physical_id(service, paths[1], "port")
    ours(clouds.emulated, "neutron.port", key)["name"] = "other"
    watch(service)
    assert entry(service, paths[1])[:2] == ("port", "MODIFIED")
    assert {each["drift_status"] for each in drift(service, paths[0])["resources"]} == {"UNKNOWN"}


def test_single_objects_are_read_by_the_stack(service, clouds):
    """RULE 12: the operator's credential reads no object by an id alone."""
    path = create_stack(service, everything())
    watch(service)
    key = physical_id(service, path, "server")
    clouds.emulated.emulation.collection("nova.server").remove(key)
    watch(service)
    assert entry(service, path)[:2] == ("server", "DELETED")
    assert any(each.path.endswith(key) for each in clouds.own.sent)
    assert not any(each.path.endswith(key) for each in clouds.operator.sent)


def test_refused_operator_leaves_the_lists_to_stacks(service, clouds, caplog):
    caplog.set_level(logging.WARNING)
    clouds.watch_cloud_of("", "p", ListRound())
    clouds.operator.error = Forbidden("not an administrator")
    path = create_stack(service, everything())
    watch(service)
    found = drift(service, path)
    assert found["resources"] == []
    assert found["drift_status"] == "IN_SYNC"
    assert ("compute", "/servers/detail") in clouds.own.lists()
    lines = [each.getMessage() for each in caplog.records if "drift_auth" in each.getMessage()]
    assert len(lines) == len({each.service for each in clouds.operator.sent})


def test_service_that_does_not_answer_the_operator_gets_no_second_request(service, clouds):
    clouds.watch_cloud_of("", "p", ListRound())
    clouds.operator.error = TemporaryFailure("down")
    create_stack(service, everything())
    watch(service)
    assert clouds.own.lists() == set()


def test_lists_of_the_table_are_those_of_resource_types():
    paths = {(each.service, each.list_path_template) for each in REST_RESOURCES.values()}
    assert set(PROJECT_LISTS) <= paths
