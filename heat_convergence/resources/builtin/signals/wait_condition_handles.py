"""Wait condition handles, which take signals and keep them.

Decides the credentials or URLs with which a server signals (``signal_transport``).

Source: docs/reference/resource-groups.rst, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from heat_convergence.common.errors import AuthorizationFailure, Forbidden
from heat_convergence.resources.builtin.signals.signal_log import (
    CFN_FORMAT,
    NATIVE_FORMAT,
    SIGNALS,
    SignalFormat,
    add_signal,
)
from heat_convergence.resources.builtin.signals.signal_objects import SignalObjects
from heat_convergence.resources.builtin.signals.signal_responder import (
    SIGNED_URL,
    SignalResponder,
    SignalUser,
    native_signal_url,
    require_created,
    signed_signal_url,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.resources.transports.message_queues import (
    MessageQueue,
    client_of_user,
    queue_name,
)
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
_TRANSPORT = "signal_transport"
_CFN, _TOKEN, _HEAT, NO_SIGNAL = "CFN_SIGNAL TOKEN_SIGNAL HEAT_SIGNAL NO_SIGNAL".split()
TEMP_URL, ZAQAR = "TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"
QUEUE = "queue_id"  # the key of the data with the name of the handle's queue


class SignalHandle(SignalResponder):
    """A handle that keeps signals of its ``signal_format``."""

    signal_format: ClassVar[SignalFormat] = NATIVE_FORMAT

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        """Keep the signal.

        Raises:
            ResourceNotAvailable: The handle has not been created.
            Invalid: The signal cannot be read.
            RequestLimitExceeded: The handle is full.
        """
        require_created(context)
        signals, reason = add_signal(context.data.get(SIGNALS) or {}, details, self.signal_format)
        return SignalResult(reason=reason, data={**context.data, SIGNALS: signals})

    def shown_metadata(
        self, context: ResourceContext, metadata: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata with the signals by their ids, in the words of their format."""
        words = self.signal_format
        shown = {
            key: {
                words.status_key: signal.get("status"),
                words.reason_key: signal.get("reason"),
                words.data_key: signal.get("data"),
            }
            for key, signal in (context.data.get(SIGNALS) or {}).items()
        }
        return {**metadata, **shown}


def _attribute(description: str) -> AttributeSchema:
    return AttributeSchema(PropertyType.STRING, description, cache_mode=CacheMode.NONE)


