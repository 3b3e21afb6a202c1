"""A resource type with snapshots, and requests about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService

Json = Any


class SnapshotDisk(LocalType):
    """Saves itself as an image, which a restored one is made of."""

    name = "Test::Disk"
    schema = TypeSchema(
        properties={
            "size": PropertySchema(type=PropertyType.INTEGER, default=1, update_allowed=True),
            "image": PropertySchema(type=PropertyType.STRING),
        }
    )

    allows_snapshot_on_delete = True

    def __init__(self) -> None:
        self.images: list[str] = []
        self.busy_polls = 0  # tries for which a copy is still being made
        self.delete_error: Exception | None = None

    def snapshot(self, view: ResourceContext) -> VerbResult:
        if self.busy_polls:
            self.busy_polls -= 1
            return VerbResult(ObservedState.BUSY, data=view.data, poll_after_s=2.0)
        if view.properties["size"] > 9:
            raise ResourceFailure("it is too large to be saved")
        self.images.append(f"image of {view.physical_id} {len(self.images)}")
        return VerbResult(ObservedState.READY, data={"image": self.images[-1]})

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"image": data["image"]} if data else {}

    def delete_snapshot(self, view: ResourceContext) -> None:
        if self.delete_error is not None:
            raise self.delete_error
        self.images.remove(view.data["image"])


def stack_template(value: str, **more: Json) -> Json:
    return {
        "heat_template_version": "2016-10-14",
        "resources": {
            "plain": {"type": "OS::Heat::TestResource", "properties": {"value": value}},
            **more,
        },
    }


def disk_resource(size: int = 1) -> Json:
    return {"type": "Test::Disk", "properties": {"size": size}}


def create_stack(service: LocalService, body: Json) -> str:
    answer = service.send("POST", "/stacks", {"stack_name": "s", "template": body})
    return f"/stacks/s/{answer.json['stack']['id']}"


def take_snapshot(service: LocalService, path: str, name: str | None = None) -> Json:
    answer = service.send("POST", f"{path}/snapshots", {"name": name} if name else {})
    assert answer.status_int == 200, answer.text
    return get_body(service, f"{path}/snapshots/{answer.json['id']}")


def get_body(service: LocalService, path: str) -> Json:
    answer = service.send("GET", path)
    assert answer.status_int == 200, answer.text
    return next(iter(answer.json.values()))


def run_observer_pass(service: LocalService, after_s: float = 5.0) -> None:
    service.clock.advance(after_s)
    service.observer.tick()


def assert_refused(answer: Any, code: int, error_type: str) -> str:
    assert (answer.status_int, answer.json["error"]["type"]) == (code, error_type), answer.text
    return answer.json["error"]["message"]
