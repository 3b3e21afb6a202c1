"""Wait condition handles: they take signals and keep them.

Decides how somebody outside is told to signal (``signal_transport``).
Source: heat-facts ``resource_groups.md``, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.signals.signal_log import (
    CFN_FORMAT,
    NATIVE_FORMAT,
    SIGNALS,
    SignalFormat,
    add_signal,
)
from heat_convergence.resources.builtin.signals.signal_responder import (
    SIGNED_URL,
    SignalResponder,
    SignalUser,
    native_signal_url,
    require_created,
    signed_signal_url,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, SignalResult
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
_TRANSPORT = "signal_transport"
_CFN, _TOKEN, _HEAT, _NONE = "CFN_SIGNAL TOKEN_SIGNAL HEAT_SIGNAL NO_SIGNAL".split()
_SERVED = (_CFN, _HEAT, _NONE, _TOKEN)
_ELSEWHERE = {"TEMP_URL_SIGNAL": "Object Storage", "ZAQAR_SIGNAL": "Messaging"}


class SignalHandle(SignalResponder):
    """Keeps signals whose parts are called as in ``words``."""

    signal_format: ClassVar[SignalFormat] = NATIVE_FORMAT

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        require_created(context)
        signals, told = add_signal(context.data.get(SIGNALS) or {}, details, self.signal_format)
        return SignalResult(reason=told, data={**context.data, SIGNALS: signals})

    def shown_metadata(
        self, context: ResourceContext, given: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        return {**given, **(context.data.get(SIGNALS) or {})}


def _attribute(description: str) -> AttributeSchema:
    return AttributeSchema(PropertyType.STRING, description, cache_mode=CacheMode.NONE)


class WaitConditionHandle(SignalHandle):
    name = "OS::Heat::WaitConditionHandle"
    schema = TypeSchema(
        description="Takes the signals that a wait condition waits for.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            _TRANSPORT: PropertySchema(
                type=PropertyType.STRING,
                description="How it is signalled: with a token, with a password, by a signed"
                " URL, or not at all.",
                default=_TOKEN,
                constraints=(
                    AllowedValues((_CFN, "TEMP_URL_SIGNAL", _HEAT, _NONE, "ZAQAR_SIGNAL", _TOKEN)),
                ),
                support_status=SupportStatus(version="6.0.0"),
            ),
        },
        attributes={
            "token": _attribute("A token to signal with, for TOKEN_SIGNAL."),
            "endpoint": _attribute("The URL to signal at, for TOKEN_SIGNAL."),
            "curl_cli": _attribute("A curl command that lacks the signal, for TOKEN_SIGNAL."),
            "signal": _attribute("All that its transport takes to signal, as JSON."),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        chosen = properties.get(_TRANSPORT)
        if chosen in _ELSEWHERE:
            raise StackValidationFailed(
                f"{chosen} is not supported: signals are not fetched from the"
                f" {_ELSEWHERE[chosen]} service; one of {', '.join(_SERVED)} is",
                path=_TRANSPORT,
            )

    def needs_user(self, context: ResourceContext) -> bool:
        return bool(context.properties[_TRANSPORT] != _NONE)

    def needs_signed_url(self, context: ResourceContext) -> bool:
        return bool(context.properties[_TRANSPORT] == _CFN)

    def initial_state(
        self, context: ResourceContext, guest: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        transport = context.properties[_TRANSPORT]
        attributes: dict[str, Json] = {}
        endpoint = native_signal_url(context, guest)
        told: dict[str, Json] = {}
        if transport == _TOKEN:
            token = None if guest.user is None else context.cloud.users.issue_token(guest.user)
            attributes = {
                "token": token,
                "endpoint": endpoint,
                "curl_cli": _curl(context, token, endpoint),
            }
            told = {"alarm_url": endpoint, "auth_token": token}
        elif transport == _CFN:
            told = {"alarm_url": signed_signal_url(context, guest, "waitcondition", "PUT")}
        elif transport == _HEAT:
            told = {"alarm_url": endpoint, **_credentials(context, guest)}
        attributes["signal"] = json.dumps(told)
        return attributes, {SIGNALS: {}}


class CfnWaitConditionHandle(SignalHandle):
    name = "AWS::CloudFormation::WaitConditionHandle"
    signal_format = CFN_FORMAT
    schema = TypeSchema(
        description="Takes the signals that a wait condition waits for, at a signed URL.",
        support_status=SupportStatus(version="2014.1"),
    )

    def needs_signed_url(self, context: ResourceContext) -> bool:
        return True

    def initial_state(
        self, context: ResourceContext, guest: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        url = signed_signal_url(context, guest, "waitcondition", "PUT")
        return {}, {SIGNALS: {}, **({} if url is None else {SIGNED_URL: url})}

    def reference_id(self, context: ResourceContext) -> Json:
        return context.data.get(SIGNED_URL) or super().reference_id(context)


class UpdateWaitConditionHandle(CfnWaitConditionHandle):
    """So that every update is waited for anew: what reads it gets another URL."""

    name = "OS::Heat::UpdateWaitConditionHandle"
    replace_on_update = True


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


def _credentials(context: ResourceContext, guest: SignalUser) -> dict[str, Json]:
    if guest.user is None:
        return {}
    return {
        "auth_url": context.cloud.server_auth_url,
        "username": context.physical_name,
        "user_id": guest.user.id,
        "password": guest.user.password,
        "project_id": guest.project_id,
        "domain_id": context.cloud.users.domain_id,
        "region_name": context.cloud.region,
    }
