"""Software deployments: a configuration on a server, complete when the server signals.

Decides what is deployed in which action, and the result of a server's signal. It must not wait: a
signal triggers an observation. A derived configuration has an id that follows from the resource,
its action and the action's start, so that a repeated call deploys nothing twice (RULE 4), and a
signal is attributed to it.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import InvalidTemplateAttribute
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    SignalUser,
    require_created,
    verified_signal_user,
)
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.builtin.software import deployment_transports as transports
from heat_convergence.resources.builtin.software.agent_channels import (
    publish_deployments,
    withdraw_deployment,
)
from heat_convergence.resources.builtin.software.deployment_schemas import (
    CFN_SIGNAL,
    DEPLOYMENT_ACTIONS,
    DEPLOYMENT_ATTRIBUTES,
    DEPLOYMENT_PROPERTIES,
    NO_SIGNAL,
    text_property,
)
from heat_convergence.resources.builtin.software.server_existence import server_is_missing
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.protocol.schema import (
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import require_config_store
from heat_convergence.resources.protocol.verb_values import (
    NeedsReplacement,
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
_CONFIG_ACTIONS = (Action.CREATE, Action.UPDATE)  # record the outputs even if unlisted
_SIGNAL, KNOWN_OUTPUTS = "signal", "$known"
_POLL_AFTER_S = 60.0  # a request to the API may complete a deployment as well


class SoftwareDeployment(SignalResponder):
    """A deployment of one configuration on one server."""

    name = "OS::Heat::SoftwareDeployment"
    no_signal_actions: ClassVar[frozenset[Action]] = frozenset()
    server_property: ClassVar[str | None] = "server"
    schema = TypeSchema(
        description="A resource which deploys a configuration and waits for the server's signal.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties=DEPLOYMENT_PROPERTIES,
        attributes=DEPLOYMENT_ATTRIBUTES,
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the user who signals, and deploy."""
        signal_user = self._ensure_signal_user(context)
        result = self._deploy(context, context.properties, signal_user)
        return VerbResult(
            result.observed,
            context.resource_id,
            attributes=result.attributes,
            data=signal_user.to_data(),
            reason=result.reason,
            poll_after_s=result.poll_after_s,
        )

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Deploy the new properties.

        Raises:
            NeedsReplacement: An input changes that requires a new deployment.
        """
        config = self._config(context, context.properties.get("config"))
        values = [each.get("input_values") or {} for each in (context.properties, after)]
        if deployment_inputs.inputs_require_replacement(config, *values):
            raise NeedsReplacement
        return self._deploy(context, after, verified_signal_user(context))

    def delete(self, context: ResourceContext) -> VerbResult:
        """Deploy for DELETE where that is listed, then delete the deployment."""
        if context.physical_id is not None and context.data:
            signal_user = verified_signal_user(context)
            result = self._deploy(context, context.properties, signal_user)
            if result.observed in (ObservedState.BUSY, ObservedState.FAILED):
                return result
        return self._undeploy(context)

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Deploy for SUSPEND where that is listed."""
        return self._deploy(context, context.properties, verified_signal_user(context))

    def resume(self, context: ResourceContext) -> VerbResult:
        """Deploy for RESUME where that is listed."""
        return self._deploy(context, context.properties, verified_signal_user(context))

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return the deployment's state, deleting it after a completed DELETE."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        result = self._observe_deployment(context, context.properties)
        if context.action is Action.DELETE and result.observed is ObservedState.READY:
            return self._undeploy(context)
        return result

    def find(self, context: ResourceContext) -> str | None:
        """Find the deployment or the user that a lost create made."""
        found = require_config_store(context).find_deployment(
            context.project_id, context.resource_id
        )
        user = super().find(context)
        return context.resource_id if found is not None or user is not None else None

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        """Keep the outputs of the action's deployment; later signals are ignored."""
        require_created(context)
        outputs = dict(details) if isinstance(details, Mapping) else {}
        config_id = _derived_id(context)
        before = context.data.get(_SIGNAL)
        if before is not None and before["of"] == config_id:
            return SignalResult(reason=f"deployment {context.physical_id} has ended already")
        code = outputs.get(deployment_inputs.STATUS_CODE)
        outcome = "succeeded" if code is None or str(code) == "0" else f"failed ({code})"
        data = {**context.data, _SIGNAL: {"of": config_id, "outputs": outputs}}
        return SignalResult(reason=f"deployment {context.physical_id} {outcome}", data=data)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an output's value.

        Raises:
            InvalidTemplateAttribute: The configuration has no such output.
        """
        known = context.attributes.get(KNOWN_OUTPUTS)
        if known is not None and name not in (*known, *DEPLOYMENT_ATTRIBUTES, "show"):
            raise InvalidTemplateAttribute(
                f"The Referenced Attribute ({context.name} {name}) is incorrect."
            )
        return context.attributes.get(name)

    def attribute_names(self, context: ResourceContext) -> Iterable[str]:
        """Return the names of all outputs."""
        return sorted({*DEPLOYMENT_ATTRIBUTES, *(context.attributes.get(KNOWN_OUTPUTS) or ())})

    def build_content(self, content: Json, properties: Mapping[str, Json], values: Json) -> Json:
        """Return the configuration's content for the server."""
        return content

    def needs_user(self, context: ResourceContext) -> bool:
        """Return whether the transport has a user."""
        return context.properties["signal_transport"] not in transports.WITHOUT_USER

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return whether the transport has a signed URL."""
        return bool(context.properties["signal_transport"] == CFN_SIGNAL)

    def user_password(self, context: ResourceContext) -> str | None:
        """Return the password that a lost create has deployed to the server, if there is one."""
        store = require_config_store(context)
        found = store.find_deployment(context.project_id, _deployment_id(context))
        config = self._config(context, None if found is None else found.config_id)
        return transports.deployed_password(config)

    def _deploy(
        self, context: ResourceContext, properties: Mapping[str, Json], signal_user: SignalUser
    ) -> VerbResult:
        """Deploy for the context's action; READY at once if the action is not listed."""
        action = _deployed_action(context.action)
        listed = action in properties["actions"]
        if not listed and context.action not in _CONFIG_ACTIONS:
            return VerbResult(ObservedState.READY, context.physical_id)
        config = self._config(context, properties.get("config"))
        found = deployment_inputs.select_config(config, action) if listed else None
        if found is None:
            return VerbResult(
                ObservedState.READY, context.physical_id, attributes=_attributes(context, config)
            )
        tool, content = found
        values = properties.get("input_values") or {}
        input_values = {
            each["name"]: each["value"]
            for each in deployment_inputs.build_inputs(config, values, {})
        }
        body = {
            "config": self.build_content(content, properties, input_values),
            "inputs": deployment_inputs.build_inputs(
                config,
                values,
                {
                    "deploy_server_id": properties["server"],
                    "deploy_action": action,
                    "deploy_stack_id": f"{context.stack_name}/{context.stack_id}",
                    "deploy_resource_name": context.name,
                    **transports.signal_inputs(
                        context, properties["signal_transport"], signal_user, _derived_id(context)
                    ),
                },
            ),
            "outputs": [] if config is None else config.body.get("outputs") or [],
            "options": {} if config is None else config.body.get("options") or {},
        }
        name = properties.get("name") or context.physical_name
        new = SoftwareConfigRow(
            _derived_id(context), context.project_id, name, tool, body, context.now
        )
        unsignalled = properties["signal_transport"] == NO_SIGNAL
        store = require_config_store(context)
        before = store.find_deployment(context.project_id, _deployment_id(context))
        if before is not None and before.config_id != new.id:
            transports.delete_replaced_signals(
                context, properties["signal_transport"], before.config_id
            )
        store.store_deployment(
            SoftwareDeploymentRow(
                id=_deployment_id(context),
                project_id=context.project_id,
                server_id=properties["server"],
                config_id=new.id,
                action=action,
                status="COMPLETE" if unsignalled else "IN_PROGRESS",
                status_reason="Not waiting for outputs signal"
                if unsignalled
                else "Deploy data available",
                created_at=context.now,
                stack_user_project_id=signal_user.project_id,
                input_values=dict(values),
            ),
            new,
        )
        publish_deployments(context, properties["server"])
        result = self._observe_deployment(context, properties)
        return result if result.attributes else _with(result, _attributes(context, config))

    def _observe_deployment(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> VerbResult:
        config_id, store = _derived_id(context), require_config_store(context)
        deployment = store.find_deployment(context.project_id, _deployment_id(context))
        if deployment is None or deployment.config_id != config_id:
            return VerbResult(ObservedState.READY, context.physical_id)  # nothing was deployed
        transport, outputs = properties["signal_transport"], None
        if deployment.status == "IN_PROGRESS":
            signal = context.data.get(_SIGNAL) or {}
            outputs = signal["outputs"] if signal.get("of") == config_id else None
            if outputs is None:
                outputs = transports.read_outputs(context, transport, config_id)
        if outputs is not None:
            config = store.find_config(context.project_id, config_id)
            failures = deployment_inputs.failure_reasons(config, outputs)
            status = "FAILED" if failures else "COMPLETE"
            reason = ", ".join(failures) or "Outputs received"
            deployment = store.complete_deployment(
                deployment, status, reason, outputs, context.now
            )
        if deployment.status == "IN_PROGRESS":
            if context.action is Action.DELETE and server_is_missing(
                context, properties["server"]
            ):
                return VerbResult(ObservedState.READY, context.physical_id)
            poll_s = poll_interval.next_poll_s(context.started_at, context.now)
            wait_s = poll_s if transport in transports.POLLED else _POLL_AFTER_S
            return VerbResult(ObservedState.BUSY, context.physical_id, poll_after_s=wait_s)
        config = store.find_config(context.project_id, config_id)
        attributes = {**_attributes(context, config), **(deployment.output_values or {})}
        if deployment.status == "FAILED":
            reason = f"Deployment to server failed: {deployment.status_reason}"
            return VerbResult(
                ObservedState.FAILED,
                context.physical_id,
                attributes,
                reason=reason,
                error_name="Error",
            )
        return VerbResult(ObservedState.READY, context.physical_id, attributes)

    def _undeploy(self, context: ResourceContext) -> VerbResult:
        store, deployment_id = require_config_store(context), _deployment_id(context)
        found = store.find_deployment(context.project_id, deployment_id)
        transport = context.properties.get("signal_transport")
        transports.delete_signals(context, transport, None if found is None else found.config_id)
        store.delete_deployment(context.project_id, deployment_id)
        withdraw_deployment(context, context.properties.get("server"))
        return super().delete(context)

    @staticmethod
    def _config(context: ResourceContext, config_id: str | None) -> SoftwareConfigRow | None:
        if not config_id:
            return None
        found = require_config_store(context).find_config(context.project_id, config_id)
        if found is None:
            raise ResourceFailure(f"there is no software config {config_id}")
        return found


class StructuredDeployment(SoftwareDeployment):
    """A deployment of a map in which inputs are substituted."""

    name = "OS::Heat::StructuredDeployment"
    schema = TypeSchema(
        description="A resource which deploys a map, with the values of its inputs, to a server.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties={
            **DEPLOYMENT_PROPERTIES,
            "input_key": text_property(
                "Name of the key that refers to an input in the map.", default="get_input"
            ),
            "input_values_validate": text_property(
                "Whether an input without a value is an error (STRICT) or null (LAX).",
                default="LAX",
                constraints=(AllowedValues(("LAX", "STRICT")),),
            ),
        },
        attributes=DEPLOYMENT_ATTRIBUTES,
    )

    def build_content(self, content: Json, properties: Mapping[str, Json], values: Json) -> Json:
        """Substitute the inputs."""
        return deployment_inputs.substitute_inputs(
            content,
            values,
            properties["input_key"],
            strict=properties["input_values_validate"] == "STRICT",
        )


def _deployment_id(context: ResourceContext) -> str:
    """Return the id of the deployment: that of the resource, unless it was imported."""
    return context.physical_id or context.resource_id


def _derived_id(context: ResourceContext) -> str:
    """Return the id of the derived configuration of the context's action.

    Attempts of one action have the same id.
    """
    began = f"{_deployed_action(context.action)} {context.started_at.timestamp():.3f}"
    return str(uuid.uuid5(uuid.UUID(context.resource_id), began))


def _deployed_action(action: Action) -> str:
    """Return the action as servers know it: rollbacks and restores are updates."""
    return str(action) if str(action) in DEPLOYMENT_ACTIONS else str(Action.UPDATE)


def _attributes(context: ResourceContext, config: SoftwareConfigRow | None) -> dict[str, Json]:
    """Return the recorded attributes with the names of the configuration's outputs."""
    outputs = [] if config is None else config.body.get("outputs") or ()
    return {**context.attributes, KNOWN_OUTPUTS: [each["name"] for each in outputs]}


def _with(result: VerbResult, attributes: Mapping[str, Json]) -> VerbResult:
    return VerbResult(result.observed, result.physical_id, attributes, reason=result.reason,
                poll_after_s=result.poll_after_s)  # fmt: skip
