"""What tests of snapshots share: a type that saves itself, and how to ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourceFailure
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
