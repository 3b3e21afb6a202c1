"""Zaqar's types: queues that exist by their names, subscribers, and secrets."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.testing.openstack.emulation import PROJECT_ID, Emulation
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.catalog_types import types_of_service
from tests.unit.resources.conftest import make_context

TYPES = types_of_service("Zaqar")
NAME = "hc-queue"


@pytest.fixture
def emulation() -> Emulation:
    return create_emulation()


@pytest.fixture
def cloud(emulation: Emulation) -> SdkCloudClient:
    connection = connect(emulation)
    return SdkCloudClient(str(uuid.uuid4()), PROJECT_ID, lambda: connection, RequestLimiter(8))


def test_queue_of_somebody_else_is_not_found_as_the_own_one(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    emulation.add("zaqar.queue", name=NAME, metadata={"theirs": True})
    assert TYPES["Queue"].find(make_context(TYPES["Queue"], {"name": NAME}, cloud=cloud)) is None


def test_queue_that_others_delete_is_missing_although_its_name_can_be_read(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    queue = TYPES["Queue"]
    context = make_context(queue, {"name": NAME, "metadata": {"a": 1}}, cloud=cloud)
    created = queue.create(context)
    known = replace(context, physical_id=NAME, attributes=created.attributes, action=Action.CHECK)
    assert queue.observe(known).observed is ObservedState.READY
    emulation.collection("zaqar.queue").remove(NAME)
    assert queue.observe(known).observed is ObservedState.ABSENT
    adopted = replace(known, attributes={})
    assert queue.observe(adopted).observed is ObservedState.READY


def test_queue_is_patched_and_keeps_its_mark(emulation: Emulation, cloud: SdkCloudClient) -> None:
    queue = TYPES["Queue"]
    context = make_context(queue, {"name": NAME, "metadata": {"a": 1, "b/c": 2}}, cloud=cloud)
    created = queue.create(context)
    known = replace(context, physical_id=NAME, attributes=created.attributes)
    after = {**context.properties, "metadata": {"b/c": 3, "d": 4}}
    queue.update(known, after, frozenset({"metadata"}))
    (body,) = emulation.collection("zaqar.queue").bodies()
    assert body["metadata"] == {"b/c": 3, "d": 4, "heat_resource_id": "r-1"}


def test_list_of_queues_ends_although_every_page_links_to_a_next_one(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    for number in range(45):
        emulation.add("zaqar.queue", name=f"queue-{number}", metadata={})
    client = RestResourceClient(cloud, TYPES["Queue"].spec.rest_resource)
    assert len({body["name"] for body in client.list()}) == 45
    assert emulation.count_requests("GET", "message /queues") == 4


@pytest.mark.parametrize("subscriber", ["ftp://host.invalid", "nobody"])
def test_subscriber_that_cannot_be_notified_is_refused(subscriber: str) -> None:
    with pytest.raises(StackValidationFailed, match="mailto"):
        TYPES["Subscription"].validate({"subscriber": subscriber}, None)


def test_name_of_a_queue_stays_one_segment_of_the_path(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    properties = {"queue_name": "a/../b", "subscriber": "http://hook.invalid"}
    context = make_context(TYPES["Subscription"], properties, cloud=cloud)
    path = TYPES["Subscription"].client(context).path()
    assert path == "/queues/a%2F..%2Fb/subscriptions"


def test_trigger_subscribes_mistral_with_the_message_in_its_environment(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    trigger = TYPES["MistralTrigger"]
    properties = {
        "queue_name": NAME,
        "workflow_id": "w",
        "params": {"env": {"a": 1}},
        "input": {"b": 2},
    }
    trigger.create(make_context(trigger, properties, cloud=cloud))
    (body,) = emulation.collection("zaqar.subscription", {"queue_name": NAME}).bodies()
    assert body["subscriber"] == "trust+http://cloud.invalid/workflow/v2/executions"
    assert json.loads(body["options"]["post_data"]) == {
        "workflow_id": "w",
        "params": {"env": {"a": 1, "notification": "$zaqar_message$"}},
        "input": {"b": 2},
    }


def test_signature_is_a_secret() -> None:
    assert TYPES["SignedQueueURL"].has_secret_data({})
    assert {"signature", "query_str"} <= TYPES["SignedQueueURL"].secret_attributes


TRUSTED = {"queue_name": NAME, "subscriber": "trust+http://hook.invalid/1", "ttl": 60}


def test_update_keeps_the_trust_that_the_service_has_added(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    subscription = TYPES["Subscription"]
    context = make_context(subscription, {**TRUSTED, "options": {"a": "b"}}, cloud=cloud)
    created = subscription.create(context)
    known = replace(context, physical_id=created.physical_id, attributes=created.attributes or {})
    (body,) = emulation.collection("zaqar.subscription", {"queue_name": NAME}).bodies()
    trust_id = body["options"]["trust_id"]
    subscription.update(known, {**context.properties, "ttl": 3600}, frozenset({"ttl"}))
    assert body["options"] == {"a": "b", "trust_id": trust_id}
    after = {**context.properties, "subscriber": "http://hook.invalid/1"}
    subscription.update(known, after, frozenset({"subscriber"}))
    assert body["options"] == {"a": "b"}


def test_subscription_with_a_trust_is_found_by_its_content(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    context = make_context(TYPES["Subscription"], TRUSTED, cloud=cloud)
    created = TYPES["Subscription"].create(context)
    assert TYPES["Subscription"].find(context) == created.physical_id


def test_only_a_new_subscription_gets_a_trust() -> None:
    plain = {**TRUSTED, "subscriber": "http://hook.invalid/1"}
    changed = frozenset({"subscriber"})
    assert TYPES["Subscription"].needs_replace(plain, TRUSTED, changed)
    assert not TYPES["Subscription"].needs_replace(TRUSTED, plain, changed)
    assert not TYPES["Subscription"].needs_replace(TRUSTED, {**TRUSTED, "ttl": 61}, changed)
