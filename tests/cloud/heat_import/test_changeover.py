"""Thirty stacks of real Heat change over: they look as before, and go on from there.

The tests run in their order, each on what the others have left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import pytest
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.cli.manage import main
from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.heat_import.changeover import CONFIG_VARIABLE, Changeover, signal_waits

Json = Any
KILLS = 10
pytestmark = pytest.mark.timeout(5400)


def command(changeover: Changeover) -> list[str]:
    project_id = changeover.session.get_project_id()
    return [
        "--config-file", str(changeover.own.config), "import-heat",
        "--heat-config", os.environ[CONFIG_VARIABLE], "--database", changeover.copy_url,
        "--project", str(project_id),
    ]  # fmt: skip


def physical_ids(changeover: Changeover, name: str) -> dict[str, str]:
    shown = changeover.resources(changeover.own, name)
    return {key: each["physical_resource_id"] for key, each in shown.items()}


def changed_names(changeover: Changeover, name: str) -> set[str]:
    return {each["resource_name"] for each in changeover.jobs(name)}


def kill_after_two_stacks(arguments: list[str]) -> None:
    """Start an import, and kill it while it has two more stacks and is at the third."""
    program = "from heat_convergence.cli.manage.main import main; import sys; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        start_new_session=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    imported = (line for line in process.stdout if " imported: " in line)
    found = list(islice(imported, 2))
    process.kill()
    process.wait()
    assert len(found) == 2
    assert process.returncode == -signal.SIGKILL


def test_import_is_killed_ten_times_and_then_complete(
    changeover: Changeover, capsys: pytest.CaptureFixture[str]
) -> None:
    with changeover.call_log.record_calls() as calls:
        for _ in range(KILLS):
            kill_after_two_stacks(command(changeover))
        exit_code = main.main(command(changeover))
    printed = capsys.readouterr().out
    assert exit_code == 0, printed
    assert "0 refused" in printed
    assert [call for call in calls if call.method != "GET"] == []

    main.main(command(changeover))

    count = len(changeover.stacks)
    assert f"0 stacks with 0 resources imported, {count} imported before, 0 refused" in (
        capsys.readouterr().out
    )
    changeover.start_daemons()


def test_stacks_look_as_in_heat(
    changeover: Changeover, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    region = changeover.own.region
    environment = changeover.cloud_testbed.environment("demo", region)
    for name, value in {**environment, "OS_PROJECT_NAME": changeover.project}.items():
        monkeypatch.setenv(name, value)
    urls = ["--heat-url", f"{changeover.heat.endpoint}/v1",
            "--url", f"{changeover.own.endpoint}/v1"]  # fmt: skip
    exit_code = main.main(["import-heat", "--verify", *urls])
    printed = capsys.readouterr().out
    print(printed)
    assert exit_code == 0, printed


def test_update_without_change_posts_no_job_and_changes_nothing(changeover: Changeover) -> None:
    """The API still looks up the names in the template, as it does for every request."""
    found: dict[str, Json] = {}
    for name, stack in changeover.stacks.items():
        if stack.status != "CREATE_COMPLETE" or name == "suspended":
            continue
        with changeover.call_log.record_calls() as calls:
            status = changeover.update(name, {})
            jobs = changeover.jobs(name)
        changes = [call for call in calls if call.method != "GET"]
        if status != "UPDATE_COMPLETE" or jobs or changes:
            found[name] = (status, jobs, changes)
    assert found == {}


def test_changed_property_changes_its_resource_alone(changeover: Changeover) -> None:
    before = physical_ids(changeover, "hidden")
    assert changeover.update("hidden", {"parameters": {"release": "2"}}) == "UPDATE_COMPLETE"
    assert changed_names(changeover, "hidden") == {"server"}
    assert physical_ids(changeover, "hidden") == before

    before = physical_ids(changeover, "nested")
    assert changeover.update("nested", {"parameters": {"text": "after"}}) == "UPDATE_COMPLETE"
    assert changeover.outputs(changeover.own, "nested")["texts"] == ["after", "after"]
    assert physical_ids(changeover, "nested") == before
    assert not {"port", "word", "net", "subnet"} & changed_names(changeover, "nested")


def test_old_alarm_url_scales(changeover: Changeover) -> None:
    before = changeover.outputs(changeover.own, "scaled")
    assert changeover.send_signal(before["url"], "POST", {}, to_own=True) == 200
    wait_until(
        lambda: changeover.outputs(changeover.own, "scaled")["size"] == before["size"] + 1,
        "the group has grown", timeout_s=240,
    )  # fmt: skip


def test_wait_condition_gets_its_signal_by_the_old_url(changeover: Changeover) -> None:
    assert changeover.stack(changeover.own, "waiting")["stack_status"] == "CREATE_FAILED"
    signal_waits(changeover, "waiting", changeover.own)
    assert changeover.update("waiting", {}) == "UPDATE_COMPLETE"
    assert changeover.outputs(changeover.own, "waiting")["data"] == '{"1": "word"}'


def test_agent_polls_with_the_credentials_that_it_has(changeover: Changeover) -> None:
    stack = changeover.stack(changeover.heat, "deployed")
    path = f"/stacks/deployed/{stack['id']}/resources/server/metadata"
    agent = changeover.get(changeover.heat, path)["metadata"]["os-collect-config"]["heat"]
    session = Session(Password(
        agent["auth_url"], user_id=agent["user_id"], password=agent["password"],
        project_id=agent["project_id"],
    ))  # fmt: skip
    target = f"/stacks/{agent['stack_id']}/resources/{agent['resource_name']}/metadata"
    response = changeover.own.request(session, "GET", target)
    assert response.status_code == 200, response.text
    assert len(response.json()["metadata"]["deployments"]) == 2


def test_failed_stack_carries_on(changeover: Changeover) -> None:
    before = physical_ids(changeover, "failed")
    assert changeover.update("failed", {"parameters": {"fail": False}}) == "UPDATE_COMPLETE"
    assert physical_ids(changeover, "failed")["failed/volume"] == before["failed/volume"]


def test_snapshot_is_restored(changeover: Changeover) -> None:
    path = changeover.path("saved")
    assert changeover.update("saved", {"parameters": {"text": "changed"}}) == "UPDATE_COMPLETE"
    [saved] = changeover.get(changeover.own, f"{path}/snapshots")["snapshots"]
    changeover.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    found = changeover.own.wait_until_done(changeover.session, "saved", within_s=300)
    assert found[0] == "RESTORE_COMPLETE", found
    parameters = changeover.stack(changeover.own, "saved")["parameters"]
    assert parameters["text"] == "saved"


def test_suspended_stack_is_resumed_and_suspended_again(changeover: Changeover) -> None:
    path = changeover.path("suspended")
    for action in ("resume", "suspend"):
        changeover.send("POST", f"{path}/actions", {action: None})
        found = changeover.own.wait_until_done(changeover.session, "suspended")
        assert found[0] == f"{action.upper()}_COMPLETE"


def test_delete_leaves_nothing_in_the_cloud(changeover: Changeover) -> None:
    for name in changeover.stacks:
        response = changeover.own.request(changeover.session, "DELETE", f"/stacks/{name}")
        assert response.status_code == 204, f"{name}: {response.text}"

    def is_empty() -> bool:
        found = changeover.get(changeover.own, "/stacks")["stacks"]
        failed = [each for each in found if each["stack_status"] == "DELETE_FAILED"]
        assert failed == []
        return not found

    wait_until(is_empty, "all stacks are deleted", timeout_s=600)
    wait_until(lambda: not _left(changeover), "the cloud has nothing of them", timeout_s=60)


def _left(changeover: Changeover) -> Mapping[str, Json]:
    """Return what the project has beside its own network."""
    region = changeover.cloud_testbed.facts["region"]
    cloud = changeover.cloud_testbed.connection("demo", region, changeover.project)
    project_id = changeover.session.get_project_id()
    found: dict[str, Iterator[str]] = {
        "servers": (each.name for each in cloud.compute.servers()),
        "volumes": (each.id for each in cloud.block_storage.volumes()),
        "backups": (each.id for each in cloud.block_storage.backups()),
        "images": (each.name for each in cloud.image.images(owner=project_id)),
        "addresses": (each.id for each in cloud.network.ips(project_id=project_id)),
        "networks": (
            each.name
            for each in cloud.network.networks(project_id=project_id)
            if each.name != "private"
        ),
        "groups": (
            each.name
            for each in cloud.network.security_groups(project_id=project_id)
            if each.name != "default"
        ),
    }
    listed = {name: list(items) for name, items in found.items()}
    return {name: items for name, items in listed.items() if items}
