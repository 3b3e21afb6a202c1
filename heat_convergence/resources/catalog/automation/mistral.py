"""REST resources and specs of Mistral's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import (
    CronTriggerResource,
    ExecutionResource,
    WorkflowResource,
)
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import omit_arguments, rename_arguments
from heat_convergence.resources.openstack.mistral.external_resources import ExternalResource
from heat_convergence.resources.openstack.mistral.workflows import CronTrigger, Workflow

TESTED_RELEASE = "Mistral 23"
_rest_resource = partial(make_rest_resource, "Mistral", "workflow", ids_are_uuids=False)

REST_RESOURCES = by_entity(
    _rest_resource("workflow", WorkflowResource, id_key="name"),
    _rest_resource("execution", ExecutionResource, name_key=None),
    _rest_resource("cron_trigger", CronTriggerResource, id_key="name"),
)

_spec = partial(make_spec, "Mistral", REST_RESOURCES, test_environment=TESTED_RELEASE)

TYPE_SPECS = (
    _spec("Workflow", "workflow", live_attributes=frozenset({"executions"})),
    _spec(
        "CronTrigger",
        "cron_trigger",
        arguments={
            **rename_arguments(first_time="first_execution_time", count="remaining_executions"),
            **omit_arguments("workflow"),
        },
        immutable=True,
        live_attributes=frozenset({"next_execution_time", "remaining_executions"}),
    ),
    _spec("ExternalResource", "execution", has_name=False),
)

MISTRAL = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Mistral::CronTrigger": CronTrigger,
        "OS::Mistral::ExternalResource": ExternalResource,
        "OS::Mistral::Workflow": Workflow,
    },
)
