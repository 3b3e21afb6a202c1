"""``OS::Heat::Stack``: a stack of its own behind the Orchestration API, as another user of
that API would have it.

Decides which request an action is, and what the stack's state says of it.  The stack is
made under the resource's physical name, by which that of a lost call is found (RULE 4).
Source: heat-facts ``resource_groups.md``, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.clients.rest_client import CloudClient, CloudRequest, RequestLimiter
from heat_convergence.common.errors import ResourceFailure, ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.declarative import require_cloud
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)

Json = Any
_SERVICE = "orchestration"
_REQUESTS_AT_ONCE = 32
_TOLD = {  # actions of the resource → that the stack's own state names
    Action.ROLLBACK: Action.UPDATE,
    Action.RESTORE: Action.UPDATE,
}
_SINCE_12 = SupportStatus(version="12.0.0")


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


class RemoteStack(ResourceType):
    name = "OS::Heat::Stack"
    replace_when_check_failed: ClassVar[bool] = True
    schema = TypeSchema(
        description="A stack that is made through the Orchestration API.",
        properties={
            "context": PropertySchema(
                type=PropertyType.MAP,
                description="Where the stack is made, if not beside this one.",
                update_allowed=True,
                schema={
                    "region_name": _text("The region, which has to be this one's."),
                    "credential_secret_id": _text(
                        "The user of another cloud.",
                        update_allowed=True,
                        support_status=_SINCE_12,
                        implemented=False,
                    ),
                    "ca_cert": _text(
                        "Certificates of another cloud.",
                        update_allowed=True,
                        support_status=_SINCE_12,
                        implemented=False,
                    ),
                    "insecure": PropertySchema(
                        type=PropertyType.BOOLEAN,
                        description="Whether another cloud's certificates are not verified.",
                        default=False,
                        update_allowed=True,
                        support_status=_SINCE_12,
                    ),
                },
            ),
            "template": _text("The stack's template.", required=True, update_allowed=True),
            "timeout": PropertySchema(
                type=PropertyType.INTEGER,
                description="How many minutes an action of the stack may take.",
                update_allowed=True,
            ),
            "parameters": PropertySchema(
                type=PropertyType.MAP,
                description="Values of the template's parameters.",
                default={},
                update_allowed=True,
            ),
        },
        attributes={
            "stack_name": AttributeSchema(PropertyType.STRING, "The stack's name."),
            "outputs": AttributeSchema(PropertyType.MAP, "The stack's outputs, by their names."),
        },
    )

    def __init__(self) -> None:
        self._slots = RequestLimiter(_REQUESTS_AT_ONCE)

    def create(self, view: ResourceContext) -> VerbResult:
        self._check_region(view, view.properties)
        body = {"stack_name": view.physical_name, **_goal(view.properties)}
        made = self._send(view, "POST", "/stacks", body)
        return self._busy(view, str(made["stack"]["id"]))

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        self._check_region(view, after)
        self._send(view, "PUT", self._path(view), _goal(after))
        return self._busy(view, view.physical_id)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        return "context" in changed and _region(before) != _region(after)

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        self._send(view, "DELETE", self._path(view))
        return self._busy(view, view.physical_id)

    def suspend(self, view: ResourceContext) -> VerbResult:
        return self._act(view, "suspend", "SUSPEND")

    def resume(self, view: ResourceContext) -> VerbResult:
        return self._act(view, "resume", "RESUME")

    def check(self, view: ResourceContext) -> VerbResult:
        return self._act(view, "check")

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            stack = self._send(view, "GET", self._path(view))["stack"]
        except ResourceGone:
            return VerbResult(ObservedState.ABSENT, reason="the stack is gone")
        action, _, status = str(stack["stack_status"]).partition("_")
        if view.action is Action.DELETE and stack["stack_status"] == "DELETE_COMPLETE":
            return VerbResult(ObservedState.ABSENT)
        if view.action is not Action.ADOPT and action != _TOLD.get(view.action, view.action):
            return self._busy(view, view.physical_id)  # its action has not begun yet
        if status == "IN_PROGRESS":
            return self._busy(view, view.physical_id)
        if status == "FAILED":
            reason = str(stack.get("stack_status_reason") or stack["stack_status"])
            return VerbResult(ObservedState.FAILED, view.physical_id, reason=reason)
        outputs = {
            each["output_key"]: each.get("output_value") for each in stack.get("outputs") or ()
        }
        told = {"stack_name": stack["stack_name"], "outputs": outputs}
        return VerbResult(ObservedState.READY, view.physical_id, told)

    def find(self, view: ResourceContext) -> str | None:
        query = {"name": view.physical_name}
        found = self._cloud(view).send(CloudRequest(_SERVICE, "GET", "/stacks", query=query)).body
        stacks = (found or {}).get("stacks") or ()
        return str(stacks[0]["id"]) if stacks else None

    # -- below

    def _act(self, view: ResourceContext, action: str, done: str | None = None) -> VerbResult:
        """``done`` is the state in which it was asked for already, by a call whose
        answer was lost: the API would refuse it now."""
        path = self._path(view)
        state = "" if done is None else self._send(view, "GET", path)["stack"]["stack_status"]
        if state not in (f"{done}_IN_PROGRESS", f"{done}_COMPLETE"):
            self._send(view, "POST", f"{path}/actions", {action: None})
        return self._busy(view, view.physical_id)

    def _busy(self, view: ResourceContext, physical_id: str | None) -> VerbResult:
        wait_s = poll_interval.next_poll_s(view.started_at, view.now)
        return VerbResult(ObservedState.BUSY, physical_id, poll_after_s=wait_s)

    def _path(self, view: ResourceContext) -> str:
        return f"/stacks/{view.physical_name}/{view.physical_id}"

    def _send(self, view: ResourceContext, method: str, path: str, body: Json = None) -> Json:
        return self._cloud(view).send(CloudRequest(_SERVICE, method, path, body)).body

    def _cloud(self, view: ResourceContext) -> CloudClient:
        return require_cloud(view, self._slots)

    @staticmethod
    def _check_region(view: ResourceContext, properties: Mapping[str, Json]) -> None:
        wanted, own = _region(properties), getattr(view.cloud, "region", None)
        if wanted is not None and wanted != own:
            raise ResourceFailure(f"a stack in the region {wanted} can't be made from {own}")


def _region(properties: Mapping[str, Json]) -> str | None:
    found: str | None = (properties.get("context") or {}).get("region_name")
    return found


def _goal(properties: Mapping[str, Json]) -> dict[str, Json]:
    goal: dict[str, Json] = {
        "template": properties["template"],
        "parameters": properties.get("parameters") or {},
        "disable_rollback": True,
    }
    if properties.get("timeout") is not None:
        goal["timeout_mins"] = properties["timeout"]
    return goal
