"""A resource type with physical resources, and requests about its stacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService

Json = Any


class FakeServer(ResourceType):
    """A server outside of the service, which records the calls."""

    name = "Test::Server"
    schema = TypeSchema(
        properties={
            "colour": PropertySchema(
                type=PropertyType.STRING, default="white", update_allowed=True
            )
        },
        attributes={"colour": AttributeSchema(PropertyType.STRING)},
    )
    secret_data = frozenset({"key"})

    def __init__(self) -> None:
        self.servers: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []

    def create(self, view: ResourceContext) -> VerbResult:
        server_id = f"server-{sum(verb == 'create' for verb, server_id in self.calls)}"
        self.calls.append(("create", server_id))
        self.servers[server_id] = view.properties["colour"]
        return replace(self._look(server_id), data={"key": f"key of {server_id}"})

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        self.calls.append(("update", str(view.physical_id)))
        self.servers[str(view.physical_id)] = after["colour"]
        return self._look(str(view.physical_id))

    def delete(self, view: ResourceContext) -> VerbResult:
        self.calls.append(("delete", str(view.physical_id)))
        self.servers.pop(str(view.physical_id), None)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.physical_id not in self.servers:
            raise ResourceGone("no such server")
        return self._look(str(view.physical_id))

    def check(self, view: ResourceContext) -> VerbResult:
        return self.observe(view)

    def suspend(self, view: ResourceContext) -> VerbResult:
        self.calls.append(("suspend", str(view.physical_id)))
        return self._look(str(view.physical_id))

    def resume(self, view: ResourceContext) -> VerbResult:
        self.calls.append(("resume", str(view.physical_id)))
        return self._look(str(view.physical_id))

    def snapshot(self, view: ResourceContext) -> VerbResult:
        self.calls.append(("snapshot", str(view.physical_id)))
        return self._look(str(view.physical_id))

    def _look(self, server_id: str) -> VerbResult:
        return VerbResult(ObservedState.READY, server_id, {"colour": self.servers[server_id]})


FAKE_SERVER_TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "parameters": {
        "colour": {"type": "string", "default": "blue"},
        "code": {"type": "string", "hidden": True, "default": "0"},
    },
    "resources": {
        "server": {
            "type": "Test::Server",
            "properties": {"colour": {"get_param": "colour"}},
            "metadata": {"rack": 2},
        },
        "number": {"type": "OS::Heat::RandomString"},
        "sign": {
            "type": "OS::Heat::Value",
            "properties": {"value": {"get_attr": ["server", "colour"]}},
        },
    },
    "outputs": {
        "number": {"value": {"get_attr": ["number", "value"]}},
        "sign": {"value": {"get_attr": ["sign", "value"]}},
    },
}


def create_stack(service: LocalService, **body: Json) -> str:
    request = {"stack_name": "s", "template": FAKE_SERVER_TEMPLATE, **body}
    answer = service.send("POST", "/stacks", request)
    assert answer.status_int == 201, answer.text
    return f"/stacks/{request['stack_name']}/{answer.json['stack']['id']}"


def adopt_stack(service: LocalService, document: Json, name: str = "s", **body: Json) -> str:
    answer = service.send(
        "POST",
        "/stacks",
        {"stack_name": name, "adopt_stack_data": json.dumps(document), **body},
    )
    assert answer.status_int == 201, answer.text
    return f"/stacks/{name}/{answer.json['stack']['id']}"


def get_body(service: LocalService, path: str) -> Json:
    answer = service.send("GET", path)
    assert answer.status_int == 200, answer.text
    return next(iter(answer.json.values()))


def get_outputs(service: LocalService, path: str) -> dict[str, Json]:
    return {
        each["output_key"]: each["output_value"] for each in get_body(service, path)["outputs"]
    }


def assert_refused(answer: Any, code: int, error_type: str) -> str:
    assert (answer.status_int, answer.json["error"]["type"]) == (code, error_type), answer.text
    return answer.json["error"]["message"]
