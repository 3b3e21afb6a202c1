"""Signals by which servers report a finished deployment, by ``signal_transport``.

Decides the inputs that tell the server where to signal, and reads the signals of those transports
that nobody forwards to this service. Each deployed configuration has an object or a queue of its
own, so that no signal to an earlier one is taken for it. Called by deployments.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heat_convergence.common.errors import AuthorizationFailure, Forbidden
from heat_convergence.common.failures import ResourceGone
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.resources.builtin.signals.signal_objects import SignalObjects
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalUser,
    native_signal_url,
    signed_signal_url,
    verified_signal_user,
)
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.builtin.software.deployment_schemas import (
    CFN_SIGNAL,
    HEAT_SIGNAL,
    NO_SIGNAL,
    TEMP_URL_SIGNAL,
    ZAQAR_SIGNAL,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.transports.message_queues import MessageQueue, client_of_user

Json = Any
WITHOUT_USER = (NO_SIGNAL, TEMP_URL_SIGNAL)
POLLED = (TEMP_URL_SIGNAL, ZAQAR_SIGNAL)
_PASSWORD = "deploy_password"  # nosec B105  # pragma: allowlist secret
_NO_OBJECT = {
    deployment_inputs.STATUS_CODE: 1,
    deployment_inputs.STDERR: "The signal is no JSON object.",
}


def signal_inputs(
    context: ResourceContext, transport: str, signal_user: SignalUser, config_id: str
) -> dict[str, Json]:
    """Return the inputs by which the server signals; create what it signals to.

    Args:
        context: The deployment.
        transport: The value of ``signal_transport``.
        signal_user: The user who signals.
        config_id: The id of the deployed configuration.
    """
    found: dict[str, Json] = {"deploy_signal_transport": transport}
    if transport == CFN_SIGNAL:
        url = signed_signal_url(context, signal_user, "signal", "POST")
        found["deploy_signal_id"] = url or native_signal_url(context, signal_user.project_id)
        found["deploy_signal_verb"] = "POST"
    elif transport == TEMP_URL_SIGNAL:
        objects = _objects(context, config_id)
        objects.create_container(versioned=False)
        found["deploy_signal_id"] = objects.signed_url()
        found["deploy_signal_verb"] = "PUT"
    elif transport in (HEAT_SIGNAL, ZAQAR_SIGNAL) and signal_user.user is not None:
        found |= {
            "deploy_auth_url": context.cloud.server_auth_url,
            "deploy_username": context.physical_name,
            "deploy_user_id": signal_user.user.id,
            _PASSWORD: signal_user.user.password,
            "deploy_project_id": signal_user.project_id,
            "deploy_region_name": context.cloud.region,
        }
        if transport == ZAQAR_SIGNAL:
            found["deploy_queue_id"] = config_id
    return found


def deployed_password(config: SoftwareConfigRow | None) -> str | None:
    """Return the password among the inputs of a deployed configuration."""
    inputs = () if config is None else config.body.get("inputs") or ()
    return next((str(each["value"]) for each in inputs if each.get("name") == _PASSWORD), None)


def read_outputs(
    context: ResourceContext, transport: str, config_id: str
) -> Mapping[str, Json] | None:
    """Return the outputs that the server has stored or posted; None while there are none.

    Args:
        context: The deployment.
        transport: The value of ``signal_transport``.
        config_id: The id of the deployed configuration.
    """
    if transport == TEMP_URL_SIGNAL:
        return _read_object(context, config_id)
    queue = _queue(context, config_id) if transport == ZAQAR_SIGNAL else None
    bodies = [] if queue is None else queue.read()[0]
    if not bodies:
        return None
    return bodies[0] if isinstance(bodies[0], dict) else _NO_OBJECT


def delete_replaced_signals(context: ResourceContext, transport: str, config_id: str) -> None:
    """Delete the queue of a configuration that another one replaces.

    An object stays until the deployment is deleted: the other one is in the same container.
    """
    if transport == ZAQAR_SIGNAL:
        _delete_queue(context, config_id)


def delete_signals(context: ResourceContext, transport: str | None, config_id: str | None) -> None:
    """Delete what servers have signalled to, and with it what has arrived too late.

    Args:
        context: The deployment.
        transport: The value of ``signal_transport``.
        config_id: The id of the deployed configuration, if there is one.
    """
    if transport == TEMP_URL_SIGNAL:
        SignalObjects(context).delete()
    elif transport == ZAQAR_SIGNAL and config_id is not None:
        _delete_queue(context, config_id)


def _delete_queue(context: ResourceContext, config_id: str) -> None:
    queue = _queue(context, config_id)
    if queue is not None:
        # A user who may no longer log in has no queue that anybody can read.
        with suppress(AuthorizationFailure, Forbidden):
            queue.delete()


def _read_object(context: ResourceContext, config_id: str) -> Mapping[str, Json] | None:
    try:
        texts = _objects(context, config_id).texts()
    except ResourceGone:
        return None
    text = texts[-1].strip() if texts else ""
    if not text:
        return None
    try:
        outputs = json.loads(text)
    except (ValueError, RecursionError):
        return _NO_OBJECT
    return outputs if isinstance(outputs, dict) else _NO_OBJECT


def _objects(context: ResourceContext, config_id: str) -> SignalObjects:
    return SignalObjects(context, f"{context.physical_name}-{config_id}")


def _queue(context: ResourceContext, config_id: str) -> MessageQueue | None:
    """Return the queue, None without a user who may read it."""
    user = verified_signal_user(context).user
    if user is None:
        return None
    return MessageQueue(client_of_user(context.cloud, user), config_id)
