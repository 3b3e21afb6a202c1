"""``OS::Mistral::Workflow`` and ``OS::Mistral::CronTrigger``.

Decides what a signal executes. An execution is started before the signal is recorded, because
nothing may be requested while the resource is locked.

Source: docs.openstack.org/mistral/latest/api.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import Invalid, PropertyUnspecifiedError, ResourceNotAvailable
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    require_created,
    signed_signal_url,
)
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.id_lookup import is_uuid
from heat_convergence.resources.driver.ownership_marks import ownership_mark
from heat_convergence.resources.openstack.mistral.definitions import (
    render_definition,
    validate_tasks,
)
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)

Json = Any
EXECUTIONS, EXECUTION_ID = "executions", "execution_id"
MAX_RECORDED_EXECUTIONS = 1000
MAX_SHOWN_EXECUTIONS = 20  # each is read by a request of its own
_TEXT_HEADERS = {"Content-Type": "text/plain", "Accept": "*/*"}  # its answer is no JSON by type
_SHOWN = ("id", "workflow_name", "created_at", "updated_at", "state")


class Workflow(DeclarativeType, SignalResponder):
    """A workflow, which signals execute."""

    replace_when_check_failed: ClassVar[bool] = False
    acts_on_signals: ClassVar[bool] = True

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the tasks."""
        validate_tasks(properties)

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return True: ``alarm_url`` is signed."""
        return True

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the workflow, and the user that may execute it by signals."""
        name = str(context.properties.get("name") or context.physical_name)
        self._send_definition(context, "POST", name, context.properties)
        return self._with_user(replace(context, physical_id=name))

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create the user again, because its password was lost with the response."""
        return self._with_user(context)

    def _with_user(self, context: ResourceContext) -> VerbResult:
        user = self._ensure_signal_user(context)
        result = self.observe(context)
        url = signed_signal_url(context, user, "signal", "POST")
        attributes = {**(result.attributes or {}), "alarm_url": url}
        return replace(result, attributes=attributes, data=user.to_data())

    def _send_definition(
        self, context: ResourceContext, method: str, name: str, properties: Mapping[str, Json]
    ) -> None:
        client = self.client(context)
        definition = render_definition(name, properties, ownership_mark(context))
        client.send(
            method, client.path(), definition, query={"scope": "private"}, headers=_TEXT_HEADERS
        )

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Replace the definition."""
        self._send_definition(context, "PUT", str(context.physical_id), after)
        return self.observe(replace(context, properties=after))

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the executions, the workflow and the user."""
        executions = self.client_for(context, "mistral.execution")
        for execution_id in context.data.get(EXECUTIONS) or ():
            executions.delete(execution_id)
        result = DeclarativeType.delete(self, context)
        SignalResponder.delete(self, context)
        return result

    def find(self, context: ResourceContext) -> str | None:
        """Return the name if the workflow has the mark of this resource."""
        name = str(context.properties.get("name") or context.physical_name)
        try:
            body = self.client(context).get(name)
        except ResourceGone:
            return None
        return name if ownership_mark(context) in (body.get("tags") or ()) else None

    def act_on_signal(self, context: ResourceContext, details: Json) -> Json:
        """Execute the workflow; return the id of the execution."""
        require_created(context)
        body = self._execution(context, details)
        execution = self.client_for(context, "mistral.execution").create(body)
        return {EXECUTION_ID: str(execution["id"])}

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        """Record the execution, newest first."""
        execution_id = (details or {}).get(EXECUTION_ID)
        if execution_id is None:  # it was suspended when the signal came
            raise ResourceNotAvailable(context.name)
        known = [execution_id, *(context.data.get(EXECUTIONS) or ())][:MAX_RECORDED_EXECUTIONS]
        data = {**context.data, EXECUTIONS: known}
        return SignalResult(reason=f"execution {execution_id} started", data=data)

    def _execution(self, context: ResourceContext, details: Json) -> dict[str, Json]:
        """Return the request for an execution with the input and the parameters of a signal.

        Raises:
            Invalid: The signal has an input that the workflow lacks, or one that is no map.
        """
        requested = details or {}
        properties = context.properties
        if properties.get("use_request_body_as_input"):
            requested = {"input": requested}
        values = {name: requested.get(name) or {} for name in ("input", "params")}
        for name, value in values.items():
            if not isinstance(value, Mapping):
                raise Invalid(f"Signal: {name} must be a map.")
        declared = properties.get("input") or {}
        unknown = sorted(values["input"].keys() - declared.keys())
        if unknown:
            raise Invalid(f"Unknown input {unknown[0]}")
        return {
            "workflow_name": context.physical_id,
            "description": "",
            **{
                name: json.dumps({**(properties.get(name) or {}), **values[name]}, sort_keys=True)
                for name in values
            },
        }

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes with the URL that the creation recorded."""
        kept = {k: v for k, v in context.attributes.items() if k in ("alarm_url", EXECUTIONS)}
        return {**kept, "show": dict(body)}

    def read_live_attributes(self, context: ResourceContext) -> Mapping[str, Json]:
        """Read the workflow and its newest executions."""
        client = self.client_for(context, "mistral.execution")
        found = []
        for execution_id in (context.data.get(EXECUTIONS) or ())[:MAX_SHOWN_EXECUTIONS]:
            try:
                found.append(_shown(client.get(execution_id)))
            except ResourceGone:
                continue
        return {**super().read_live_attributes(context), EXECUTIONS: found}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``data`` is what an execution is started with."""
        if name == "data":
            return {"name": context.physical_id, "input": context.properties.get("input")}
        return super().attribute(context, name)


_WORKFLOW_KEYS = ("workflow_id", "workflow_name")  # of a trigger, one of which is sent


class CronTrigger(DeclarativeType):
    """A trigger that executes a workflow at times; it disappears after the last one."""

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Check that there is a time.

        Raises:
            PropertyUnspecifiedError: There is none.
        """
        if not names & {"pattern", "first_time"}:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: pattern, first_time."
            )

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the workflow and its input."""
        workflow = context.properties["workflow"]
        key = "workflow_id" if is_uuid(str(workflow["name"])) else "workflow_name"
        arguments = {**super().create_arguments(context), key: workflow["name"]}
        if workflow.get("input"):
            arguments["workflow_input"] = json.dumps(workflow["input"], sort_keys=True)
        return arguments

    def find(self, context: ResourceContext) -> str | None:
        """Return the name of the trigger that a lost create made.

        Triggers have no field for a mark. Their names are unique in a project: one of the name
        that the template chooses is the resource's own if it executes the same workflow with the
        same input at the same times.
        """
        name = context.properties.get("name")
        if not name:
            return super().find(context)
        try:
            body = self.client(context).get(str(name))
        except ResourceGone:
            return None
        arguments = self.create_arguments(context)
        workflow_keys = [key for key in _WORKFLOW_KEYS if key in arguments]
        is_own = (
            (arguments.get("pattern") or None) == (body.get("pattern") or None)
            and all(arguments[key] == body.get(key) for key in workflow_keys)
            and _workflow_input(arguments) == _workflow_input(body)
        )
        return self.extract_id(body) if is_own else None

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Observe the trigger; a missing one has come to its end."""
        result = self.observe(context)
        if result.observed is ObservedState.ABSENT:
            return VerbResult(ObservedState.READY, context.physical_id)
        return result


def _workflow_input(trigger: Mapping[str, Json]) -> Json:
    """Return the input of a trigger's workflow, which is a text of JSON."""
    try:
        return json.loads(trigger.get("workflow_input") or "{}")
    except ValueError:
        return None


def _shown(body: Mapping[str, Json]) -> dict[str, Json]:
    maps = {name: json.loads(body.get(name) or "{}") for name in ("input", "output")}
    return {**{name: body.get(name) for name in _SHOWN}, **maps}
