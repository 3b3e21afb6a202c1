"""REST resources and specs of Barbican's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    omit_arguments,
)
from heat_convergence.resources.openstack.barbican.orders import SecretOrder
from heat_convergence.resources.openstack.barbican.secrets import Secret, SecretContainer

TESTED_RELEASE = "Barbican 23"
# Without a limit Barbican returns ten objects; a hundred are the most.
_rest_resource = partial(
    make_rest_resource,
    "Barbican",
    "key_manager",
    ids_are_urls=True,
    paged_by_offset=True,
    list_query=(("limit", "100"),),
)

REST_RESOURCES = by_entity(
    _rest_resource("secret", "key_manager.v1.secret.Secret", id_key="secret_ref"),
    _rest_resource("order", "key_manager.v1.order.Order", id_key="order_ref", name_query=None),
    _rest_resource(
        "container", "key_manager.v1.container.Container", id_key="container_ref", name_query=None
    ),
)

_spec = partial(
    make_spec,
    "Barbican",
    REST_RESOURCES,
    test_environment=TESTED_RELEASE,
    status_mapping=StatusMapping(ready=frozenset({"active"})),
    immutable=True,
)
_KEY_REFS = ("private_key_ref", "private_key_passphrase_ref")

TYPE_SPECS = (
    _spec("Secret", "secret", live_attributes=frozenset({"decrypted_payload"})),
    _spec("Order", "order"),
    _spec(
        "GenericContainer",
        "container",
        fixed_arguments={"type": "generic"},
        arguments={"secrets": ArgumentMapping(None)},
    ),
    _spec(
        "CertificateContainer",
        "container",
        fixed_arguments={"type": "certificate"},
        arguments=omit_arguments("certificate_ref", "intermediates_ref", *_KEY_REFS),
    ),
    _spec(
        "RSAContainer",
        "container",
        fixed_arguments={"type": "rsa"},
        arguments=omit_arguments(
            "private_key_ref", "private_key_passphrase_ref", "public_key_ref"
        ),
    ),
)

BARBICAN = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Barbican::CertificateContainer": SecretContainer,
        "OS::Barbican::GenericContainer": SecretContainer,
        "OS::Barbican::Order": SecretOrder,
        "OS::Barbican::RSAContainer": SecretContainer,
        "OS::Barbican::Secret": Secret,
    },
)
