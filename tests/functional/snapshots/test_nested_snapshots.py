"""Snapshots of stacks with stacks below them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common.failures import ResourceFailure
from tests.functional.harness import LocalService
from tests.functional.snapshots.snapshot_disk import (
    SnapshotDisk,
    assert_refused,
    get_body,
    run_observer_pass,
    stack_template,
    take_snapshot,
)

Json = Any


CHILD = "file:///t/child.yaml"


def tree(size: int, *, members: int = 2) -> Json:
    """A disk in a nested stack, and one in each member of a group."""
    child = {
        "heat_template_version": "2016-10-14",
        "parameters": {"size": {"type": "number"}},
        "resources": {
            "disk": {"type": "Test::Disk", "properties": {"size": {"get_param": "size"}}}
        },
    }
    member = {"type": CHILD, "properties": {"size": size}}
    group = {"count": members, "resource_def": member}
    resources = {"n": member, "g": {"type": "OS::Heat::ResourceGroup", "properties": group}}
    return {
        "template": {"heat_template_version": "2016-10-14", "resources": resources},
        "files": {CHILD: json.dumps(child)},
    }


def nested_disks(service: LocalService, path: str) -> dict[str, Json]:
    """Return the properties of the disk by the parent resource of its stack."""
    listed = service.send("GET", f"{path}/resources?nested_depth=5", leave_pending=True).json[
        "resources"
    ]
    found = {}
    for each in listed:
        if each["resource_name"] == "disk":
            where = each["links"][1]["href"].split("/v1/p", 1)[1]
            answer = service.send("GET", f"{where}/template", leave_pending=True).json
            found[each["parent_resource"]] = answer["resources"]["disk"]["properties"]
    return found


def test_nested_stacks_are_saved_and_restored(service: LocalService, disks: SnapshotDisk) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take_snapshot(service, path)
    assert (saved["status"], len(disks.images)) == ("COMPLETE", 3)
    nested = saved["data"]["resources"]["n"]
    assert nested["status"] == "COMPLETE"
    image = nested["resources"]["disk"]["resource_data"]["image"]
    assert image in disks.images
    assert service.send("PUT", path, tree(2, members=1)).status_int == 202
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert get_body(service, path)["stack_status"] == "RESTORE_COMPLETE"
    restored = nested_disks(service, path)
    assert restored["n"] == {"size": {"get_param": "size"}, "image": image}
    assert sorted(each["image"] for each in restored.values()) == sorted(disks.images)
    assert set(restored) == {"n", "0", "1"}


def test_data_of_nested_stacks_is_deleted_with_the_snapshot(
    service: LocalService, disks: SnapshotDisk
) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take_snapshot(service, path)
    service.send("PUT", path, {"template": stack_template("one")})
    assert len(disks.images) == 3  # the nested stacks are deleted, their data is not
    disks.delete_error = ResourceFailure("it is in use")
    where = f"{path}/snapshots/{saved['id']}"
    assert service.send("DELETE", where).status_int == 204
    run_observer_pass(service)
    reason = get_body(service, where)["status_reason"]
    assert reason.startswith("ResourceFailure: resources.g.resources.0.resources.disk: ")
    disks.delete_error = None
    run_observer_pass(service, 60.0)
    assert (service.send("GET", where).status_int, disks.images) == (404, [])


def test_a_nested_failure_fails_the_snapshot(service: LocalService, disks: SnapshotDisk) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(10)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take_snapshot(service, path)
    assert saved["status"] == "FAILED"
    reason = get_body(service, path)["stack_status_reason"]
    assert ".resources.disk: it is too large to be saved" in reason


@pytest.mark.parametrize(
    ("action", "method", "suffix", "body"),
    [
        ("UPDATE", "PATCH", "", {"parameters": {"size": 2}}),
        ("CHECK", "POST", "/actions", {"check": None}),
        ("SUSPEND", "POST", "/actions", {"suspend": None}),
        ("DELETE", "DELETE", "", None),
    ],
)
def test_a_nested_change_supersedes_a_snapshot_in_progress(
    service: LocalService, disks: SnapshotDisk, action: str, method: str, suffix: str, body: Json
) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    nested = path_of_nested(service, path, "n")
    saved = service.send("POST", f"{path}/snapshots", {}, leave_pending=True).json["id"]
    # Nor are both saved at once.
    answer = service.send("POST", f"{nested}/snapshots", {}, leave_pending=True)
    assert "(SNAPSHOT) in progress" in assert_refused(answer, 409, "ActionInProgress")
    service.send(method, f"{nested}{suffix}", body)
    shown = get_body(service, f"{path}/snapshots/{saved}")
    name = nested.split("/")[2]
    reason = f"Snapshot was superseded by {action} of nested stack {name}"
    assert (shown["status"], shown["status_reason"]) == ("FAILED", reason)
    assert get_body(service, path)["stack_status"] == "SNAPSHOT_FAILED"
    if method != "DELETE":
        assert get_body(service, nested)["stack_status"] == f"{action}_COMPLETE"
    assert service.send("DELETE", f"{path}/snapshots/{saved}").status_int == 204


def path_of_nested(service: LocalService, path: str, name: str) -> str:
    """Return the path of the nested stack of a resource."""
    shown = get_body(service, f"{path}/resources/{name}")
    nested = next(each["href"] for each in shown["links"] if each["rel"] == "nested")
    return nested.split("/v1/p", 1)[1]


def test_an_update_keeps_restored_nested_data(service: LocalService, disks: SnapshotDisk) -> None:
    """Both a PATCH and a rollback keep it."""
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take_snapshot(service, path)
    service.send("PUT", path, tree(2))
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    before = nested_disks(service, path)
    assert service.send("PATCH", path, {"tags": "t"}).status_int == 202
    assert nested_disks(service, path) == before
    bad = tree(3)
    bad["template"]["resources"]["bad"] = {
        "type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "n",
    }  # fmt: skip
    service.send("PUT", path, {**bad, "disable_rollback": False})
    assert get_body(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert nested_disks(service, path) == before
