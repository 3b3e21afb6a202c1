"""Resource types: their list, their schemas, and a template to start from.

Called by the root controller.  Hides types that policy keeps from the caller, and
those whose service the caller's catalog lacks.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.list_queries import (
    parse_support_status,
    parse_template_type,
)
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import cloud_access_as_user
from heat_convergence.common import errors
from heat_convergence.stacks.source.operator_types import read_operator_types
from heat_convergence.template.environment.environment import Environment


class ResourceTypesController(Controller):
    """The handlers of ``/resource_types``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        operator = services.global_environment or Environment()
        templates = read_operator_types(services)
        registry = services.registry.with_names(operator.registry.further_names())
        self._registry = registry.with_types(templates.types)
        self._template_mistakes = templates.mistakes
        self._enforcer = enforcer

    def index(self, request: ApiRequest) -> webob.Response:
        """List the resource types."""
        query = QueryParams(request.GET)
        described = query.boolean("with_description")
        types = self._registry.list_view(
            with_description=described,
            support_status=parse_support_status(query),
            name=query.last("name"),
            version=query.last("version"),
        )
        named = ((each["resource_type"] if described else each, each) for each in types)
        with cloud_access_as_user(self.services, request):
            shown = [
                each
                for name, each in named
                if self._is_allowed(request, name) and self._is_available(name)
            ]
        return json_response({"resource_types": shown})

    def show(self, request: ApiRequest, type_name: str) -> webob.Response:
        """Show the schema of a resource type."""
        self._refuse_unusable(request, type_name)
        return json_response(self._registry.schema_view(type_name))

    def template(self, request: ApiRequest, type_name: str) -> webob.Response:
        """Generate a template with one resource of the type."""
        template_type = parse_template_type(QueryParams(request.GET))
        self._refuse_unusable(request, type_name)
        return json_response(self._registry.generate_template(type_name, template_type))

    def _is_allowed(self, request: ApiRequest, name: str) -> bool:
        """Return whether policy allows the type that a name stands for."""
        found = self._registry.find(name)
        return self._enforcer.allows_type(request, name if found is None else found.name)

    def _is_available(self, name: str) -> bool:
        """Return whether the caller's catalog has the service of a type, with all it needs."""
        found = self._registry.get(name)
        try:
            found.check_available()
            found.check_extension()
        except errors.ResourceTypeUnavailable:
            return False
        return True

    def _refuse_unusable(self, request: ApiRequest, type_name: str) -> None:
        """Raise what keeps the caller from a type, or the type from having a schema."""
        if not self._is_allowed(request, type_name):
            raise errors.Forbidden(f"You are not authorized to use {type_name}.")
        mistake = self._template_mistakes.get(type_name)
        if mistake is not None:
            raise errors.InvalidGlobalResource(type_name, mistake)
