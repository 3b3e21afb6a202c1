"""A service that never answers delays only its own resources: engine and observer with threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heat_convergence.common.fair_executor import FairExecutor
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.engine import jobs
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import ConcurrentJobPool
from heat_convergence.observer.observer import Observer
from heat_convergence.observer.poll_pool import ConcurrentPollPool
from heat_convergence.resources.protocol.call_groups import call_groups
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService

Json = Any
STUCK, HEALTHY = 30, 20  # stacks
CALLS, MESSAGES, POLLS = 12, 6, 6  # threads
WAIT_S = 60.0  # what should happen at once, on a machine that is very busy


class HealthyType(ResourceType):
    """A type of a service that answers at once; it is ready when it is observed."""

    name = "Test::Healthy"
    service = "network"
    schema = TypeSchema()

    def __init__(self) -> None:
        self.deleted_copies: list[str] = []

    def create(self, context: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.BUSY, context.name, poll_after_s=1.0)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return VerbResult(ObservedState.READY)

    def delete(self, context: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.READY)

    def snapshot(self, context: ResourceContext) -> VerbResult:
        copy = f"{context.name} of {context.stack_name}"
        return VerbResult(ObservedState.READY, data={"copy": copy})

    def delete_snapshot(self, context: ResourceContext) -> None:
        self.deleted_copies.append(context.data["copy"])


class HangingType(HealthyType):
    """A type of a service that answers nothing from some verb on, until it is released."""

    name = "Test::Hanging"
    service = "compute"

    def __init__(self) -> None:
        super().__init__()
        self.hanging_verb = ""
        self.released = threading.Event()
        self.calls: Counter[str] = Counter()
        self.started = threading.Event()

    def create(self, context: ResourceContext) -> VerbResult:
        self._hang("create")
        return super().create(context)

    def find(self, context: ResourceContext) -> str | None:
        self._hang("create")
        return None

    def observe(self, context: ResourceContext) -> VerbResult:
        self._hang("observe")
        return super().observe(context)

    def delete_snapshot(self, context: ResourceContext) -> None:
        self._hang("delete_snapshot")
        super().delete_snapshot(context)

    def _hang(self, verb: str) -> None:
        if verb == self.hanging_verb and not self.released.is_set():
            self.calls[verb] += 1
            self.started.set()
            assert self.released.wait(10 * WAIT_S)


class ThreadedDaemons:
    """An engine and an observer with the pools of the daemons; messages run in threads."""

    def __init__(self, service: LocalService) -> None:
        self.service = service
        self.calls = FairExecutor(ThreadPoolExecutor(CALLS), CALLS)
        self.polls = FairExecutor(ThreadPoolExecutor(POLLS), POLLS)
        self.messages = ThreadPoolExecutor(MESSAGES)
        engine, observer = service.build_daemons(
            pool=ConcurrentJobPool(self.calls, MESSAGES, patience_s=0.2),
            poll_pool=ConcurrentPollPool(self.polls),
        )
        self.engine: Engine = engine
        self.observer: Observer = observer

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Handle messages and polls until a condition holds."""
        pause, waited_s = threading.Event(), 0.0
        while not condition():
            while self.service.bus.pending:
                message = self.service.bus.pending.popleft()
                handle = (
                    self.engine.converge if message.method == "converge" else self.observer.observe
                )
                self.messages.submit(handle, [message.hint])
            self.service.clock.advance(0.5)
            self.observer.tick()
            self.engine.renew_leases()
            pause.wait(0.05)
            waited_s += 0.05
            assert waited_s < WAIT_S

    def close(self) -> None:
        self.messages.shutdown()
        self.calls.shutdown()
        self.polls.shutdown()


@pytest.fixture
def hanging() -> Iterator[HangingType]:
    hanging = HangingType()
    yield hanging
    hanging.released.set()


@pytest.fixture
def healthy() -> HealthyType:
    return HealthyType()


@pytest.fixture
def daemons(
    tmp_path: Any, healthy: HealthyType, hanging: HangingType
) -> Iterator[ThreadedDaemons]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(healthy, hanging))
    daemons = ThreadedDaemons(service)
    yield daemons
    hanging.released.set()
    daemons.close()
    service.close()


