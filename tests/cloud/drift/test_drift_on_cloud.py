"""Others change resources of stacks on a real cloud: the service sees it and repairs them.

Each test prints a table of medians. ``HEAT_CONVERGENCE_TEST_DRIFT_ROUNDS`` is the number of
repetitions with notifications, by default 2: ten take some minutes. Each change of one round is
made in another stack, all at the same time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cloud.conftest import DeployService
from tests.cloud.drift.drift_measurement import ChangedStack, MeasuredChange, format_table
from tests.cloud.drift.drift_stacks import POLICIES, make_template
from tests.cloud.drift.foreign_changes import CHANGES
from tests.cloud.testbed import CloudTestbed, DeployedService, notification_url

ROUNDS = int(os.environ.get("HEAT_CONVERGENCE_TEST_DRIFT_ROUNDS", "2"))
ROUNDS_WITHOUT_NOTIFICATIONS = min(ROUNDS, 3)
USER = "demo"


@pytest.fixture(scope="module")
def volume_types(cloud_testbed: CloudTestbed) -> Iterator[tuple[str, str]]:
    """The volume type of the stacks, and another one that volumes are retyped to."""
    storage = cloud_testbed.connection("admin", cloud_testbed.facts["region"]).block_storage
    mark = uuid.uuid4().hex[:8]
    types = [storage.create_type(name=f"drift-{mark}-{each}") for each in ("own", "other")]
    yield types[0].name, types[1].name
    for each in types:
        storage.delete_type(each.id)


@pytest.fixture(scope="module", autouse=True)
def pool(cloud_testbed: CloudTestbed) -> Iterator[str]:
    """The name of a queue of notifications, deleted after the daemons have ended.

    It is the first fixture of the module, so that it is the last to end.
    """
    name = f"drift-{uuid.uuid4().hex[:8]}"
    yield name
    control = shutil.which("rabbitmqctl")
    if control is not None:
        vhost = notification_url(cloud_testbed).rsplit("/", 1)[1]
        subprocess.run([control, "-q", "delete_queue", "-p", vhost, name], capture_output=True)


@pytest.fixture(scope="module")
def notified(cloud_testbed: CloudTestbed, pool: str, deploy: DeployService) -> DeployedService:
    """A service that listens to the cloud's notifications by a queue of its own."""
    url = notification_url(cloud_testbed)
    listener = {"enabled": True, "transport_urls": url, "pool": pool}
    return deploy(sections={"notification_listener": listener})


@pytest.fixture(scope="module")
def unnotified(deploy: DeployService) -> DeployedService:
    return deploy()


def create_stacks(
    service: DeployedService, count: int, volume_types: tuple[str, str]
) -> list[ChangedStack]:
    """Create stacks and return them once all their resources were read."""
    cloud_testbed = service.cloud_testbed
    auth = cloud_testbed.session(USER)
    names = [f"drift-{number}" for number in range(count)]
    for number, name in enumerate(names):
        template = make_template(cloud_testbed, number, volume_types[0])
        body = {"stack_name": name, "template": template, "environment": POLICIES}
        response = service.request(auth, "POST", "/stacks", body)
        assert response.status_code == 201, response.text
    for name in names:
        status = service.wait_until_done(auth, name, within_s=600)
        assert status[0] == "CREATE_COMPLETE", status
    region = cloud_testbed.facts["region"]
    stacks = [
        ChangedStack(service, auth, cloud_testbed.connection(USER, region), name, volume_types[1])
        for name in names
    ]
    for stack in stacks:
        stack.wait_until_in_sync()
    return stacks


def measure_rounds(stacks: list[ChangedStack], rounds: int) -> list[MeasuredChange]:
    """Make each change once in each round, in another stack every time."""
    measured: list[MeasuredChange] = []
    with ThreadPoolExecutor(len(CHANGES)) as pool:
        for number in range(rounds):
            started = [
                pool.submit(stacks[(number + offset) % len(stacks)].measure, change)
                for offset, change in enumerate(CHANGES)
            ]
            measured += [each.result() for each in started]
    return measured


def assert_repaired(measured: list[MeasuredChange]) -> None:
    for each in measured:
        assert each.is_undone, each
        assert each.outcome == "REPAIRED", each
        assert each.touched_others == frozenset(), each
        assert each.change.resource_name in each.touched, each


def delete_stacks(service: DeployedService, count: int) -> None:
    auth = service.cloud_testbed.session(USER)
    for number in range(count):
        service.delete_stack(auth, f"drift-{number}")


@pytest.mark.timeout(3600)
def test_foreign_changes_are_repaired_with_notifications(
    notified: DeployedService, volume_types: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    count = max(ROUNDS, len(CHANGES))
    try:
        stacks = create_stacks(notified, count, volume_types)
        measured = measure_rounds(stacks, ROUNDS)
        with capsys.disabled():
            print(f"\nwith notifications\n{format_table(measured)}")
        assert_repaired(measured)
        assert "notification" in {each.source for each in measured}
    finally:
        delete_stacks(notified, count)


@pytest.mark.timeout(3600)
def test_foreign_changes_are_repaired_without_notifications(
    unnotified: DeployedService, volume_types: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    count = len(CHANGES)
    try:
        stacks = create_stacks(unnotified, count, volume_types)
        measured = measure_rounds(stacks, ROUNDS_WITHOUT_NOTIFICATIONS)
        with capsys.disabled():
            print(f"\nwithout notifications\n{format_table(measured)}")
        assert_repaired(measured)
        assert {each.source for each in measured} <= {
            "sweep",
            "read",
            "not shown before the repair",
        }
    finally:
        delete_stacks(unnotified, count)
