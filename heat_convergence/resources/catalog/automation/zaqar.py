"""REST resources and specs of Zaqar's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import omit_arguments
from heat_convergence.resources.openstack.zaqar.queues import Queue
from heat_convergence.resources.openstack.zaqar.subscriptions import (
    MistralTrigger,
    QueueSubscription,
    SignedQueueURL,
)
from heat_convergence.resources.transports.message_queues import CLIENT_ID

TESTED_RELEASE = "Zaqar 23"
_rest_resource = partial(
    make_rest_resource, "Zaqar", "message", headers=(("Client-ID", CLIENT_ID),), name_query=None
)

REST_RESOURCES = by_entity(
    _rest_resource(
        "queue",
        "message.v2.queue.Queue",
        id_key="name",
        ids_are_uuids=False,
        list_query=(("detailed", "true"), ("limit", "20")),
    ),
    _rest_resource(
        "subscription",
        "message.v2.subscription.Subscription",
        name_key=None,
        commit_method="PATCH",
    ),
)

_spec = partial(make_spec, "Zaqar", REST_RESOURCES, test_environment=TESTED_RELEASE)
_subscription = partial(
    _spec,
    has_name=False,
    findable_by_content=True,
    path_properties={"queue_name": "queue_name"},
)

TYPE_SPECS = (
    _spec("Queue", "queue"),
    _subscription(
        "Subscription",
        "subscription",
        arguments=omit_arguments("queue_name"),
        updated_together=frozenset({"subscriber", "ttl", "options"}),
    ),
    _subscription(
        "MistralTrigger",
        "subscription",
        arguments=omit_arguments("queue_name", "workflow_id", "params", "input"),
    ),
    _spec("SignedQueueURL", "queue", has_name=False, immutable=True),
)

ZAQAR = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Zaqar::MistralTrigger": MistralTrigger,
        "OS::Zaqar::Queue": Queue,
        "OS::Zaqar::SignedQueueURL": SignedQueueURL,
        "OS::Zaqar::Subscription": QueueSubscription,
    },
)
