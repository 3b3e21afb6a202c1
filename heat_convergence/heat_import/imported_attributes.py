"""The attributes that are recorded of imported resources.

Called by ``tree_builder``. Takes them from Heat's cache and, where the type computes them, from
the properties and data; those of groups and nested stacks come from the members' rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.clients import endpoints, signed_urls
from heat_convergence.clients.stack_users import Ec2Keys
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.heat_import.heat_rows import HeatTree
from heat_convergence.heat_import.heat_values import parse_map
from heat_convergence.heat_import.imported_data import HeatRecord
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.resources.builtin.signals.signal_log import SIGNALS, SignalCounts
from heat_convergence.resources.builtin.signals.signal_responder import (
    EC2_ACCESS_KEY,
    EC2_SECRET_KEY,
    PASSWORD,
    PROJECT_ID,
    SIGNED_URL,
)
from heat_convergence.resources.builtin.signals.wait_condition_handles import WaitConditionHandle
from heat_convergence.resources.builtin.signals.wait_conditions import WaitCondition
from heat_convergence.resources.builtin.software.configs import CONFIG, StoredConfig
from heat_convergence.resources.builtin.software.deployments import (
    KNOWN_OUTPUTS,
    SoftwareDeployment,
)
from heat_convergence.resources.nested.nested_type import NestedStackView, NestedType
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.reference_scope import USER_ID
from heat_convergence.stacks.goal.desired_resources import stored_attribute_paths
from heat_convergence.stacks.services import StackServices

Json = Any


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The addresses under which guests know the service.

    Attributes:
        waitcondition_url: the base of signed URLs, with ``/waitcondition``.
        auth_url: Keystone's, as servers reach it.
        user_domain_id: the domain of stacks' users.
        heat_url: the base of the REST API, as guests know it.
    """

    waitcondition_url: str | None = None
    auth_url: str | None = None
    user_domain_id: str | None = None
    heat_url: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedValues:
    """A stack's imported rows by name, with what Heat has recorded of them."""

    stack: Stack
    rows: Mapping[str, Resource]
    records: Mapping[str, HeatRecord] = field(default_factory=dict)
    address: ServiceAddress = ServiceAddress()


