"""A resource type that fails as a test wants it to, and requests for its stacks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService

Json = Any
Answer = Callable[[], Exception | VerbResult]
LIMIT = 5  # action_retry_limit


class ScriptedType(ResourceType):
    """Does what it is told, unless ``answers`` has something else for that call."""

    name = "Test::Scripted"
    schema = TypeSchema(
        properties={
            "size": PropertySchema(type=PropertyType.INTEGER, default=1, update_allowed=True),
            "slow": PropertySchema(type=PropertyType.BOOLEAN, default=False),
        }
    )

    def __init__(self) -> None:
        self.there: dict[str, str] = {}  # physical id → name
        self.calls: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.answers: dict[tuple[str, str], Answer] = {}
        self.times: dict[tuple[str, str], int] = {}
        self.made = 0

    def create(self, view: ResourceContext) -> VerbResult:
        return self._call("create", view) or self._make(view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return self._call("update", view) or VerbResult(ObservedState.READY)

    def delete(self, view: ResourceContext) -> VerbResult:
        look = self._call("delete", view)
        if look is None:
            self.there.pop(str(view.physical_id), None)
        return look or VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        look = self._call("observe", view)
        if look is not None:
            return look
        if view.action is Action.DELETE:
            return self.delete(view)
        passed_s = (view.now - view.started_at).total_seconds()
        up = not view.properties.get("slow") or passed_s > 30
        return VerbResult(ObservedState.READY if up else ObservedState.BUSY, poll_after_s=10.0)

    def suspend(self, view: ResourceContext) -> VerbResult | None:
        return self._call("suspend", view)

    def check(self, view: ResourceContext) -> VerbResult:
        return self._call("check", view) or VerbResult(ObservedState.READY)

    def fail(self, verb: str, name: str, answer: Answer, times: int = 10**6) -> None:
        self.answers[verb, name] = answer
        self.times[verb, name] = times

    def call_count(self, verb: str, name: str = "r") -> int:
        return len(self.calls[verb, name])

    def pauses_between_calls(self, verb: str, name: str = "r") -> list[float]:
        at = self.calls[verb, name]
        return [after - before for before, after in pairwise(at)]

    def _make(self, view: ResourceContext) -> VerbResult:
        self.made += 1
        physical_id = f"{view.name}-{self.made}"
        self.there[physical_id] = view.name
        slow = view.properties.get("slow")
        return VerbResult(
            ObservedState.BUSY if slow else ObservedState.READY, physical_id, poll_after_s=10.0
        )

    def _call(self, verb: str, view: ResourceContext) -> VerbResult | None:
        key = (verb, view.name)
        self.calls[key].append(view.now.timestamp())
        if self.times.get(key, 0) <= 0:
            return None
        self.times[key] -= 1
        answer = self.answers[key]()
        if isinstance(answer, VerbResult):
            return answer
        raise answer


def resource(*needs: str, **properties: Json) -> Json:
    return {"type": "Test::Scripted", "properties": properties, "depends_on": list(needs)}


def template(**resources: Json) -> Json:
    return {"heat_template_version": "2016-10-14", "resources": resources}


def make(service: LocalService, **body: Json) -> str:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **body})
    assert answer.status_int == 201, answer.text
    return f"/stacks/s/{answer.json['stack']['id']}"


def state(service: LocalService, path: str) -> tuple[str, str]:
    stack = service.send("GET", path).json["stack"]
    return stack["stack_status"], without_error_id(stack["stack_status_reason"])


def without_error_id(reason: str) -> str:
    """Return a reason without the id of an unexpected error, which depends on its place."""
    return re.sub(r" \(error id [0-9a-f]{12}\)", "", reason)


def row(service: LocalService, path: str, name: str = "r") -> Json:
    return service.send("GET", f"{path}/resources/{name}").json["resource"]
