"""Lookups of names that jobs of one process need at the same time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.common.errors import EntityNotFound, Error, Forbidden
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.id_lookup import CACHE_TTL, BodyCache, IdCache, IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JOBS = 10
WAIT_S = 10.0
FLAVORS = [{"id": str(number), "name": f"m1.{number}"} for number in range(JOBS)]
IMAGE = {"id": "0b5f0d3e-7b3a-4a53-9d0c-0f3f2d3c1a11", "name": "cirros"}


class SlowCloud:
    """A cloud whose answers wait until the test lets them go."""

    cache_key, project_id = "p north", "p"

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.error: Error | None = None
        self.request_arrived, self.may_answer = threading.Event(), threading.Event()

    def send(self, request: CloudRequest) -> CloudResponse:
        self.requests[f"{request.method} {request.path}"] += 1
        error = self.error
        self.request_arrived.set()
        assert self.may_answer.wait(WAIT_S)
        if error is not None:
            raise error
        bodies: dict[str, Any] = {
            "/flavors/detail": {"flavors": FLAVORS},
            "/images": {"images": [IMAGE]},
            "/networks": {"networks": [{"id": "n", "name": "net"}]},
        }
        if request.path not in bodies:
            return CloudResponse(200, {}, {"network": {"id": "n"}})
        return CloudResponse(200, {}, bodies[request.path])


@pytest.fixture
def cloud() -> SlowCloud:
    return SlowCloud()


@pytest.fixture
def cache() -> IdCache:
    return IdCache()


def lookup(cloud: Any, cache: IdCache, now: datetime = NOW) -> IdLookup:
    return IdLookup(cloud, REST_RESOURCES, cache, now)


def together(cloud: SlowCloud, calls: list[Callable[[], Any]]) -> list[Future[Any]]:
    """Run calls in threads, all of which run before the cloud answers the first."""
    running = threading.Semaphore(0)

    def run(call: Callable[[], Any]) -> Any:
        running.release()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        answers = [pool.submit(run, call) for call in calls]
        for _ in calls:
            assert running.acquire(timeout=WAIT_S)
        assert cloud.request_arrived.wait(WAIT_S)
        cloud.may_answer.set()
    return answers


def test_ten_jobs_with_one_image_send_one_request(cloud: SlowCloud, cache: IdCache) -> None:
    calls = [lambda: lookup(cloud, cache).resolve_id("glance.image", "cirros")] * JOBS
    assert {answer.result() for answer in together(cloud, calls)} == {IMAGE["id"]}
    assert cloud.requests == {"GET /images": 1}


def test_ten_jobs_with_ten_flavors_read_one_list(cloud: SlowCloud, cache: IdCache) -> None:
    calls = [
        lambda each=each: lookup(cloud, cache).resolve_id("nova.flavor", each["name"])
        for each in FLAVORS
    ]
    assert [answer.result() for answer in together(cloud, calls)] == [e["id"] for e in FLAVORS]
    assert cloud.requests == {"GET /flavors/detail": 1}


def test_id_of_a_listed_flavor_takes_no_request_of_its_own(
    cloud: SlowCloud, cache: IdCache
) -> None:
    cloud.may_answer.set()
    assert lookup(cloud, cache).resolve_id("nova.flavor", "3") == "3"
    assert cloud.requests == {"GET /flavors/detail": 1}


def test_project_of_another_cloud_shares_nothing(cloud: SlowCloud, cache: IdCache) -> None:
    other = SlowCloud()
    other.cache_key = "q north"
    for each in (cloud, other):
        each.may_answer.set()
        assert lookup(each, cache).resolve_id("glance.image", "cirros") == IMAGE["id"]
        assert each.requests == {"GET /images": 1}


@pytest.mark.parametrize("error", [TemporaryFailure("no answer"), EntityNotFound("image", "x")])
def test_failed_request_fails_those_that_wait_and_no_later_one(
    cloud: SlowCloud, cache: IdCache, error: Error
) -> None:
    cloud.error = error
    calls = [lambda: lookup(cloud, cache).resolve_id("glance.image", "cirros")] * JOBS
    failed = [answer.exception() for answer in together(cloud, calls)]
    assert {type(one) for one in failed} == {type(error)}
    cloud.error = None
    assert lookup(cloud, cache).resolve_id("glance.image", "cirros") == IMAGE["id"]


def test_refused_credential_of_one_stack_fails_no_other(cloud: SlowCloud, cache: IdCache) -> None:
    """RULE 11: each asks with its own credential then."""
    cloud.error = Forbidden("compute: not allowed")
    first: list[Error] = []

    def refused() -> None:
        try:
            lookup(cloud, cache).resolve_id("nova.flavor", "m1.1")
        except Error as error:
            first.append(error)

    thread = threading.Thread(target=refused)
    thread.start()
    assert cloud.request_arrived.wait(WAIT_S)
    cloud.error = None
    calls = [lambda: lookup(cloud, cache).resolve_id("nova.flavor", "m1.2")] * 3
    assert {answer.result() for answer in together(cloud, calls)} == {"2"}
    thread.join(WAIT_S)
    assert [type(error) for error in first] == [Forbidden]


def test_lookup_is_repeated_when_the_cached_id_is_too_old(
    cloud: SlowCloud, cache: IdCache
) -> None:
    cloud.may_answer.set()
    for now in (NOW, NOW + CACHE_TTL - timedelta(seconds=1), NOW + CACHE_TTL):
        assert lookup(cloud, cache, now).resolve_id("glance.image", "cirros") == IMAGE["id"]
    assert cloud.requests == {"GET /images": 2}


def test_ten_reads_of_one_body_send_one_request(cloud: SlowCloud) -> None:
    bodies, client = BodyCache(), RestResourceClient(cloud, REST_RESOURCES["neutron.network"])
    found = together(cloud, [lambda: bodies.get(client, "n", NOW)] * JOBS)
    assert [answer.result() for answer in found] == [{"id": "n"}] * JOBS
    assert cloud.requests == {"GET /networks/n": 1}


def test_ten_reads_of_the_same_bodies_send_one_list(cloud: SlowCloud) -> None:
    bodies, client = BodyCache(), RestResourceClient(cloud, REST_RESOURCES["neutron.network"])
    found = together(cloud, [lambda: bodies.get_many(client, ["n"], NOW)] * JOBS)
    assert [answer.result()["n"]["name"] for answer in found] == ["net"] * JOBS
    assert cloud.requests == {"GET /networks": 1}
