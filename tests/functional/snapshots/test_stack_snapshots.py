"""Snapshots through the API: taking, going back, deleting what resources saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.common.failures import ResourceFailure, ResourceGone, Throttled
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry
from tests.functional.harness import LocalService
from tests.functional.scripted_type import without_error_id
from tests.functional.snapshots.snapshot_disk import (
    SnapshotDisk,
    assert_refused,
    create_stack,
    disk_resource,
    get_body,
    run_observer_pass,
    stack_template,
    take_snapshot,
)

Json = Any


def test_a_snapshot_is_a_traversal_of_its_own(service: LocalService) -> None:
    path = create_stack(service, stack_template("one", disk=disk_resource()))
    began = service.send("POST", f"{path}/snapshots", {"name": "n"}, leave_pending=True).json
    assert (began["name"], began["action"], began["status"]) == ("n", "CREATE", "IN_PROGRESS")
    assert (began["data"], began["creation_time"][-1]) == (None, "Z")
    stack = service.send("GET", path, leave_pending=True).json["stack"]
    assert stack["stack_status"] == "SNAPSHOT_IN_PROGRESS"
    service.run_until_idle()
    saved = get_body(service, f"{path}/snapshots/{began['id']}")
    assert (saved["status"], saved["status_reason"]) == (
        "COMPLETE",
        "Stack SNAPSHOT completed successfully",
    )
    entry = saved["data"]["resources"]["disk"]
    assert (entry["type"], entry["action"], entry["status"]) == (
        "Test::Disk",
        "SNAPSHOT",
        "COMPLETE",
    )
    assert entry["resource_data"]["image"].startswith("image of s-disk-")
    assert saved["data"]["template"] == stack_template("one", disk=disk_resource())
    assert get_body(service, path)["stack_status"] == "SNAPSHOT_COMPLETE"
    for name in ("disk", "plain"):
        assert (
            get_body(service, f"{path}/resources/{name}")["resource_status"] == "SNAPSHOT_COMPLETE"
        )
    assert get_body(service, f"{path}/snapshots") == [saved]


def test_a_stack_without_resources_is_saved_at_once(service: LocalService) -> None:
    path = create_stack(service, {"heat_template_version": "2016-10-14"})
    answer = service.send("POST", f"{path}/snapshots", {}, leave_pending=True)
    assert (answer.json["status"], answer.json["data"]["resources"]) == ("COMPLETE", {})


def test_restore_goes_back_to_template_and_values(service: LocalService) -> None:
    path = create_stack(service, stack_template("one", extra={"type": "OS::Heat::None"}))
    before = get_body(service, f"{path}/resources/extra")["physical_resource_id"]
    saved = take_snapshot(service, path)
    service.send("PUT", path, {"template": stack_template("two")})
    assert service.send("GET", f"{path}/resources/extra").status_int == 404
    began = service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert (began.status_int, began.content_type) == (202, "text/plain")
    stack = get_body(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "RESTORE_COMPLETE",
        "Stack RESTORE completed successfully",
    )
    plain = get_body(service, f"{path}/resources/plain")
    assert (plain["resource_status"], plain["attributes"]["output"]) == ("UPDATE_COMPLETE", "one")
    extra = get_body(service, f"{path}/resources/extra")
    assert extra["resource_status"] == "CREATE_COMPLETE"
    assert extra["physical_resource_id"] != before
    shown = service.send("GET", f"{path}/template").json
    assert shown == stack_template("one", extra={"type": "OS::Heat::None"})


def test_what_types_saved_goes_into_the_restored_template(
    service: LocalService, disks: SnapshotDisk
) -> None:
    path = create_stack(service, stack_template("one", disk=disk_resource()))
    before = get_body(service, f"{path}/resources/disk")["physical_resource_id"]
    saved = take_snapshot(service, path)
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert get_body(service, path)["stack_status"] == "RESTORE_COMPLETE"
    assert get_body(service, f"{path}/resources/disk")["physical_resource_id"] != before
    shown = service.send("GET", f"{path}/template").json
    assert shown["resources"]["disk"]["properties"] == {"size": 1, "image": disks.images[0]}
    service.send("PATCH", path)  # it stays at what was restored
    after = get_body(service, f"{path}/resources/disk")["physical_resource_id"]
    service.send("PATCH", path)
    assert get_body(service, f"{path}/resources/disk")["physical_resource_id"] == after


def test_a_failed_snapshot_has_the_reason(service: LocalService) -> None:
    path = create_stack(service, stack_template("one", disk=disk_resource(10)))
    saved = take_snapshot(service, path)
    cause = "ResourceFailure: resources.disk: it is too large to be saved"
    reason = f"Resource SNAPSHOT failed: {cause}"
    assert (saved["status"], saved["status_reason"]) == ("FAILED", reason)
    stack = get_body(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == ("SNAPSHOT_FAILED", reason)
    message = assert_refused(
        service.send("POST", f"{path}/snapshots/{saved['id']}/restore"), 400, "NotSupported"
    )
    assert "CREATE_FAILED" in message
    # The failed resource is as it was: an update has nothing to repair.
    disk_id = get_body(service, f"{path}/resources/disk")["physical_resource_id"]
    service.send("PATCH", path)
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert get_body(service, f"{path}/resources/disk")["physical_resource_id"] == disk_id


def test_states_in_which_it_is_refused(service: LocalService) -> None:
    path = create_stack(service, stack_template("one"))
    saved = take_snapshot(service, path)
    service.send("PUT", path, {"template": stack_template("two")}, leave_pending=True)
    answer = service.send("POST", f"{path}/snapshots", {}, leave_pending=True)
    assert "already has an action (UPDATE) in progress" in assert_refused(
        answer, 409, "ActionInProgress"
    )
    service.run_until_idle()
    other = service.send("POST", f"{path}/snapshots", {}, leave_pending=True).json["id"]
    answer = service.send("DELETE", f"{path}/snapshots/{other}", leave_pending=True)
    assert "while it is being taken" in assert_refused(answer, 400, "NotSupported")
    answer = service.send("POST", f"{path}/snapshots/{other}/restore", leave_pending=True)
    assert "CREATE_IN_PROGRESS" in assert_refused(answer, 400, "NotSupported")
    service.run_until_idle()
    service.send("POST", f"{path}/actions", {"suspend": None})
    answer = service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert "suspended" in assert_refused(answer, 400, "NotSupported")


def test_an_update_supersedes_a_snapshot_under_way(service: LocalService) -> None:
    path = create_stack(service, stack_template("one"))
    saved = service.send("POST", f"{path}/snapshots", {}, leave_pending=True).json["id"]
    service.send("PUT", path, {"template": stack_template("two")})
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    shown = get_body(service, f"{path}/snapshots/{saved}")
    assert (shown["status"], shown["status_reason"]) == (
        "FAILED",
        "Snapshot was superseded by UPDATE",
    )
    assert service.send("DELETE", f"{path}/snapshots/{saved}").status_int == 204


@pytest.mark.parametrize(
    ("method", "suffix", "body", "code", "error_type"),
    [
        ("POST", "/snapshots", None, 400, "HTTPBadRequest"),
        ("POST", "/snapshots", {"name": [1]}, 400, "HTTPBadRequest"),
        ("POST", "/snapshots", {"name": "n" * 256}, 400, "HTTPBadRequest"),
        ("GET", "/snapshots/none", None, 404, "SnapshotNotFound"),
        ("DELETE", "/snapshots/none", None, 404, "SnapshotNotFound"),
        ("POST", "/snapshots/none/restore", None, 404, "SnapshotNotFound"),
    ],
)
def test_bad_requests(
    service: LocalService, method: str, suffix: str, body: Json, code: int, error_type: str
) -> None:
    path = create_stack(service, stack_template("one"))
    assert_refused(service.send(method, path + suffix, body), code, error_type)
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"


def test_a_snapshot_is_of_one_stack_and_project(service: LocalService) -> None:
    path = create_stack(service, stack_template("one"))
    saved = take_snapshot(service, path)
    other = service.send("POST", "/stacks", {"stack_name": "t", "template": stack_template("t")})
    there = f"/stacks/t/{other.json['stack']['id']}/snapshots/{saved['id']}"
    assert_refused(service.send("GET", there), 404, "SnapshotNotFound")
    assert_refused(service.send("POST", f"{there}/restore"), 404, "SnapshotNotFound")
    answer = service.send("GET", f"{path}/snapshots/{saved['id']}", project="q")
    assert_refused(answer, 404, "EntityNotFound")


def test_the_quota(service: LocalService) -> None:
    options = ApiOptions(max_snapshots_per_stack=1)
    service.use_application(build_app(replace(service.services, options=options)))
    path = create_stack(service, stack_template("one"))
    saved = take_snapshot(service, path)
    answer = service.send("POST", f"{path}/snapshots", {})
    assert "maximum snapshots per stack, 1" in assert_refused(answer, 400, "RequestLimitExceeded")
    service.send("DELETE", f"{path}/snapshots/{saved['id']}")
    take_snapshot(service, path)


class TestDeleting:
    """The deletion of a snapshot deletes the data of its resources."""

    @pytest.fixture
    def saved(self, service: LocalService) -> str:
        path = create_stack(
            service, stack_template("one", disk=disk_resource(), other=disk_resource(2))
        )
        return f"{path}/snapshots/{take_snapshot(service, path)['id']}"

    def test_a_snapshot_without_data_is_deleted_at_once(self, service: LocalService) -> None:
        path = create_stack(service, stack_template("one"))
        saved = take_snapshot(service, path)
        answer = service.send("DELETE", f"{path}/snapshots/{saved['id']}")
        assert (answer.status_int, answer.text) == (204, "")
        assert get_body(service, f"{path}/snapshots") == []

    def test_the_saved_data_is_deleted(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        assert len(disks.images) == 2
        assert service.send("DELETE", saved).status_int == 204
        shown = get_body(service, saved)
        assert (shown["action"], shown["status"]) == ("DELETE", "IN_PROGRESS")
        run_observer_pass(service)
        assert disks.images == []
        assert service.send("GET", saved).status_int == 404

    def test_missing_data_is_no_error(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        disks.delete_error = ResourceGone("no such image")
        service.send("DELETE", saved)
        run_observer_pass(service)
        assert service.send("GET", saved).status_int == 404

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (Throttled("slow down"), "Throttled: resources.disk: slow down"),
            (ResourceFailure("no"), "ResourceFailure: resources.disk: no"),
            (KeyError("x"), "ResourceFailure: resources.disk: KeyError: 'x'"),
        ],
    )
    def test_failures_are_retried_and_reported(
        self, service: LocalService, disks: SnapshotDisk, saved: str, error: Exception, reason: str
    ) -> None:
        disks.delete_error = error
        service.send("DELETE", saved)
        for _ in range(service.services.settings.retry_limit + 2):
            run_observer_pass(service)
        shown = get_body(service, saved)
        assert (shown["action"], shown["status"], without_error_id(shown["status_reason"])) == (
            "DELETE",
            "FAILED",
            reason,
        )
        assert len(disks.images) == 2
        disks.delete_error = None
        service.send("DELETE", saved)  # again, now that the deletion succeeds
        run_observer_pass(service)
        assert disks.images == []
        assert service.send("GET", saved).status_int == 404

    def test_failures_after_the_stack_s_deletion_are_retried_without_limit(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        """No user can repeat the deletion."""
        disks.delete_error = ResourceFailure("no")
        service.send("DELETE", saved.split("/snapshots/")[0])
        for _ in range(service.services.settings.retry_limit + 2):
            run_observer_pass(service)
        assert len(disks.images) == 2
        disks.delete_error = None
        run_observer_pass(service)
        assert disks.images == []

    def test_one_deleted_is_not_deleted_again(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        first, second = disks.images
        calls = []
        inner = disks.delete_snapshot

        def delete(view: ResourceContext) -> None:
            calls.append(view.data["image"])
            if view.data["image"] == second and calls.count(second) == 1:
                raise Throttled("slow down")
            inner(view)

        disks.delete_snapshot = delete  # type: ignore[method-assign]
        service.send("DELETE", saved)
        run_observer_pass(service)
        run_observer_pass(service)
        assert calls == [first, second, second]
        assert disks.images == []

    def test_the_end_of_the_stack_is_theirs_too(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        service.send("DELETE", saved.partition("/snapshots")[0])
        run_observer_pass(service)
        assert disks.images == []

    def test_data_of_a_missing_type_waits_for_a_worker_with_the_type(
        self, service: LocalService, disks: SnapshotDisk, saved: str
    ) -> None:
        """The copy would be an orphan if the snapshot were deleted without it."""
        all_types = service.registry
        use_types(service, ResourceTypeRegistry.load())
        assert service.send("DELETE", saved).status_int == 204
        for _ in range(service.services.settings.retry_limit + 2):
            run_observer_pass(service)
        shown = get_body(service, saved)
        assert (shown["action"], shown["status"]) == ("DELETE", "FAILED")
        assert shown["status_reason"] == (
            "EntityNotFound: resources.disk: The Resource Type (Test::Disk) could not be found."
        )
        assert len(disks.images) == 2
        use_types(service, all_types)
        assert service.send("DELETE", saved).status_int == 204
        run_observer_pass(service)
        assert disks.images == []
        assert service.send("GET", saved).status_int == 404

    def test_data_of_other_types_is_deleted_before(
        self, tmp_path: Any, disks: SnapshotDisk
    ) -> None:
        class OtherDisk(SnapshotDisk):
            name = "Test::OtherDisk"

        others = OtherDisk()
        service = LocalService(f"sqlite:///{tmp_path}/two.sqlite", types=(disks, others))
        other = {"type": "Test::OtherDisk"}
        path = create_stack(service, stack_template("one", disk=disk_resource(), other=other))
        saved = f"{path}/snapshots/{take_snapshot(service, path)['id']}"
        use_types(service, ResourceTypeRegistry((*ResourceTypeRegistry.load(), disks)))
        service.send("DELETE", saved)
        run_observer_pass(service)
        run_observer_pass(service)
        assert (disks.images, len(others.images)) == ([], 1)
        assert "Test::OtherDisk" in get_body(service, saved)["status_reason"]
        service.close()


def use_types(service: LocalService, registry: ResourceTypeRegistry) -> None:
    """Restart the service with other resource types."""
    service.registry = registry
    service.services = replace(service.services, registry=registry)
    service.use_settings()


class TestDeletionPolicy:
    """Deletion policy Snapshot: saved first, then deleted."""

    @pytest.mark.parametrize("slow", [0, 3])
    def test_a_copy_outlives_the_stack(
        self, service: LocalService, disks: SnapshotDisk, slow: int
    ) -> None:
        kept = {**disk_resource(), "deletion_policy": "Snapshot"}
        path = create_stack(service, stack_template("a", kept=kept, plain_disk=disk_resource()))
        disks.busy_polls = slow
        service.send("DELETE", path)
        assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
        assert len(disks.images) == 1
        assert disks.busy_polls == 0

    def test_what_cannot_be_saved_is_not_deleted(
        self, service: LocalService, disks: SnapshotDisk
    ) -> None:
        kept = {**disk_resource(size=10), "deletion_policy": "Snapshot"}
        path = create_stack(service, stack_template("a", kept=kept))
        service.send("DELETE", path)
        shown = get_body(service, path)
        assert shown["stack_status"] == "DELETE_FAILED"
        assert "resources.kept: it is too large to be saved" in shown["stack_status_reason"]
        assert get_body(service, f"{path}/resources/kept")["physical_resource_id"]

    def test_a_type_that_cannot_is_refused(self, service: LocalService) -> None:
        plain = {"type": "OS::Heat::TestResource", "deletion_policy": "Snapshot"}
        body = {"stack_name": "s", "template": stack_template("a", other=plain)}
        message = assert_refused(
            service.send("POST", "/stacks", body), 400, "StackValidationFailed"
        )
        assert '"Snapshot" deletion policy not supported' in message
