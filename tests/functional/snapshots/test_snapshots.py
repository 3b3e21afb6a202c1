"""Snapshots through the API: taking, going back, deleting what resources saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.common.errors import ResourceFailure, ResourceGone, Throttled
from heat_convergence.resources.plugin import View
from tests.functional.disks import Disk, disk, make, refused, show, sweep, take, template
from tests.functional.harness import LocalService

Json = Any


def test_a_snapshot_is_a_traversal_of_its_own(service: LocalService) -> None:
    path = make(service, template("one", disk=disk()))
    began = service.send("POST", f"{path}/snapshots", {"name": "n"}, hold=True).json
    assert (began["name"], began["action"], began["status"]) == ("n", "CREATE", "IN_PROGRESS")
    assert (began["data"], began["creation_time"][-1]) == (None, "Z")
    stack = service.send("GET", path, hold=True).json["stack"]
    assert stack["stack_status"] == "SNAPSHOT_IN_PROGRESS"
    service.settle()
    saved = show(service, f"{path}/snapshots/{began['id']}")
    assert (saved["status"], saved["status_reason"]) == (
        "COMPLETE", "Stack SNAPSHOT completed successfully"
    )
    entry = saved["data"]["resources"]["disk"]
    assert (entry["type"], entry["action"], entry["status"]) == (
        "Test::Disk", "SNAPSHOT", "COMPLETE"
    )
    assert entry["resource_data"]["image"].startswith("image of s-disk-")
    assert saved["data"]["template"] == template("one", disk=disk())
    assert show(service, path)["stack_status"] == "SNAPSHOT_COMPLETE"
    for name in ("disk", "plain"):
        assert show(service, f"{path}/resources/{name}")["resource_status"] == "SNAPSHOT_COMPLETE"
    assert show(service, f"{path}/snapshots") == [saved]


def test_a_stack_without_resources_is_saved_at_once(service: LocalService) -> None:
    path = make(service, {"heat_template_version": "2016-10-14"})
    answer = service.send("POST", f"{path}/snapshots", {}, hold=True)
    assert (answer.json["status"], answer.json["data"]["resources"]) == ("COMPLETE", {})


def test_restore_goes_back_to_template_and_values(service: LocalService) -> None:
    path = make(service, template("one", extra={"type": "OS::Heat::None"}))
    before = show(service, f"{path}/resources/extra")["physical_resource_id"]
    saved = take(service, path)
    service.send("PUT", path, {"template": template("two")})
    assert service.send("GET", f"{path}/resources/extra").status_int == 404
    began = service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert (began.status_int, began.content_type) == (202, "text/plain")
    stack = show(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "RESTORE_COMPLETE", "Stack RESTORE completed successfully"
    )
    plain = show(service, f"{path}/resources/plain")
    assert (plain["resource_status"], plain["attributes"]["output"]) == ("UPDATE_COMPLETE", "one")
    extra = show(service, f"{path}/resources/extra")
    assert extra["resource_status"] == "CREATE_COMPLETE"
    assert extra["physical_resource_id"] != before
    shown = service.send("GET", f"{path}/template").json
    assert shown == template("one", extra={"type": "OS::Heat::None"})


def test_what_types_saved_goes_into_the_restored_template(
    service: LocalService, disks: Disk
) -> None:
    path = make(service, template("one", disk=disk()))
    before = show(service, f"{path}/resources/disk")["physical_resource_id"]
    saved = take(service, path)
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert show(service, path)["stack_status"] == "RESTORE_COMPLETE"
    assert show(service, f"{path}/resources/disk")["physical_resource_id"] != before
    shown = service.send("GET", f"{path}/template").json
    assert shown["resources"]["disk"]["properties"] == {"size": 1, "image": disks.images[0]}
    service.send("PATCH", path)  # it stays at what was restored
    after = show(service, f"{path}/resources/disk")["physical_resource_id"]
    service.send("PATCH", path)
    assert show(service, f"{path}/resources/disk")["physical_resource_id"] == after


def test_a_snapshot_that_fails_tells_why(service: LocalService) -> None:
    path = make(service, template("one", disk=disk(10)))
    saved = take(service, path)
    cause = "ResourceFailure: resources.disk: it is too large to be saved"
    reason = f"Resource SNAPSHOT failed: {cause}"
    assert (saved["status"], saved["status_reason"]) == ("FAILED", reason)
    stack = show(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == ("SNAPSHOT_FAILED", reason)
    told = refused(
        service.send("POST", f"{path}/snapshots/{saved['id']}/restore"), 400, "NotSupported"
    )
    assert "CREATE_FAILED" in told
    # The failed resource is as it was: an update has nothing to repair.
    disk_id = show(service, f"{path}/resources/disk")["physical_resource_id"]
    service.send("PATCH", path)
    assert show(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert show(service, f"{path}/resources/disk")["physical_resource_id"] == disk_id


def test_states_in_which_it_is_refused(service: LocalService) -> None:
    path = make(service, template("one"))
    saved = take(service, path)
    service.send("PUT", path, {"template": template("two")}, hold=True)
    answer = service.send("POST", f"{path}/snapshots", {}, hold=True)
    assert "already has an action (UPDATE) in progress" in refused(answer, 409, "ActionInProgress")
    service.settle()
    other = service.send("POST", f"{path}/snapshots", {}, hold=True).json["id"]
    answer = service.send("DELETE", f"{path}/snapshots/{other}", hold=True)
    assert "while it is being taken" in refused(answer, 400, "NotSupported")
    answer = service.send("POST", f"{path}/snapshots/{other}/restore", hold=True)
    assert "CREATE_IN_PROGRESS" in refused(answer, 400, "NotSupported")
    service.settle()
    service.send("POST", f"{path}/actions", {"suspend": None})
    answer = service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert "suspended" in refused(answer, 400, "NotSupported")


def test_an_update_supersedes_a_snapshot_under_way(service: LocalService) -> None:
    path = make(service, template("one"))
    saved = service.send("POST", f"{path}/snapshots", {}, hold=True).json["id"]
    service.send("PUT", path, {"template": template("two")})
    assert show(service, path)["stack_status"] == "UPDATE_COMPLETE"
    shown = show(service, f"{path}/snapshots/{saved}")
    assert (shown["status"], shown["status_reason"]) == (
        "FAILED", "Snapshot was superseded by UPDATE"
    )
    assert service.send("DELETE", f"{path}/snapshots/{saved}").status_int == 204


@pytest.mark.parametrize(
    ("method", "below", "body", "code", "kind"),
    [
        ("POST", "/snapshots", None, 400, "HTTPBadRequest"),
        ("POST", "/snapshots", {"name": 1}, 400, "HTTPBadRequest"),
        ("POST", "/snapshots", {"name": "n" * 256}, 400, "HTTPBadRequest"),
        ("GET", "/snapshots/none", None, 404, "SnapshotNotFound"),
        ("DELETE", "/snapshots/none", None, 404, "SnapshotNotFound"),
        ("POST", "/snapshots/none/restore", None, 404, "SnapshotNotFound"),
    ],
)
def test_bad_requests(
    service: LocalService, method: str, below: str, body: Json, code: int, kind: str
) -> None:
    path = make(service, template("one"))
    refused(service.send(method, path + below, body), code, kind)
    assert show(service, path)["stack_status"] == "CREATE_COMPLETE"


def test_a_snapshot_is_of_one_stack_and_project(service: LocalService) -> None:
    path = make(service, template("one"))
    saved = take(service, path)
    other = service.send("POST", "/stacks", {"stack_name": "t", "template": template("t")})
    there = f"/stacks/t/{other.json['stack']['id']}/snapshots/{saved['id']}"
    refused(service.send("GET", there), 404, "SnapshotNotFound")
    refused(service.send("POST", f"{there}/restore"), 404, "SnapshotNotFound")
    answer = service.send("GET", f"{path}/snapshots/{saved['id']}", project="q")
    refused(answer, 404, "EntityNotFound")


def test_the_quota(service: LocalService) -> None:
    options = ApiOptions(max_snapshots_per_stack=1)
    service.use(build_app(replace(service.services, options=options)))
    path = make(service, template("one"))
    saved = take(service, path)
    answer = service.send("POST", f"{path}/snapshots", {})
    assert "maximum snapshots per stack, 1" in refused(answer, 400, "RequestLimitExceeded")
    service.send("DELETE", f"{path}/snapshots/{saved['id']}")
    take(service, path)


class TestDeleting:
    """What resources saved goes with the snapshot."""

    @pytest.fixture
    def saved(self, service: LocalService) -> str:
        path = make(service, template("one", disk=disk(), other=disk(2)))
        return f"{path}/snapshots/{take(service, path)['id']}"

    def test_nothing_saved_is_gone_at_once(self, service: LocalService) -> None:
        path = make(service, template("one"))
        saved = take(service, path)
        answer = service.send("DELETE", f"{path}/snapshots/{saved['id']}")
        assert (answer.status_int, answer.text) == (204, "")
        assert show(service, f"{path}/snapshots") == []

    def test_what_was_saved_is_deleted(
        self, service: LocalService, disks: Disk, saved: str
    ) -> None:
        assert len(disks.images) == 2
        assert service.send("DELETE", saved).status_int == 204
        shown = show(service, saved)
        assert (shown["action"], shown["status"]) == ("DELETE", "IN_PROGRESS")
        sweep(service)
        assert disks.images == []
        assert service.send("GET", saved).status_int == 404

    def test_gone_already_is_no_error(
        self, service: LocalService, disks: Disk, saved: str
    ) -> None:
        disks.trouble = ResourceGone("no such image")
        service.send("DELETE", saved)
        sweep(service)
        assert service.send("GET", saved).status_int == 404

    @pytest.mark.parametrize(
        ("trouble", "told"),
        [
            (Throttled("slow down"), "Throttled: resources.disk: slow down"),
            (ResourceFailure("no"), "ResourceFailure: resources.disk: no"),
            (KeyError("x"), "ResourceFailure: resources.disk: KeyError: 'x'"),
        ],
    )
    def test_failures_are_tried_again_and_told(
        self, service: LocalService, disks: Disk, saved: str, trouble: Exception, told: str
    ) -> None:
        disks.trouble = trouble
        service.send("DELETE", saved)
        for _ in range(service.services.settings.retry_limit + 2):
            sweep(service)
        shown = show(service, saved)
        assert (shown["action"], shown["status"], shown["status_reason"]) == (
            "DELETE", "FAILED", told
        )
        assert len(disks.images) == 2
        disks.trouble = None
        service.send("DELETE", saved)  # once more, now that it can be done
        sweep(service)
        assert disks.images == []
        assert service.send("GET", saved).status_int == 404

    def test_with_the_stack_they_are_tried_until_they_succeed(
        self, service: LocalService, disks: Disk, saved: str
    ) -> None:
        """For nobody can ask again."""
        disks.trouble = ResourceFailure("no")
        service.send("DELETE", saved.split("/snapshots/")[0])
        for _ in range(service.services.settings.retry_limit + 2):
            sweep(service)
        assert len(disks.images) == 2
        disks.trouble = None
        sweep(service)
        assert disks.images == []

    def test_one_deleted_is_not_deleted_again(
        self, service: LocalService, disks: Disk, saved: str
    ) -> None:
        first, second = disks.images
        calls = []
        inner = disks.delete_snapshot

        def delete(view: View) -> None:
            calls.append(view.data["image"])
            if view.data["image"] == second and calls.count(second) == 1:
                raise Throttled("slow down")
            inner(view)

        disks.delete_snapshot = delete  # type: ignore[method-assign]
        service.send("DELETE", saved)
        sweep(service)
        sweep(service)
        assert calls == [first, second, second]
        assert disks.images == []

    def test_the_end_of_the_stack_is_theirs_too(
        self, service: LocalService, disks: Disk, saved: str
    ) -> None:
        service.send("DELETE", saved.partition("/snapshots")[0])
        sweep(service)
        assert disks.images == []


class TestDeletionPolicy:
    """Deletion policy Snapshot: saved first, then deleted."""

    @pytest.mark.parametrize("slow", [0, 3])
    def test_a_copy_outlives_the_stack(
        self, service: LocalService, disks: Disk, slow: int
    ) -> None:
        kept = {**disk(), "deletion_policy": "Snapshot"}
        path = make(service, template("a", kept=kept, plain_disk=disk()))
        disks.slow = slow
        service.send("DELETE", path)
        assert show(service, path)["stack_status"] == "DELETE_COMPLETE"
        assert len(disks.images) == 1
        assert disks.slow == 0

    def test_what_cannot_be_saved_is_not_deleted(
        self, service: LocalService, disks: Disk
    ) -> None:
        kept = {**disk(size=10), "deletion_policy": "Snapshot"}
        path = make(service, template("a", kept=kept))
        service.send("DELETE", path)
        shown = show(service, path)
        assert shown["stack_status"] == "DELETE_FAILED"
        assert "resources.kept: it is too large to be saved" in shown["stack_status_reason"]
        assert show(service, f"{path}/resources/kept")["physical_resource_id"]

    def test_a_type_that_cannot_is_refused(self, service: LocalService) -> None:
        plain = {"type": "OS::Heat::TestResource", "deletion_policy": "Snapshot"}
        body = {"stack_name": "s", "template": template("a", other=plain)}
        told = refused(service.send("POST", "/stacks", body), 400, "StackValidationFailed")
        assert '"Snapshot" deletion policy not supported' in told
