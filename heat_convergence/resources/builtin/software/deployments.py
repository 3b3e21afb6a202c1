"""Software deployments: a configuration on a server, done when the server says so.

Decides what is deployed in which action, and what a server's signal comes to.  Nothing
waits for it: a signal has the deployment looked at.  What is deployed has an id that
follows from the resource, its action and when that began, so that a repeated call
deploys nothing twice (RULE 4), and a signal is known to be of it.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import (
    InvalidTemplateAttribute,
    ResourceFailure,
    StackValidationFailed,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    SignalUser,
    native_signal_url,
    require_created,
    signed_signal_url,
)
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.builtin.software.server_existence import server_is_gone
from heat_convergence.resources.protocol.resource_type import (
    NeedsReplacement,
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import require_config_store
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
CFN_SIGNAL, HEAT_SIGNAL, NO_SIGNAL = "CFN_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL"
_ELSEWHERE = ("TEMP_URL_SIGNAL", "ZAQAR_SIGNAL")
_ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")
_NAMING = (Action.CREATE, Action.UPDATE)  # after which other outputs may be read
_SIGNAL, _KNOWN = "signal", "$known"
_LOOK_AGAIN_S = 60.0  # a deployment may be ended by a request to the API, too


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


DEPLOYMENT_PROPERTIES = {
    "config": _text("The id of the configuration.", update_allowed=True),
    "server": _text("The id of the server.", required=True),
    "input_values": PropertySchema(
        type=PropertyType.MAP,
        description="Values of the configuration's inputs, by their names.",
        update_allowed=True,
    ),
    "actions": PropertySchema(
        type=PropertyType.LIST,
        description="The actions in which it is deployed.",
        default=["CREATE", "UPDATE"],
        update_allowed=True,
        constraints=(AllowedValues(_ACTIONS),),
    ),
    "name": _text("What the server is told as its name.", update_allowed=True),
    "signal_transport": _text(
        "How the server says that it is done.",
        default=CFN_SIGNAL,
        constraints=(
            AllowedValues((CFN_SIGNAL, "TEMP_URL_SIGNAL", HEAT_SIGNAL, NO_SIGNAL, "ZAQAR_SIGNAL")),
        ),
    ),
}
DEPLOYMENT_ATTRIBUTES = {
    deployment_inputs.STDOUT: AttributeSchema(PropertyType.STRING, "What it wrote."),
    deployment_inputs.STDERR: AttributeSchema(PropertyType.STRING, "What it wrote of errors."),
    deployment_inputs.STATUS_CODE: AttributeSchema(
        PropertyType.STRING, "The status that it ended with."
    ),
}


class SoftwareDeployment(SignalResponder):
    name = "OS::Heat::SoftwareDeployment"
    no_signal_actions: ClassVar[frozenset[Action]] = frozenset()
    server_property: ClassVar[str | None] = "server"
    schema = TypeSchema(
        description="Puts a configuration on a server, and waits until the server is done.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties=DEPLOYMENT_PROPERTIES,
        attributes=DEPLOYMENT_ATTRIBUTES,
    )

    # -- verbs

    def create(self, context: ResourceContext) -> VerbResult:
        guest = self._guest(context)
        result = self._deploy(context, context.properties, guest)
        return VerbResult(
            result.observed,
            context.resource_id,
            attributes=result.attributes,
            data=guest.to_data(),
            reason=result.reason,
            poll_after_s=result.poll_after_s,
        )

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        config = self._config(context, context.properties.get("config"))
        values = [each.get("input_values") or {} for each in (context.properties, after)]
        if deployment_inputs.inputs_require_replacement(config, *values):
            raise NeedsReplacement
        return self._deploy(context, after, SignalUser.from_data(context.data, context.project_id))

    def delete(self, context: ResourceContext) -> VerbResult:
        if context.physical_id is not None and context.data:
            guest = SignalUser.from_data(context.data, context.project_id)
            result = self._deploy(context, context.properties, guest)
            if result.observed is ObservedState.BUSY:
                return result
            if result.observed is ObservedState.FAILED:
                return result
        return self._undeploy(context)

    def suspend(self, context: ResourceContext) -> VerbResult:
        return self._deploy(
            context, context.properties, SignalUser.from_data(context.data, context.project_id)
        )

    def resume(self, context: ResourceContext) -> VerbResult:
        return self._deploy(
            context, context.properties, SignalUser.from_data(context.data, context.project_id)
        )

    def observe(self, context: ResourceContext) -> VerbResult:
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        result = self._look(context, context.properties)
        if context.action is Action.DELETE and result.observed is ObservedState.READY:
            return self._undeploy(context)
        return result

    def find(self, context: ResourceContext) -> str | None:
        found = require_config_store(context).find_deployment(
            context.project_id, context.resource_id
        )
        user = super().find(context)
        return context.resource_id if found is not None or user is not None else None

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        require_created(context)
        outputs = dict(details) if isinstance(details, Mapping) else {}
        this = _derived_id(context)
        before = context.data.get(_SIGNAL)
        if before is not None and before["of"] == this:
            return SignalResult(reason=f"deployment {context.physical_id} has ended already")
        code = outputs.get(deployment_inputs.STATUS_CODE)
        told = "succeeded" if code is None or str(code) == "0" else f"failed ({code})"
        data = {**context.data, _SIGNAL: {"of": this, "outputs": outputs}}
        return SignalResult(reason=f"deployment {context.physical_id} {told}", data=data)

    # -- what clients see

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Raises ``InvalidTemplateAttribute`` for what is no output."""
        known = context.attributes.get(_KNOWN)
        if known is not None and name not in (*known, *DEPLOYMENT_ATTRIBUTES, "show"):
            raise InvalidTemplateAttribute(
                f"The Referenced Attribute ({context.name} {name}) is incorrect."
            )
        return context.attributes.get(name)

    def attribute_names(self, context: ResourceContext) -> Iterable[str]:
        return sorted({*DEPLOYMENT_ATTRIBUTES, *(context.attributes.get(_KNOWN) or ())})

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if properties.get("signal_transport") in _ELSEWHERE:
            raise StackValidationFailed(
                f"{properties['signal_transport']} is not supported: one of"
                f" {CFN_SIGNAL}, {HEAT_SIGNAL}, {NO_SIGNAL} is",
                path="signal_transport",
            )

    # -- what is deployed

    def build_content(self, content: Json, properties: Mapping[str, Json], values: Json) -> Json:
        """What of the configuration the server is given."""
        return content

    def needs_user(self, context: ResourceContext) -> bool:
        return bool(context.properties["signal_transport"] != NO_SIGNAL)

    def needs_signed_url(self, context: ResourceContext) -> bool:
        return bool(context.properties["signal_transport"] == CFN_SIGNAL)

    def _deploy(
        self, context: ResourceContext, properties: Mapping[str, Json], guest: SignalUser
    ) -> VerbResult:
        """READY at once where the action is none of its own."""
        action = _told(context.action)
        listed = action in properties["actions"]
        if not listed and context.action not in _NAMING:
            return VerbResult(ObservedState.READY, context.physical_id)
        config = self._config(context, properties.get("config"))
        found = deployment_inputs.select_config(config, action) if listed else None
        if found is None:
            return VerbResult(
                ObservedState.READY, context.physical_id, attributes=_attributes(context, config)
            )
        tool, content = found
        values = properties.get("input_values") or {}
        given = {
            each["name"]: each["value"]
            for each in deployment_inputs.build_inputs(config, values, {})
        }
        body = {
            "config": self.build_content(content, properties, given),
            "inputs": deployment_inputs.build_inputs(
                config, values, self._further(context, properties, guest)
            ),
            "outputs": [] if config is None else config.body.get("outputs") or [],
            "options": {} if config is None else config.body.get("options") or {},
        }
        name = properties.get("name") or context.physical_name
        new = SoftwareConfigRow(
            _derived_id(context), context.project_id, name, tool, body, context.now
        )
        at_once = properties["signal_transport"] == NO_SIGNAL
        require_config_store(context).store_deployment(
            SoftwareDeploymentRow(
                id=context.resource_id,
                project_id=context.project_id,
                server_id=properties["server"],
                config_id=new.id,
                action=action,
                status="COMPLETE" if at_once else "IN_PROGRESS",
                status_reason="Not waiting for outputs signal"
                if at_once
                else "Deploy data available",
                created_at=context.now,
                stack_user_project_id=guest.project_id,
                input_values=dict(values),
            ),
            new,
        )
        result = self._look(context, properties)
        return result if result.attributes else _with(result, _attributes(context, config))

    def _look(self, context: ResourceContext, properties: Mapping[str, Json]) -> VerbResult:
        this, store = _derived_id(context), require_config_store(context)
        there = store.find_deployment(context.project_id, context.resource_id)
        if there is None or there.config_id != this:
            return VerbResult(ObservedState.READY, context.physical_id)  # nothing was deployed
        signal = context.data.get(_SIGNAL) or {}
        if there.status == "IN_PROGRESS" and signal.get("of") == this:
            config = store.find_config(context.project_id, this)
            failures = deployment_inputs.failure_reasons(config, signal["outputs"])
            status = "FAILED" if failures else "COMPLETE"
            reason = ", ".join(failures) or "Outputs received"
            there = store.complete_deployment(there, status, reason, signal["outputs"])
        if there.status == "IN_PROGRESS":
            if context.action is Action.DELETE and server_is_gone(context, properties["server"]):
                return VerbResult(ObservedState.READY, context.physical_id)
            return VerbResult(ObservedState.BUSY, context.physical_id, poll_after_s=_LOOK_AGAIN_S)
        config = store.find_config(context.project_id, this)
        attributes = {**_attributes(context, config), **(there.output_values or {})}
        if there.status == "FAILED":
            reason = f"Deployment to server failed: {there.status_reason}"
            return VerbResult(ObservedState.FAILED, context.physical_id, attributes, reason=reason)
        return VerbResult(ObservedState.READY, context.physical_id, attributes)

    def _undeploy(self, context: ResourceContext) -> VerbResult:
        require_config_store(context).delete_deployment(context.project_id, context.resource_id)
        return super().delete(context)

    @staticmethod
    def _config(context: ResourceContext, config_id: str | None) -> SoftwareConfigRow | None:
        if not config_id:
            return None
        found = require_config_store(context).find_config(context.project_id, config_id)
        if found is None:
            raise ResourceFailure(f"there is no software config {config_id}")
        return found

    def _further(
        self, context: ResourceContext, properties: Mapping[str, Json], guest: SignalUser
    ) -> dict[str, Json]:
        transport = properties["signal_transport"]
        found = {
            "deploy_server_id": properties["server"],
            "deploy_action": _told(context.action),
            "deploy_stack_id": f"{context.stack_name}/{context.stack_id}",
            "deploy_resource_name": context.name,
            "deploy_signal_transport": transport,
        }
        if transport == CFN_SIGNAL:
            url = signed_signal_url(context, guest, "signal", "POST")
            found["deploy_signal_id"] = url or native_signal_url(context, guest)
            found["deploy_signal_verb"] = "POST"
        elif transport == HEAT_SIGNAL and guest.user is not None:
            found |= {
                "deploy_auth_url": context.cloud.server_auth_url,
                "deploy_username": context.physical_name,
                "deploy_user_id": guest.user.id,
                "deploy_password": guest.user.password,
                "deploy_project_id": guest.project_id,
                "deploy_region_name": context.cloud.region,
            }
        return found


