"""``OS::Mistral::ExternalResource``: an object that workflows create, change and delete.

Decides which workflow an action executes. An execution has an id that follows from the action, so
that a repeated request starts nothing twice (RULE 4).

Source: docs.openstack.org/mistral/latest/api.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
OUTPUTS, EXECUTION_ID, RESOURCE_ID = "outputs", "execution_id", "resource_id"
ENVIRONMENT_KEY = "heat_extresource_data"
BUSY_STATES = frozenset({"IDLE", "RUNNING", "PAUSED"})
MAX_ID_LENGTH = 255
_NAMESPACE = uuid.UUID("5f6d7c1e-7a52-4c0b-9d7e-0c1f3b8a2d46")  # must not change


class ExternalResource(DeclarativeType):
    """An object that only workflows know."""

    @property
    def is_watched(self) -> bool:
        """False: no list shows it."""
        return False

    def create(self, context: ResourceContext) -> VerbResult:
        """Execute the workflow of CREATE."""
        return self._execute(context, Action.CREATE, context.properties)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Execute the workflow of UPDATE with the new input."""
        return self._execute(context, Action.UPDATE, after)

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Execute the workflow of SUSPEND."""
        return self._execute(context, Action.SUSPEND, context.properties)

    def resume(self, context: ResourceContext) -> VerbResult:
        """Execute the workflow of RESUME."""
        return self._execute(context, Action.RESUME, context.properties)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Execute the workflow of DELETE; executions remain."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return self._execute(context, Action.DELETE, context.properties)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether an input changes that the template names for this."""
        old, new = before.get("input") or {}, after.get("input") or {}
        names = after.get("replace_on_change_inputs") or ()
        return any(old.get(name) != new.get(name) for name in names)

    def repeated_properties(self, properties: Mapping[str, Json]) -> frozenset[str]:
        """Return the input for a resource that every update executes the workflow of."""
        return frozenset({"input"} if properties.get("always_update") else ())

    def find(self, context: ResourceContext) -> str | None:
        """Return the id of the execution that a lost create started."""
        execution_id = _execution_id(context, Action.CREATE)
        try:
            self.client(context).get(execution_id)
        except ResourceGone:
            return None
        return execution_id

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Start the execution again, which exists already, and observe it."""
        return self.create(context)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the execution that is recorded until it ends."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        execution_id = context.data.get(EXECUTION_ID)
        if execution_id is None:
            return self._ended(context)
        try:
            body = self.client(context).get(execution_id)
        except ResourceGone:
            return VerbResult(
                ObservedState.FAILED, context.physical_id, reason="the execution has been deleted"
            )
        return self._result(context, body)

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe each; a list of executions has no output."""
        return {
            key: result
            for context in contexts
            for key, result in self._observed([context]).items()
        }

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Return None: only a workflow could tell."""
        return None

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``output`` is what all executions have returned."""
        if name == "output":
            return context.data.get(OUTPUTS) or {}
        return super().attribute(context, name)

    def _execute(
        self, context: ResourceContext, action: Action, properties: Mapping[str, Json]
    ) -> VerbResult:
        declared = (properties.get("actions") or {}).get(str(action))
        if not declared:
            return self._ended(context, action)
        params = dict(declared.get("params") or {})
        if context.physical_id is not None:
            outputs = context.data.get(OUTPUTS) or {}
            params["env"] = {**params.get("env", {}), ENVIRONMENT_KEY: outputs}
        execution_id = _execution_id(context, action)
        body = self.client(context).create(
            {
                "id": execution_id,
                "workflow_name": declared["workflow"],
                "description": properties.get("description"),
                "input": json.dumps(properties.get("input") or {}, sort_keys=True),
                "params": json.dumps(params, sort_keys=True),
            }
        )
        return self._result(context, {**body, "id": execution_id})

    def _ended(self, context: ResourceContext, action: Action | None = None) -> VerbResult:
        """Return the end of an action without a workflow."""
        if (action or context.action) is Action.DELETE:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, context.physical_id or context.physical_name)

    def _result(self, context: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        state, execution_id = str(body.get("state")), str(body["id"])
        data = {**context.data, EXECUTION_ID: execution_id}
        physical_id = context.physical_id or execution_id
        if state in BUSY_STATES:
            return VerbResult(ObservedState.BUSY, physical_id, data=data)
        del data[EXECUTION_ID]
        if state != "SUCCESS":
            reason = f"execution {execution_id} is {state}: {body.get('state_info') or 'Unknown'}"
            return VerbResult(ObservedState.FAILED, physical_id, data=data, reason=reason)
        if context.action is Action.DELETE:
            return VerbResult(ObservedState.ABSENT)
        outputs = json.loads(body.get("output") or "{}")
        data[OUTPUTS] = {**(data.get(OUTPUTS) or {}), **outputs}
        physical_id = str(outputs.get(RESOURCE_ID) or physical_id)[:MAX_ID_LENGTH]
        return VerbResult(ObservedState.READY, physical_id, data=data)


def _execution_id(context: ResourceContext, action: Action) -> str:
    """Return the id of the execution of an action: the same at each attempt."""
    text = f"{context.resource_id} {action} {context.started_at.isoformat()}"
    return str(uuid.uuid5(_NAMESPACE, text))
