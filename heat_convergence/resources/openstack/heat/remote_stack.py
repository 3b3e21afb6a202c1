"""``OS::Heat::Stack``: a stack of the Orchestration API, created as any user of it would.

Decides which request an action is, and what the stack's status means for the resource.  The stack
has the resource's physical name, by which one of a lost call is found (RULE 4).
Source: Heat's ``OS::Heat::Stack``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common.errors import Error, ResourceTypeUnavailable, StackValidationFailed
from heat_convergence.common.failures import ResourceGone, TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.declarative_steps import may_be_created_again
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.resources.openstack.heat.remote_clients import (
    CONTEXT,
    RemoteClients,
    is_other_cloud,
    location,
    region_of,
)
from heat_convergence.resources.openstack.heat.remote_snapshots import (
    SNAPSHOT_ID,
    SNAPSHOT_PLACE,
    STACK_NAME,
    RemoteSnapshots,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.stack_source import StackSource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
_SERVICE = "orchestration"
_STACK_ACTIONS = {  # action of the resource → action in the stack's status
    Action.ROLLBACK: Action.UPDATE,
    Action.RESTORE: Action.UPDATE,
}
_SINCE_12 = SupportStatus(version="12.0.0")


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


class RemoteStack(ResourceType):
    """A stack behind the Orchestration API."""

    name = "OS::Heat::Stack"
    replace_when_check_failed: ClassVar[bool] = True
    stack_source_property: ClassVar[str | None] = "template"
    schema = TypeSchema(
        description="A stack that is created through the Orchestration API.",
        properties={
            "context": PropertySchema(
                type=PropertyType.MAP,
                description="Where the stack is created, unless in this region.",
                update_allowed=True,
                schema={
                    "region_name": _text("The region in which the stack is created."),
                    "credential_secret_id": _text(
                        "The credentials for another cloud.",
                        update_allowed=True,
                        support_status=_SINCE_12,
                    ),
                    "ca_cert": _text(
                        "The CA certificate of another cloud.",
                        update_allowed=True,
                        support_status=_SINCE_12,
                    ),
                    "insecure": PropertySchema(
                        type=PropertyType.BOOLEAN,
                        description="Whether to skip verifying another cloud's certificate.",
                        default=False,
                        update_allowed=True,
                        support_status=_SINCE_12,
                    ),
                },
            ),
            "template": _text("The stack's template.", required=True, update_allowed=True),
            "timeout": PropertySchema(
                type=PropertyType.INTEGER,
                description="The timeout of the stack's actions, in minutes.",
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
            "outputs": AttributeSchema(PropertyType.MAP, "The stack's outputs by name."),
        },
    )

    def __init__(self) -> None:
        self._clients = RemoteClients()

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the stack."""
        request = _stack_request(context.properties, context.stack_source)
        body = {"stack_name": context.physical_name, **request}
        response = self._send(context, "POST", "/stacks", body)
        return self._busy(context, str(response["stack"]["id"]))

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Update the stack with the new template and parameters."""
        request = _stack_request(after, context.stack_source)
        self._send(replace(context, properties=after), "PUT", self._path(context), request)
        return self._busy(context, context.physical_id)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether the region changes."""
        return "context" in changed and region_of(before) != region_of(after)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the stack."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        self._send(context, "DELETE", self._path(context))
        return self._busy(context, context.physical_id)

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Suspend the stack."""
        return self._start_action(context, "suspend", "SUSPEND")

    def resume(self, context: ResourceContext) -> VerbResult:
        """Resume the stack."""
        return self._start_action(context, "resume", "RESUME")

    def check(self, context: ResourceContext) -> VerbResult:
        """Check the stack."""
        return self._start_action(context, "check")

    def snapshot(self, context: ResourceContext) -> VerbResult:
        """Take a snapshot of the stack."""
        place = {CONTEXT: dict(location(context.properties)), STACK_NAME: context.physical_name}
        located = replace(context, data={**context.data, SNAPSHOT_PLACE: place})
        return self._snapshots(context).take(located)

    def delete_snapshot(self, context: ResourceContext) -> None:
        """Delete the snapshot of the stack, where that was when it was taken."""
        place = context.data.get(SNAPSHOT_PLACE) or {}
        if context.physical_id is not None:
            properties = {CONTEXT: place.get(CONTEXT) or {}}
            name = str(place.get(STACK_NAME) or context.physical_name)
            located = replace(context, properties=properties, physical_name=name)
            self._snapshots(located).delete(located)

    def _snapshots(self, context: ResourceContext) -> RemoteSnapshots:
        return RemoteSnapshots(partial(self._send, context), self._path(context))

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the stack's status, or that of the snapshot that is being taken."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        if context.action is Action.SNAPSHOT and SNAPSHOT_ID in context.data:
            return self._snapshots(context).observe(context)
        try:
            stack = self._send(context, "GET", self._path(context))["stack"]
        except ResourceGone:
            return VerbResult(ObservedState.ABSENT, reason="the stack no longer exists")
        action, _, status = str(stack["stack_status"]).partition("_")
        if context.action is Action.DELETE and stack["stack_status"] == "DELETE_COMPLETE":
            return VerbResult(ObservedState.ABSENT)
        if context.action is not Action.ADOPT and action != _STACK_ACTIONS.get(
            context.action, context.action
        ):
            return self._busy(context, context.physical_id)  # its action has not started yet
        if status == "IN_PROGRESS":
            return self._busy(context, context.physical_id)
        if status == "FAILED":
            reason = str(stack.get("stack_status_reason") or stack["stack_status"])
            failed = ObservedState.FAILED
            return VerbResult(
                failed,
                context.physical_id,
                reason=reason,
                retry_with_new_incarnation=may_be_created_again(context, failed),
            )
        outputs = {
            output["output_key"]: output.get("output_value")
            for output in stack.get("outputs") or ()
        }
        attributes = {"stack_name": stack["stack_name"], "outputs": outputs}
        return VerbResult(ObservedState.READY, context.physical_id, attributes)

    def find(self, context: ResourceContext) -> str | None:
        """Return the id of the stack with the physical name."""
        query = {"name": context.physical_name}
        try:
            response = self._cloud(context).send(
                CloudRequest(_SERVICE, "GET", "/stacks", query=query)
            )
        except ResourceTypeUnavailable:
            return None  # no request to create one can have reached this region
        stacks = (response.body or {}).get("stacks") or ()
        return str(stacks[0]["id"]) if stacks else None

    def _start_action(
        self, context: ResourceContext, action: str, status_prefix: str | None = None
    ) -> VerbResult:
        """Start an action of the stack.

        Args:
            context: The resource.
            action: The action's name in the API.
            status_prefix: The status of a stack whose action was started by a call
                whose response was lost: the API would refuse to start it again.
        """
        path = self._path(context)
        status = (
            ""
            if status_prefix is None
            else self._send(context, "GET", path)["stack"]["stack_status"]
        )
        if status not in (f"{status_prefix}_IN_PROGRESS", f"{status_prefix}_COMPLETE"):
            self._send(context, "POST", f"{path}/actions", {action: None})
        return self._busy(context, context.physical_id)

    def _busy(self, context: ResourceContext, physical_id: str | None) -> VerbResult:
        wait_s = poll_interval.next_poll_s(context.started_at, context.now)
        return VerbResult(ObservedState.BUSY, physical_id, poll_after_s=wait_s)

    def _path(self, context: ResourceContext) -> str:
        return f"/stacks/{context.physical_name}/{context.physical_id}"

    def _send(self, context: ResourceContext, method: str, path: str, body: Json = None) -> Json:
        return self._cloud(context).send(CloudRequest(_SERVICE, method, path, body)).body

    def _cloud(self, context: ResourceContext) -> CloudClient:
        return self._clients.client_of(context)

    def validate_remotely(self, properties: Mapping[str, Json], source: StackSource) -> None:
        """Let the service of the region validate the template, if its text is known.

        Raises:
            StackValidationFailed: The region has no such service, or it refuses the template.
        """
        cloud = current_cloud()
        if cloud is None or is_other_cloud(properties):
            return  # the credential of another cloud is read for the stack alone
        region = region_of(properties)
        client = _in_region(cloud, region)
        place = f'Heat endpoint at region "{region}"' if region else "Heat endpoint"
        try:
            client.endpoint_url(_SERVICE)
        except ResourceTypeUnavailable as error:
            raise StackValidationFailed(
                f'Cannot establish connection to {place} due to "{error}"'
            ) from error
        if "template" not in properties:
            return
        request = _validation_request(properties, source)
        try:
            client.send(CloudRequest(_SERVICE, "POST", "/validate", request))
        except TemporaryFailure:
            return  # the create is tried again, the validation of a request is not
        except Error as error:
            text = f"ERROR: {error.summary or error}"
            raise StackValidationFailed(
                f'Failed validating stack template using {place} due to "{text}"'
            ) from error


def _in_region(client: CloudClient, region: str | None) -> CloudClient:
    return client if region is None else client.in_region(region)


def _validation_request(properties: Mapping[str, Json], source: StackSource) -> dict[str, Json]:
    parameters = properties.get("parameters") or {}
    return {
        "template": properties["template"],
        "files": dict(source.files),
        "environment": {**source.environment, "parameters": parameters},
    }


def _stack_request(properties: Mapping[str, Json], source: StackSource) -> dict[str, Json]:
    request: dict[str, Json] = {
        **_validation_request(properties, source),
        "parameters": properties.get("parameters") or {},
        "disable_rollback": True,
    }
    if properties.get("timeout") is not None:
        request["timeout_mins"] = properties["timeout"]
    return request
