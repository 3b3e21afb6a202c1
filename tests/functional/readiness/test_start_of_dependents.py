"""Dependents start within a second by one list call a second, type and project.

With notifications they start within 0.3 seconds of the service's own change of state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.tables import resource
from heat_convergence.resources.driver import poll_interval
from heat_convergence.testing.openstack.storage import cinder_api
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

Json = Any
STEP_S = 0.05
PROJECTS = ("p", "q")
STACKS_PER_PROJECT = 2
VOLUMES = 3  # of each stack, so that many of one type are on their way in a project
LATEST_START_S = 1.0 + 2 * STEP_S
LATEST_START_AFTER_NOTIFICATION_S = 0.3
ENDS_AT_S = 100.0


@pytest.fixture
def service(tmp_path: Path, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path)
    yield service
    service.close()


def build_time_s(number: int) -> float:
    """Return after how many seconds a volume is available: of all ages, at odd moments."""
    return 2.0 + 7.37 * number


def template() -> Json:
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    resources: Json = {}
    for number in range(VOLUMES):
        resources[f"disk{number}"] = volume
        resources[f"after{number}"] = {
            "type": "OS::Heat::Value",
            "properties": {"value": {"get_attr": [f"disk{number}", "status"]}},
        }
    return {"heat_template_version": "2016-10-14", "resources": resources}


def create_stacks(service: LocalService) -> list[tuple[str, str]]:
    """Request the stacks, without waiting for them; return project and path of each."""
    found = []
    for project in PROJECTS:
        for number in range(STACKS_PER_PROJECT):
            body = {"stack_name": f"s{number}", "template": template()}
            answer = service.send("POST", "/stacks", body, project=project, leave_pending=True)
            assert answer.status_int == 201, answer.text
            found.append((project, f"/stacks/s{number}/{answer.json['stack']['id']}"))
    return found


def set_build_times(emulated_cloud: ClockedEmulation) -> list[float]:
    """Let each volume become available at another time; return the times of the emulation."""
    emulation = emulated_cloud.emulation
    times = []
    collection = emulation.collection("cinder.volume")
    for number, body in enumerate(collection.bodies()):
        at = emulation.now_s + build_time_s(number)
        item = collection.get(body["id"])
        assert item is not None
        item.scheduled_changes = [(at, {"status": "available"})]
        times.append(at)
    return times


def take_reads(emulated_cloud: ClockedEmulation) -> int:
    """Return the number of reads of volumes since the last time, of lists and of single ones."""
    counts: Counter[str] = emulated_cloud.emulation.request_counts
    prefix = "GET block_storage /volumes"
    reads = sum(number for request, number in counts.items() if request.startswith(prefix))
    counts.clear()
    return reads


def started(service: LocalService) -> int:
    """Return how many of the dependents are complete."""
    condition = sa.and_(resource.c.name.like("after%"), resource.c.status == "COMPLETE")
    query = sa.select(sa.func.count()).where(condition, resource.c.action == "CREATE")
    with service.database.read() as connection:
        return int(connection.execute(query).scalar_one())


def test_dependents_start_within_a_second_by_one_call_a_second(
    service: LocalService, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cinder_api, "CREATE_TIME_S", 1000.0)
    stacks = create_stacks(service)
    service.run_due_work()
    ready_at = set_build_times(emulated_cloud)
    assert len(ready_at) == len(stacks) * VOLUMES
    take_reads(emulated_cloud)
    waits: list[float] = []
    reads: Counter[int] = Counter()  # by whole second
    while len(waits) < len(ready_at):
        service.clock.advance(STEP_S)
        service.run_due_work()
        # Lists are read just after the beginning of a second, to which the clock has come by now.
        reads[int(service.clock().timestamp())] += take_reads(emulated_cloud)
        emulated_cloud.cloud_for("")  # sets the emulation's clock
        while len(waits) < started(service):
            waits.append(emulated_cloud.emulation.now_s - ready_at[len(waits)])
        assert emulated_cloud.emulation.now_s < ENDS_AT_S
    assert max(waits) <= LATEST_START_S
    assert max(reads.values()) <= len(PROJECTS)


def test_announced_dependents_start_within_a_third_of_a_second(
    service: LocalService, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No poll is due in time; each change is announced, the next one while hints wait."""
    monkeypatch.setattr(cinder_api, "CREATE_TIME_S", 1000.0)
    monkeypatch.setattr(poll_interval, "LIST_INTERVALS", ())
    monkeypatch.setattr(poll_interval, "MAX_INTERVAL_S", 900.0)
    create_stacks(service)
    service.run_due_work()
    ready_at = [at / 30 for at in set_build_times(emulated_cloud)]
    volumes = emulated_cloud.bodies("cinder.volume")
    for at, body in zip(ready_at, volumes, strict=True):
        item = emulated_cloud.emulation.get_existing("cinder.volume", body["id"])
        item.scheduled_changes = [(at, {"status": "available"})]
    take_reads(emulated_cloud)
    waits: list[float] = []
    announced = reads = 0
    while len(waits) < len(ready_at):
        service.clock.advance(STEP_S)
        emulated_cloud.cloud_for("")
        now_s = emulated_cloud.emulation.now_s
        while announced < len(ready_at) and ready_at[announced] <= now_s:
            payload = {"volume_id": volumes[announced]["id"], "tenant_id": PROJECTS[0]}
            service.notifications.receive("volume.create.end", payload, PROJECTS[0])
            announced += 1
        service.notifications.tick()
        service.run_due_work()
        reads += take_reads(emulated_cloud)
        emulated_cloud.cloud_for("")
        while len(waits) < started(service):
            waits.append(emulated_cloud.emulation.now_s - ready_at[len(waits)])
        assert emulated_cloud.emulation.now_s < ENDS_AT_S
    assert max(waits) <= LATEST_START_AFTER_NOTIFICATION_S
    assert reads <= len(ready_at)
