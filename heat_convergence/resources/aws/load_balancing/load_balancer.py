"""``AWS::ElasticLoadBalancing::LoadBalancer``: a nested stack with a server that runs HAProxy.

Decides the nested stack's template and parameters. A change of the instances changes the metadata
of its server alone, which ``cfn-hup`` in the server applies.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.resources.aws.ec2.instances import NO_ADDRESS, first_address
from heat_convergence.resources.aws.load_balancing.haproxy import build_configuration
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.nested.nested_type import (
    AttributePath,
    AttributeRecorder,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedType,
    NestedTypeSchema,
    attribute_path_key,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.template.parsing.document_loader import load_document

Json = Any
_INSTANCES, _GROUPS = "Instances", "SecurityGroups"
_SERVER, _ADDRESS_OUTPUT = "LB_instance", "PublicIp"
_OWNER_PARAMETERS = ("KeyName", "LbImageId", "LbFlavor", "LBTimeout")
_CONFIGURATION = "/etc/haproxy/haproxy.cfg"
_FILES = ("Metadata", "AWS::CloudFormation::Init", "config", "files")


class LoadBalancer(NestedType):
    """A server that balances the load of instances."""

    name = "AWS::ElasticLoadBalancing::LoadBalancer"
    schema = load_aws_schema("load_balancing", name, NestedTypeSchema)
    observes_dependencies = True
    template_path: ClassVar[str | None] = None  # of the operator's template

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template with the configuration of HAProxy."""
        addresses = [
            _address(request, str(each)) for each in request.properties.get(_INSTANCES) or ()
        ]
        return self._source(request, addresses)

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template for no listener: their properties may not be known yet."""
        known = {name: request.properties[name] for name in {_GROUPS} & request.properties.keys()}
        return self._source(request.with_properties(known), [])

    def _source(self, request: NestedStackRequest, addresses: list[str]) -> NestedStackSource:
        template = json.loads(_template_text(self.template_path))
        section = _server(template)
        parameters = _parameters(request, template)
        if "KeyName" not in parameters:
            template.get("Parameters", {}).pop("KeyName", None)
            section.get("Properties", {}).pop("KeyName", None)
        for key in _FILES:
            section = section.setdefault(key, {})
        section[_CONFIGURATION] = {
            "content": build_configuration(request.properties, addresses),
            "mode": "000644",
            "owner": "root",
            "group": "root",
        }
        return NestedStackSource(json.dumps(template), parameters=parameters)

    def read_attributes(
        self, view: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the address as the name in the DNS; the other attributes are empty texts."""
        values, errors = view.evaluate_outputs()
        recorder = AttributeRecorder()
        if _ADDRESS_OUTPUT in errors:
            recorder.errors = {attribute_path_key(("DNSName",)): errors[_ADDRESS_OUTPUT]}
        others = dict.fromkeys(self.schema.attributes, "")
        return {**others, "DNSName": values.get(_ADDRESS_OUTPUT)} | recorder.as_attributes()

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the resource's name."""
        return context.name

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a health check that takes longer than the time between two.

        Raises:
            StackValidationFailed: The interval is shorter than the timeout.
        """
        check = properties.get("HealthCheck") or {}
        interval, timeout = check.get("Interval"), check.get("Timeout")
        if isinstance(interval, int) and isinstance(timeout, int) and interval < timeout:
            raise StackValidationFailed("Interval must be larger than Timeout", path="HealthCheck")


def _server(template: Mapping[str, Json]) -> dict[str, Json]:
    """Return the definition of the server.

    Raises:
        StackValidationFailed: The operator's template has none.
    """
    resources = template.get("Resources") if isinstance(template, dict) else None
    found = resources.get(_SERVER) if isinstance(resources, dict) else None
    if not isinstance(found, dict):
        raise StackValidationFailed(f"The template of load balancers has no resource {_SERVER}.")
    return found


def _address(request: NestedStackRequest, reference: str) -> str:
    """Return the address of an instance, by its reference."""
    for dependency in request.dependencies.values():
        if dependency.physical_id == reference:
            return first_address(dependency.attributes)
    return NO_ADDRESS


def _parameters(request: NestedStackRequest, template: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values of the template's parameters that the stack or the property has."""
    values = {**request.environment.parameters, **request.owner_parameters}
    found = {
        name: values[name]
        for name in _OWNER_PARAMETERS
        if isinstance(values.get(name), str | int | float)
    }
    groups = request.properties.get(_GROUPS)
    if isinstance(groups, list) and all(isinstance(each, str) for each in groups):
        found[_GROUPS] = ",".join(groups)
    declared = template.get("Parameters") or {}
    return {name: value for name, value in found.items() if name in declared}


@cache
def _template_text(path: str | None) -> str:
    """Return the template as JSON: the operator's, or that of this package.

    Raises:
        StackValidationFailed: The operator's cannot be read.
    """
    own = files("heat_convergence.resources.aws.load_balancing").joinpath("load_balancer.yaml")
    try:
        text = (own if path is None else Path(path)).read_text("utf-8")
        return json.dumps(load_document(text).data)
    except (OSError, ValueError, Error) as error:
        raise StackValidationFailed("The template of load balancers cannot be read.") from error
