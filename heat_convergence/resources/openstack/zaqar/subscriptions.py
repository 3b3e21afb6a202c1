"""``OS::Zaqar::Subscription``, ``OS::Zaqar::MistralTrigger`` and ``OS::Zaqar::SignedQueueURL``.

Decides who is subscribed to a queue, and how long a signed URL can be used.

Source: docs.openstack.org/api-ref/message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
SCHEMES = ("http", "https", "mailto", "trust+http", "trust+https")
SUBSCRIBER, OPTIONS = "subscriber", "options"
TRUSTED, TRUST = "trust+", "trust_id"  # Zaqar notifies such a subscriber by a trust of the user
SIGNATURE, QUERY = "signature", "query_str"
ZAQAR_MESSAGE = "$zaqar_message$"  # which Zaqar replaces by the message


class QueueSubscription(DeclarativeType):
    """A subscriber of a queue."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a subscriber that Zaqar cannot notify.

        Raises:
            StackValidationFailed: The scheme of its URL is not supported.
        """
        subscriber = properties.get("subscriber")
        if subscriber is not None and str(subscriber).partition(":")[0] not in SCHEMES:
            raise StackValidationFailed(
                f"The subscriber type of must be one of: {', '.join(SCHEMES)}."
            )

    def create(self, context: ResourceContext) -> VerbResult:
        """Subscribe; the response has the id alone, so the subscription is read."""
        client = self.client(context)
        response = client.create(self.create_arguments(context))
        body = client.get(str(response["subscription_id"]))
        return self._completed(context, client, self.extract_id(body), body)

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the arguments with the trust that Zaqar has added to the options."""
        arguments = self.subscription(context, after, names)
        if not str(arguments.get(SUBSCRIBER)).startswith(TRUSTED):
            return arguments
        current = self.client(context).get(self._id(context)).get(OPTIONS) or {}
        trust = {TRUST: current[TRUST]} if TRUST in current else {}
        return {**arguments, OPTIONS: {**(arguments.get(OPTIONS) or {}), **trust}}

    def subscription(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the whole subscription as the template has it."""
        return super().update_arguments(context, after, names)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether only a new subscription gets the trust that the subscriber needs."""
        old, new = (str(each.get(SUBSCRIBER) or "") for each in (before, after))
        return new.startswith(TRUSTED) and not old.startswith(TRUSTED)

    def _find_by_content(self, context: ResourceContext, calls: RestResourceClient) -> str | None:
        arguments = self.create_arguments(context)
        for body in calls.list():
            if all(_without_trust(body.get(name)) == value for name, value in arguments.items()):
                return self.extract_id(body)
        return None


class MistralTrigger(QueueSubscription):
    """A subscription that runs a workflow for each message."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the subscription of Mistral."""
        return self._subscription(context, context.properties)

    def subscription(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the whole subscription."""
        return self._subscription(context, after)

    def _subscription(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        params = properties.get("params") or {}
        execution = {
            "workflow_id": properties["workflow_id"],
            "params": {**params, "env": {**params.get("env", {}), "notification": ZAQAR_MESSAGE}},
            "input": properties.get("input") or {},
        }
        workflow_url = self.cloud(context).endpoint_url("workflow").rstrip("/")
        return {
            SUBSCRIBER: f"{TRUSTED}{workflow_url}/executions",
            "ttl": properties["ttl"],
            OPTIONS: {"post_data": json.dumps(execution, sort_keys=True)},
        }


class SignedQueueURL(DeclarativeType):
    """A signature for requests to a queue, which the service does not record."""

    secret_attributes: ClassVar[frozenset[str]] = frozenset({SIGNATURE, QUERY})

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return True: whoever has the signature may use the queue."""
        return True

    @property
    def is_watched(self) -> bool:
        """False: no list shows signatures."""
        return False

    def create(self, context: ResourceContext) -> VerbResult:
        """Let the service sign, until the time that the template's duration ends."""
        queue, ttl = str(context.properties["queue"]), context.properties.get("ttl")
        arguments = {
            name: context.properties[name]
            for name in ("paths", "methods")
            if context.properties.get(name)
        }
        if ttl is not None:
            arguments["expires"] = (context.now + timedelta(seconds=ttl)).isoformat()
        client = self.client(context)
        signed = dict(client.send("POST", client.path(queue, "share"), arguments).body)
        return VerbResult(
            ObservedState.READY,
            context.physical_name,
            {**signed, QUERY: _query(queue, signed)},
        )

    def find(self, context: ResourceContext) -> str | None:
        """Return None: a signature is no object."""
        return None

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY: a signature can be neither read nor withdrawn."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, context.physical_id)

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Return READY for each."""
        return {context.resource_id: self.observe(context) for context in contexts}

    def delete(self, context: ResourceContext) -> VerbResult:
        """Return ABSENT: the signature expires by itself."""
        return VerbResult(ObservedState.ABSENT)


def _without_trust(value: Json) -> Json:
    """Return the options of a subscription as they were sent."""
    if not isinstance(value, Mapping):
        return value
    return {key: each for key, each in value.items() if key != TRUST}


def _query(queue: str, signed: Mapping[str, Json]) -> str:
    """Return the query string of a URL that uses the signature."""
    return urlencode(
        {
            SIGNATURE: signed[SIGNATURE],
            "expires": signed["expires"],
            "paths": ",".join(signed["paths"]),
            "methods": ",".join(signed["methods"]),
            "project_id": signed["project"],
            "queue_name": queue,
        }
    )