class StructuredDeployment(SoftwareDeployment):
    name = "OS::Heat::StructuredDeployment"
    schema = TypeSchema(
        description="Puts a map with its inputs' values on a server, and waits for the server.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties={
            **DEPLOYMENT_PROPERTIES,
            "input_key": _text(
                "The name that stands for an input in the map.", default="get_input"
            ),
            "input_values_validate": _text(
                "Whether every input that is read must have a value.",
                default="LAX",
                constraints=(AllowedValues(("LAX", "STRICT")),),
            ),
        },
        attributes=DEPLOYMENT_ATTRIBUTES,
    )

    def build_content(self, content: Json, properties: Mapping[str, Json], values: Json) -> Json:
        return deployment_inputs.substitute_inputs(
            content,
            values,
            properties["input_key"],
            strict=properties["input_values_validate"] == "STRICT",
        )


def _derived_id(context: ResourceContext) -> str:
    """Of what is deployed in the view's action, which tries again begin anew."""
    began = f"{_told(context.action)} {context.started_at.timestamp():.3f}"
    return str(uuid.uuid5(uuid.UUID(context.resource_id), began))


def _told(action: Action) -> str:
    """A rollback updates, a restored snapshot too."""
    return str(action) if str(action) in _ACTIONS else str(Action.UPDATE)


def _attributes(context: ResourceContext, config: SoftwareConfigRow | None) -> dict[str, Json]:
    """What was, with the names that may be read now."""
    outputs = [] if config is None else config.body.get("outputs") or ()
    return {**context.attributes, _KNOWN: [each["name"] for each in outputs]}


def _with(result: VerbResult, attributes: Mapping[str, Json]) -> VerbResult:
    return VerbResult(result.observed, result.physical_id, attributes, reason=result.reason,
                poll_after_s=result.poll_after_s)  # fmt: skip
