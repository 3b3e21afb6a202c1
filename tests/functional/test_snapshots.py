"""Snapshots through the API: taking, going back, deleting what resources saved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.common.errors import ResourceFailure, ResourceGone, Throttled
from heat_convergence.convergence.model import Observed
from heat_convergence.resources.builtin.local import LocalType
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.schema import PropertySchema, PropertyType, TypeSchema
from tests.functional.harness import LocalService

Json = Any


class Disk(LocalType):
    """Saves itself as an image, which a restored one is made of."""

    name = "Test::Disk"
    schema = TypeSchema(
        properties={
            "size": PropertySchema(type=PropertyType.INTEGER, default=1, update_allowed=True),
            "image": PropertySchema(type=PropertyType.STRING),
        }
    )

    snapshots_on_delete = True

    def __init__(self) -> None:
        self.images: list[str] = []
        self.slow = 0  # tries for which a copy is still being made
        self.trouble: Exception | None = None

    def snapshot(self, view: View) -> Look:
        if self.slow:
            self.slow -= 1
            return Look(Observed.BUSY, data=view.data, again_s=2.0)
        if view.properties["size"] > 9:
            raise ResourceFailure("it is too large to be saved")
        self.images.append(f"image of {view.physical_id} {len(self.images)}")
        return Look(Observed.READY, data={"image": self.images[-1]})

    def restored(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"image": data["image"]} if data else {}

    def delete_snapshot(self, view: View) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.images.remove(view.data["image"])


def template(value: str, **more: Json) -> Json:
    return {
        "heat_template_version": "2016-10-14",
        "resources": {
            "plain": {"type": "OS::Heat::TestResource", "properties": {"value": value}}, **more
        },
    }


def disk(size: int = 1) -> Json:
    return {"type": "Test::Disk", "properties": {"size": size}}


@pytest.fixture
def disks() -> Disk:
    return Disk()


@pytest.fixture
def service(tmp_path: Any, disks: Disk) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(disks,))
    yield service
    service.close()


def make(service: LocalService, body: Json) -> str:
    answer = service.send("POST", "/stacks", {"stack_name": "s", "template": body})
    return f"/stacks/s/{answer.json['stack']['id']}"


def take(service: LocalService, path: str, name: str | None = None) -> Json:
    answer = service.send("POST", f"{path}/snapshots", {"name": name} if name else {})
    assert answer.status_int == 200, answer.text
    return show(service, f"{path}/snapshots/{answer.json['id']}")


def show(service: LocalService, path: str) -> Json:
    answer = service.send("GET", path)
    assert answer.status_int == 200, answer.text
    return next(iter(answer.json.values()))


def sweep(service: LocalService, after_s: float = 5.0) -> None:
    service.clock.jump(after_s)
    service.observer.tick()


def refused(answer: Any, code: int, kind: str) -> str:
    assert (answer.status_int, answer.json["error"]["type"]) == (code, kind), answer.text
    return answer.json["error"]["message"]


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


CHILD = "file:///t/child.yaml"


def tree(size: int, *, members: int = 2) -> Json:
    """A disk below a nest, and one below each member of a group."""
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


def disks_below(service: LocalService, path: str) -> dict[str, Json]:
    """Path of the stack → the disk's properties there."""
    listed = service.send("GET", f"{path}/resources?nested_depth=5", hold=True).json["resources"]
    found = {}
    for each in listed:
        if each["resource_name"] == "disk":
            where = each["links"][1]["href"].split("/v1/p", 1)[1]
            answer = service.send("GET", f"{where}/template", hold=True).json
            found[each["parent_resource"]] = answer["resources"]["disk"]["properties"]
    return found


def test_the_stacks_below_are_saved_and_brought_back(
    service: LocalService, disks: Disk
) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take(service, path)
    assert (saved["status"], len(disks.images)) == ("COMPLETE", 3)
    below = saved["data"]["resources"]["n"]
    assert below["status"] == "COMPLETE"
    image = below["resources"]["disk"]["resource_data"]["image"]
    assert image in disks.images
    assert service.send("PUT", path, tree(2, members=1)).status_int == 202
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    assert show(service, path)["stack_status"] == "RESTORE_COMPLETE"
    given = disks_below(service, path)
    assert given["n"] == {"size": {"get_param": "size"}, "image": image}
    assert sorted(each["image"] for each in given.values()) == sorted(disks.images)
    assert set(given) == {"n", "0", "1"}


def test_what_stacks_below_saved_goes_with_the_snapshot(
    service: LocalService, disks: Disk
) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take(service, path)
    service.send("PUT", path, {"template": template("one")})
    assert len(disks.images) == 3  # the stacks have gone, what they saved has not
    disks.trouble = ResourceFailure("it is in use")
    where = f"{path}/snapshots/{saved['id']}"
    assert service.send("DELETE", where).status_int == 204
    sweep(service)
    reason = show(service, where)["status_reason"]
    assert reason.startswith("ResourceFailure: resources.g.resources.0.resources.disk: ")
    disks.trouble = None
    sweep(service, 60.0)
    assert (service.send("GET", where).status_int, disks.images) == (404, [])


def test_a_failure_below_fails_the_snapshot(service: LocalService, disks: Disk) -> None:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(10)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take(service, path)
    assert saved["status"] == "FAILED"
    told = show(service, path)["stack_status_reason"]
    assert ".resources.disk: it is too large to be saved" in told


def test_an_update_keeps_what_was_brought_back_below(
    service: LocalService, disks: Disk
) -> None:
    """``existing`` keeps it, and so does the way back from a failure."""
    answer = service.send("POST", "/stacks", {"stack_name": "s", **tree(1)})
    path = f"/stacks/s/{answer.json['stack']['id']}"
    saved = take(service, path)
    service.send("PUT", path, tree(2))
    service.send("POST", f"{path}/snapshots/{saved['id']}/restore")
    before = disks_below(service, path)
    assert service.send("PATCH", path, {"tags": "t"}).status_int == 202
    assert disks_below(service, path) == before
    bad = tree(3)
    bad["template"]["resources"]["bad"] = {
        "type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "n",
    }  # fmt: skip
    service.send("PUT", path, {**bad, "disable_rollback": False})
    assert show(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert disks_below(service, path) == before
