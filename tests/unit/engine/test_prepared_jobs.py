"""Jobs are prepared without locks: what changes before their claim is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from heat_convergence.common.clock import utc_now
from heat_convergence.common.failures import ConcurrentTransaction
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.model.action import Status
from heat_convergence.engine.claiming import job_claims, preparation
from heat_convergence.engine.job_boundary import ClaimedJobs
from heat_convergence.engine.jobs import ClaimContext, Job
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore


class CountedType(TestResource):
    """A type that notes the values with which resources are created."""

    name = "Test::Counted"
    local = False  # its calls are counted

    def __init__(self) -> None:
        self.created: list[str] = []

    def create(self, view: ResourceContext) -> VerbResult:
        self.created.append(view.properties["value"])
        return super().create(view)


@dataclass
class InterruptedService:
    """A service in which something happens after jobs were evaluated, before their claim."""

    service: InProcessService
    resource_type: CountedType
    store: MemoryStore
    stack_id: str
    interruptions: list[Callable[[], None]] = field(default_factory=list)
    evaluations: int = 0


def definitions(value: str) -> dict[str, ResourceDefinition]:
    properties = {"value": value}
    return {"a": ResourceDefinition(name="a", type=CountedType.name, properties=properties)}


def retry_without_pauses(work: Callable[[], ClaimedJobs], **_options: object) -> ClaimedJobs:
    return retry_transaction(work, wait=lambda _seconds: None)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> InterruptedService:
    store, resource_type = MemoryStore(), CountedType()
    service = InProcessService(store, ResourceTypeRegistry.from_types(resource_type))
    stack_id = service.create(definitions("old"), name="red")
    found = InterruptedService(service, resource_type, store, stack_id)
    create_job = preparation.create_job

    def create_and_interrupt(row: object, claim: ClaimContext) -> Job:
        job = create_job(row, claim)
        found.evaluations += 1
        if found.interruptions:
            found.interruptions.pop()()
        return job

    monkeypatch.setattr(preparation, "create_job", create_and_interrupt)
    return found


@pytest.mark.parametrize(("seconds", "created"), [(0.01, ["0", "1", "2", "3"]), (0.3, ["0"])])
def test_the_rest_of_a_message_is_sent_again_once_its_preparation_takes_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, created: list[str]
):
    store, resource_type, now = MemoryStore(), CountedType(), [utc_now()]
    service = InProcessService(
        store, ResourceTypeRegistry.from_types(resource_type), clock=lambda: now[0]
    )
    create_job = preparation.create_job

    def create_slowly(row: object, claim: ClaimContext) -> Job:
        now[0] += timedelta(seconds=seconds)
        return create_job(row, claim)

    monkeypatch.setattr(preparation, "create_job", create_slowly)
    values = {
        name: ResourceDefinition(name=name, type=CountedType.name, properties={"value": name})
        for name in "0123"
    }
    stack_id = service.create(values, name="red")
    (message,) = service.bus.pending
    service.handle_next()
    assert sorted(resource_type.created) == created
    sent = [each.resource_ids for each in service.bus.pending if each.method == "converge"]
    # In two messages, for two engines.
    rest = [message.resource_ids[1:3], message.resource_ids[3:]]
    assert sent == (rest if len(created) == 1 else [])
    service.run_until_idle()
    assert sorted(resource_type.created) == ["0", "1", "2", "3"]
    assert service.stack(stack_id).status is Status.COMPLETE


def test_a_goal_set_during_the_evaluation_supersedes_the_job(interrupted):
    service = interrupted.service
    interrupted.interruptions.append(
        lambda: service.update(interrupted.stack_id, definitions("new"))
    )
    service.run_until_idle()
    assert interrupted.resource_type.created == ["new"]
    assert service.stack(interrupted.stack_id).status is Status.COMPLETE


def test_a_job_that_another_worker_claims_during_the_evaluation_is_left_to_it(interrupted):
    service = interrupted.service
    message = service.bus.pending[0]
    interrupted.interruptions.append(lambda: service.deliver(message))
    service.run_until_idle()
    assert interrupted.resource_type.created == ["old"]
    assert service.stack(interrupted.stack_id).status is Status.COMPLETE


def test_a_change_that_leaves_the_job_due_has_it_evaluated_again(interrupted):
    service, store = interrupted.service, interrupted.store
    (row_id,) = store.tables.resources

    def change() -> None:
        with store.transaction() as tx:
            tx.resources.update([row_id], status_reason="changed meanwhile")

    interrupted.interruptions.append(change)
    service.run_until_idle()
    assert interrupted.evaluations == 2
    assert interrupted.resource_type.created == ["old"]


def test_a_job_that_the_sweep_posts_again_during_the_evaluation_is_claimed(interrupted):
    service, store = interrupted.service, interrupted.store
    late = utc_now() + timedelta(hours=1)
    reposted = []
    interrupted.interruptions.append(
        lambda: reposted.extend(store.sweeps.take_lost_jobs(late, late, 10))
    )
    service.deliver(service.bus.pending.popleft())
    assert (len(reposted), interrupted.evaluations) == (1, 1)
    assert interrupted.resource_type.created == ["old"]


def test_a_row_that_changes_each_time_is_left_to_the_sweep(
    interrupted: InterruptedService, monkeypatch: pytest.MonkeyPatch
):
    service, store = interrupted.service, interrupted.store
    monkeypatch.setattr(job_claims, "retry_transaction", retry_without_pauses)
    (row_id,) = store.tables.resources
    before = store.tables.resources[row_id]

    def change() -> None:
        with store.transaction() as tx:
            reason = f"changed {len(interrupted.interruptions)} times"
            tx.resources.update([row_id], status_reason=reason)

    interrupted.interruptions.extend([change] * 50)
    message = service.bus.pending.popleft()
    with pytest.raises(ConcurrentTransaction, match="changed since they were read"):
        service.deliver(message)
    assert store.tables.resources[row_id].job == before.job
    assert interrupted.resource_type.created == []
    interrupted.interruptions.clear()
    service.deliver(message)
    assert interrupted.resource_type.created == ["old"]
