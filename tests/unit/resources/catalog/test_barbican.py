"""Barbican's types: refused properties, secrets, and the pages of its lists."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.common.errors import Invalid
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.testing.openstack.emulation import PROJECT_ID, Emulation
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.catalog_types import types_of_service
from tests.unit.resources.conftest import make_context

TYPES = types_of_service("Barbican")
KEY = {"type": "key", "algorithm": "aes", "bit_length": 256}
PAIR = {"type": "asymmetric", "algorithm": "rsa", "bit_length": 2048, "pass_phrase": "hidden"}
BYTES = {"payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}


@pytest.fixture
def emulation() -> Emulation:
    return create_emulation()


@pytest.fixture
def cloud(emulation: Emulation) -> SdkCloudClient:
    connection = connect(emulation)
    return SdkCloudClient(str(uuid.uuid4()), PROJECT_ID, lambda: connection, RequestLimiter(8))


@pytest.mark.parametrize(
    ("name", "properties", "message"),
    [
        ("Secret", {"payload": "a", "payload_content_encoding": "base64"}, "requires"),
        ("Secret", {"payload": "a", "payload_content_type": BYTES["payload_content_type"]}, "req"),
        ("Secret", {"payload": "?", **BYTES}, "not base64"),
        ("Order", {**KEY, "pass_phrase": "p"}, "Unexpected property pass_phrase"),
        ("Order", {"type": "certificate", "profile": "p"}, "profile requires ca_id"),
        ("RSAContainer", {"public_key_ref": "r", "private_key_ref": "r"}, "Duplicate refs"),
    ],
)
def test_contradicting_properties_are_refused(
    name: str, properties: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        TYPES[name].validate(properties, None)


@pytest.mark.parametrize(
    ("name", "names"),
    [("Secret", {"payload_content_type"}), ("Order", {"type", "algorithm"})],
)
def test_missing_properties_are_refused(name: str, names: set[str]) -> None:
    with pytest.raises(Invalid, match="require"):
        TYPES[name].validate_property_names(frozenset(names))


def test_order_of_a_certificate_is_refused_when_it_is_created(cloud: SdkCloudClient) -> None:
    context = make_context(TYPES["Order"], {"type": "certificate", "ca_id": "c"}, cloud=cloud)
    with pytest.raises(ResourceFailure, match="does not support orders of type certificate"):
        TYPES["Order"].create(context)


def test_payload_is_not_shown(cloud: SdkCloudClient) -> None:
    secret = TYPES["Secret"]
    context = make_context(secret, {"payload": "hidden"}, cloud=cloud)
    created = secret.create(context)
    found = secret.observe(
        make_context(secret, {"payload": "hidden"}, cloud=cloud, physical_id=created.physical_id)
    )
    assert found.observed is ObservedState.READY
    assert "hidden" not in str([created, found])
    assert secret.has_secret_data({})
    assert "decrypted_payload" in secret.secret_attributes


def test_payload_that_others_have_stored_is_read_for_the_user(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    secret = TYPES["Secret"]
    reference = secret.create(make_context(secret, {}, cloud=cloud)).physical_id
    context = make_context(secret, {}, Action.CHECK, cloud=cloud, physical_id=reference)
    assert secret.read_live_attributes(context)["decrypted_payload"] is None
    (body,) = emulation.collection("barbican.secret").bodies()
    body["payload"] = "stored later"
    body["content_types"] = {"default": "text/plain"}
    assert secret.read_live_attributes(context)["decrypted_payload"] == "stored later"


def test_pass_phrase_of_an_order_is_not_recorded_and_its_keys_are_read_once(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    order = TYPES["Order"]
    created = order.create(make_context(order, PAIR, cloud=cloud))
    emulation.advance(2)
    context = make_context(
        order, PAIR, cloud=cloud, physical_id=created.physical_id, action=Action.CREATE
    )
    found = order.observe_many([context])[context.resource_id]
    assert "hidden" not in str([created, found])
    assert (found.attributes or {})["private_key"] == "a new private_key"
    assert order.has_secret_data(PAIR)
    reads = emulation.count_requests("GET", "key_manager /secrets")
    again = make_context(
        order, PAIR, cloud=cloud, physical_id=created.physical_id, attributes=found.attributes
    )
    assert order.observe_many([again])[again.resource_id].attributes == found.attributes
    assert emulation.count_requests("GET", "key_manager /secrets") == reads


def test_list_of_several_pages_is_read_by_offsets(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    client = RestResourceClient(cloud, TYPES["Order"].spec.rest_resource)
    client.create({"type": "key", "meta": {"algorithm": "aes", "bit_length": 256}})
    orders = emulation.collection("barbican.order")
    (body,) = orders.bodies()
    for number in range(204):
        orders.add({**body, "order_ref": f"{body['order_ref']}{number}"})
    assert len({body["order_ref"] for body in client.list()}) == 205
    assert emulation.count_requests("GET", "key_manager /orders") == 3


def test_failed_order_shows_the_code_and_the_reason(
    emulation: Emulation, cloud: SdkCloudClient
) -> None:
    order = TYPES["Order"]
    created = order.create(make_context(order, KEY, cloud=cloud))
    (body,) = emulation.collection("barbican.order").bodies()
    body.update(status="ERROR", error_status_code="400", error_reason="no such key")
    context = make_context(order, KEY, cloud=cloud, physical_id=created.physical_id)
    found = order.observe(context)
    assert (found.observed, found.reason) == (
        ObservedState.FAILED,
        'Went to status ERROR due to "400 - no such key"',
    )