def own_attributes(
    resource_type: ResourceType | None, row: Resource, cached: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the attributes that follow from the row alone, or that Heat had cached."""
    found = {name: item for name, item in cached.items() if not name.startswith("tuple:")}
    properties = row.physical.properties
    if isinstance(resource_type, LocalType) and properties is not None:
        found |= resource_type.compute_attributes(properties) or {}
    if "value" in row.physical.data:
        found["value"] = row.physical.data["value"]
    return found


def software_attributes(
    resource_type: ResourceType | None, row: Resource, tree: HeatTree
) -> dict[str, Json]:
    """Return the attributes of software configurations and deployments.

    Raises:
        HeatValueUnreadable: a value cannot be read.
    """
    bodies = {
        each.id: parse_map(each.config, f"software config {each.id}") for each in tree.configs
    }
    if isinstance(resource_type, StoredConfig):
        return {CONFIG: bodies.get(row.physical.id or "", {}).get("config")}
    found: dict[str, Json] = {}
    for each in tree.deployments:
        if each.id == row.physical.id and isinstance(resource_type, SoftwareDeployment):
            outputs = bodies.get(each.config_id, {}).get("outputs") or []
            found = {KNOWN_OUTPUTS: [output["name"] for output in outputs]}
            found |= parse_map(each.output_values, f"outputs of deployment {each.id}")
    return found


def signal_attributes(
    resource_type: ResourceType | None, row: Resource, values: ImportedValues
) -> dict[str, Json]:
    """Return the URLs and credentials that handles and policies show."""
    if isinstance(resource_type, WaitConditionHandle):
        return _handle_attributes(row, values)
    if isinstance(resource_type, WaitCondition):
        return _condition_attributes(resource_type, row, values)
    if isinstance(resource_type, ScalingPolicy):
        project_id = values.stack.project_id
        return {
            "alarm_url": _alarm_url(row, values),
            "signal_url": _native_url(row, project_id, values),
        }
    return {}


def _handle_attributes(row: Resource, values: ImportedValues) -> dict[str, Json]:
    heat, data = values.records[row.name].data, row.physical.data
    transport = (row.physical.properties or {}).get("signal_transport")
    if transport == "TOKEN_SIGNAL" and heat.get("endpoint"):
        token, endpoint = heat.get("token"), heat["endpoint"]
        curl = (
            f"curl -i -X POST -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json'"
            f" -H 'Accept: application/json' {endpoint}"
        )
        signal = {"alarm_url": endpoint, "auth_token": token}
        return {
            "token": token,
            "endpoint": endpoint,
            "curl_cli": curl,
            "signal": json.dumps(signal),
        }
    if transport == "CFN_SIGNAL" and data.get(SIGNED_URL):
        return {"signal": json.dumps({"alarm_url": data[SIGNED_URL]})}
    native_url = _native_url(row, data.get(PROJECT_ID), values)
    if transport == "HEAT_SIGNAL" and native_url is not None:
        signal = {
            "alarm_url": native_url,
            "auth_url": values.address.auth_url,
            "username": row.identity.physical_name,
            "user_id": data.get(USER_ID),
            "password": data.get(PASSWORD),
            "project_id": data.get(PROJECT_ID),
            "domain_id": values.address.user_domain_id,
        }
        return {"signal": json.dumps(signal)}
    return {}


def _condition_attributes(
    condition: WaitCondition, row: Resource, values: ImportedValues
) -> dict[str, Json]:
    reference = (row.physical.properties or {}).get(condition.spell_name("handle"))
    for other in values.rows.values():
        if SIGNALS in other.physical.data and reference in (
            other.physical.id,
            other.physical.data.get(SIGNED_URL),
        ):
            counts = SignalCounts.from_signals(other.physical.data[SIGNALS])
            return {condition.spell_name("data"): json.dumps(counts.data, ensure_ascii=False)}
    return {}


def _native_url(row: Resource, project_id: str | None, values: ImportedValues) -> str | None:
    """Return the URL to signal with a token: as Heat had recorded it, else computed."""
    recorded = values.records[row.name].data.get("heat_signal_url")
    if recorded or project_id is None or values.address.heat_url is None:
        return recorded
    stack = values.stack
    locator = endpoints.ResourceLocator(stack.name, stack.id, row.name)
    return endpoints.signal_url(values.address.heat_url, project_id, locator)


def _alarm_url(row: Resource, values: ImportedValues) -> str | None:
    """Return the signed URL, which Heat computes from the same keys each time."""
    access, secret = map(row.physical.data.get, (EC2_ACCESS_KEY, EC2_SECRET_KEY))
    base = values.address.waitcondition_url
    if not (access and secret and base):
        return None
    stack = values.stack
    locator = endpoints.ResourceLocator(stack.name, stack.id, row.name)
    base = base.rstrip("/").removesuffix("/waitcondition") + "/signal"
    url = endpoints.signed_url_path(base, stack.project_id, locator)
    return signed_urls.sign_url(url, Ec2Keys(access, secret), http_method="POST")


def nested_attributes(
    services: StackServices, row: Resource, goal: Goal, values: ImportedValues
) -> Mapping[str, Json]:
    """Return the attributes of a resource from the rows of its nested stack.

    Args:
        services: the resource types and limits.
        row: the resource.
        goal: of the nested stack.
        values: of the nested stack.
    """
    resource_type = services.registry.find(row.desired.implementation)
    assert isinstance(resource_type, NestedType)
    inputs = {name: InputResource.from_resource(each) for name, each in values.rows.items()}

    def load_inputs(names: Collection[str]) -> RowInputs:
        return RowInputs(inputs, values.stack, services.registry, services.clock())

    view = NestedStackView(
        values.stack,
        goal,
        InputResource.from_resource(row),
        load_inputs,
        lambda: sorted(values.rows),
        services.limits,
        services.functions,
    )
    paths = stored_attribute_paths(row.desired.definition)
    return view.redact_errors(resource_type.read_attributes(view, paths))