class WaitConditionHandle(SignalHandle):
    """A handle that is signalled in the way its transport selects."""

    name = "OS::Heat::WaitConditionHandle"
    secret_attributes: ClassVar[frozenset[str]] = frozenset({"token", "curl_cli", "signal"})
    schema = TypeSchema(
        description="A handle that receives the signals which a wait condition waits for.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            _TRANSPORT: PropertySchema(
                type=PropertyType.STRING,
                description="How to signal the handle: with a token, with a password, by a"
                " signed URL, or not at all.",
                default=_TOKEN,
                constraints=(AllowedValues((_CFN, TEMP_URL, _HEAT, NO_SIGNAL, ZAQAR, _TOKEN)),),
                support_status=SupportStatus(version="6.0.0"),
            ),
        },
        attributes={
            "token": _attribute("Token to signal with, for TOKEN_SIGNAL."),
            "endpoint": _attribute("URL to signal, for TOKEN_SIGNAL."),
            "curl_cli": _attribute("curl command to append a signal to, for TOKEN_SIGNAL."),
            "signal": _attribute("JSON document with all that a signal by the transport needs."),
        },
    )

    def needs_user(self, context: ResourceContext) -> bool:
        """Return whether the transport has a user."""
        return context.properties[_TRANSPORT] not in (NO_SIGNAL, TEMP_URL)

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return whether the transport has a signed URL."""
        return bool(context.properties[_TRANSPORT] == _CFN)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete what the transport needed."""
        if context.physical_id is not None and context.properties.get(_TRANSPORT) == TEMP_URL:
            SignalObjects(context).delete()
        queue = signal_queue(context, context)
        if queue is not None:
            with suppress(AuthorizationFailure, Forbidden):  # nobody can read it any more
                queue.delete()
        return super().delete(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the user's id, or the physical name if there is an object for signals."""
        if context.properties.get(_TRANSPORT) != TEMP_URL:
            return super().find(context)
        return context.physical_name if SignalObjects(context).exists() else None

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return the attributes of the transport and no signals."""
        transport = context.properties[_TRANSPORT]
        attributes: dict[str, Json] = {}
        data: dict[str, Json] = {SIGNALS: {}}
        endpoint = native_signal_url(context, signal_user.project_id)
        signal: dict[str, Json] = {}
        if transport == _TOKEN:
            token = (
                None
                if signal_user.user is None
                else context.cloud.users.issue_token(signal_user.user)
            )
            attributes = {
                "token": token,
                "endpoint": endpoint,
                "curl_cli": _curl(context, token, endpoint),
            }
            signal = {"alarm_url": endpoint, "auth_token": token}
        elif transport == _CFN:
            signal = {"alarm_url": signed_signal_url(context, signal_user, "waitcondition", "PUT")}
        elif transport == TEMP_URL:
            objects = SignalObjects(context)
            objects.create_container(versioned=True)
            objects.create_object()
            signal = {"alarm_url": objects.signed_url()}
        elif transport == _HEAT:
            signal = {"alarm_url": endpoint, **_credentials(context, signal_user)}
        elif transport == ZAQAR:
            data[QUEUE] = queue_name(context.physical_name, context.resource_id)
            signal = {**_credentials(context, signal_user), QUEUE: data[QUEUE]}
        attributes["signal"] = json.dumps(signal)
        return attributes, data


class CfnWaitConditionHandle(SignalHandle):
    """A handle whose reference id is a signed URL."""

    name = "AWS::CloudFormation::WaitConditionHandle"
    signal_format = CFN_FORMAT
    schema = TypeSchema(
        description="A handle that receives the signals of a wait condition at a signed URL.",
        support_status=SupportStatus(version="2014.1"),
    )

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return True: the reference id is signed."""
        return True

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return no signals and, where users can sign, the signed URL."""
        url = signed_signal_url(context, signal_user, "waitcondition", "PUT")
        return {}, {SIGNALS: {}, **({} if url is None else {SIGNED_URL: url})}

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the signed URL."""
        return context.data.get(SIGNED_URL) or super().reference_id(context)


class UpdateWaitConditionHandle(CfnWaitConditionHandle):
    """A handle that every update replaces, so that its URL changes."""

    name = "OS::Heat::UpdateWaitConditionHandle"
    replace_on_update = True


def signal_queue(context: ResourceContext, handle: ResourceContext) -> MessageQueue | None:
    """Return the queue of a handle, None if its transport has none.

    Args:
        context: The resource whose cloud is used.
        handle: The handle, whose user's own password opens the queue (RULE 12).
    """
    name = handle.data.get(QUEUE)
    user = SignalUser.from_data(handle.data, handle.project_id).user
    if not isinstance(name, str) or user is None:
        return None
    return MessageQueue(client_of_user(context.cloud, user), name)


def _curl(context: ResourceContext, token: str | None, endpoint: str | None) -> str | None:
    if endpoint is None:
        return None
    insecure = (
        " --insecure" if token is not None and context.cloud.settings.verify is False else ""
    )
    header = "" if token is None else f"-H 'X-Auth-Token: {token}' "
    return (
        f"curl{insecure} -i -X POST {header}-H 'Content-Type: application/json'"
        f" -H 'Accept: application/json' {endpoint}"
    )


def _credentials(context: ResourceContext, signal_user: SignalUser) -> dict[str, Json]:
    if signal_user.user is None:
        return {}
    return {
        "auth_url": context.cloud.server_auth_url,
        "username": context.physical_name,
        "user_id": signal_user.user.id,
        "password": signal_user.user.password,
        "project_id": signal_user.project_id,
        "domain_id": context.cloud.users.domain_id,
        "region_name": context.cloud.region,
    }