def make(service: LocalService, name: str, *type_names: str) -> str:
    """Create a stack and return its path."""
    resources = {each.partition("::")[2]: {"type": each} for each in type_names}
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    body = {"stack_name": name, "template": template, "timeout_mins": 600}
    response = service.send("POST", "/stacks", body, leave_pending=True, project=name[:2])
    assert response.status_int == 201, response.text
    return f"/stacks/{name}/{response.json['stack']['id']}"


def complete(service: LocalService, prefix: str) -> int:
    """Return how many stacks of a project are complete."""
    path = "/stacks?status=COMPLETE"
    return len(service.send("GET", path, leave_pending=True, project=prefix).json["stacks"])


@pytest.mark.parametrize("verb", ["create", "observe"])
def test_healthy_stacks_end_while_a_service_hangs(
    daemons: ThreadedDaemons, hanging: HangingType, verb: str
) -> None:
    service, hanging.hanging_verb = daemons.service, verb
    for number in range(STUCK):
        make(service, f"s{number % 9}-{number}", "Test::Hanging")
    daemons.run_until(hanging.started.is_set)
    for number in range(HEALTHY):
        make(service, f"ok-{number}", "Test::Healthy")
    daemons.run_until(lambda: complete(service, "ok") == HEALTHY)

    assert not hanging.released.is_set()
    limit = {"create": 2 * CALLS // 3, "observe": 2 * POLLS // 3}[verb]
    assert 0 < hanging.calls[verb] <= limit
    assert sum(complete(service, f"s{number}") for number in range(9)) == 0

    hanging.released.set()
    daemons.run_until(lambda: sum(complete(service, f"s{number}") for number in range(9)) == STUCK)


def test_job_of_an_unknown_service_is_the_only_one_to_fail(
    daemons: ThreadedDaemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The services of all jobs of a message are known before the first call of one starts."""

    def fail_for_hanging(resource_type: ResourceType, context: ResourceContext) -> Json:
        if resource_type.name == HangingType.name:
            raise KeyError("region")
        return call_groups(resource_type, context)

    monkeypatch.setattr(jobs, "call_groups", fail_for_hanging)
    service = daemons.service
    path = make(service, "ok-both", "Test::Healthy", "Test::Hanging")

    def statuses() -> dict[str, str]:
        found = service.send("GET", f"{path}/resources", leave_pending=True, project="ok")
        rows = found.json["resources"]
        return {each["resource_name"]: each["resource_status"] for each in rows}

    daemons.run_until(
        lambda: statuses() == {"Healthy": "CREATE_COMPLETE", "Hanging": "CREATE_FAILED"}
    )


def test_snapshots_are_deleted_while_another_service_hangs(
    daemons: ThreadedDaemons, healthy: HealthyType, hanging: HangingType
) -> None:
    """One has a copy of each service: the copy of the other service is deleted at once.

    A copy whose deletion takes longer than a lease before it is recorded, on a busy machine, is
    deleted again, which changes nothing.
    """
    service = daemons.service

    def send(method: str, path: str) -> Any:
        body: Json = {} if method == "POST" else None
        return service.send(method, path, body, leave_pending=True, project="ok")

    paths = [
        make(service, "ok-both", "Test::Hanging", "Test::Healthy"),
        make(service, "ok-healthy", "Test::Healthy"),
    ]
    daemons.run_until(lambda: complete(service, "ok") == 2)
    snapshots = [
        f"{path}/snapshots/{send('POST', f'{path}/snapshots').json['id']}" for path in paths
    ]
    daemons.run_until(
        lambda: all(send("GET", path).json["snapshot"]["data"] for path in snapshots)
    )
    daemons.run_until(lambda: complete(service, "ok") == 2)
    hanging.hanging_verb = "delete_snapshot"
    for path in snapshots:
        assert send("DELETE", path).status_int == 204
    daemons.run_until(hanging.started.is_set)
    copies = {"Healthy of ok-both", "Healthy of ok-healthy"}
    daemons.run_until(lambda: set(healthy.deleted_copies) == copies)
    daemons.run_until(lambda: send("GET", snapshots[1]).status_int == 404)
    make(service, "ok-later", "Test::Healthy")
    daemons.run_until(lambda: complete(service, "ok") == 3)

    assert send("GET", snapshots[0]).status_int == 200
    assert hanging.calls["delete_snapshot"] == 1
    hanging.released.set()
    daemons.run_until(lambda: send("GET", snapshots[0]).status_int == 404)
    assert set(hanging.deleted_copies) == {"Hanging of ok-both"}
