"""Templates that belong to no stack: validation, versions, functions.

Called by the root controller.  Writes nothing.
"""

from __future__ import annotations

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.list_queries import (
    RESOURCE_TYPE_UNAVAILABLE,
    parse_ignored_errors,
)
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.stack_builder import StackBuilder
from heat_convergence.api.template_source import reject_resource_list
from heat_convergence.api.views.nested_parameters import format_nested_parameters
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template import template_views
from heat_convergence.template.parameters.parameter_values import MissingParameters

_NO_STACK = "validated"  # the name that a template sees where there is no stack


class TemplatesController(Controller):
    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._goals = StackBuilder(services)
        self._sources = self._goals.sources

    def validate(self, request: ApiRequest) -> webob.Response:
        """Parameters may be missing; what reads them is left unchecked."""
        query = QueryParams(request.GET)
        ignored = parse_ignored_errors(query)
        show_nested = query.boolean("show_nested")
        body = parse_stack_body(request.json_object, BodyPurpose.VALIDATE)
        source = self._sources.from_request(body, section_error=errors.HTTPBadRequest)
        reject_resource_list(source)
        stack = self._nowhere(request)
        problems = source.template.new_diagnostics()
        evaluated = self._goals.evaluate(
            source, stack, missing_parameters=MissingParameters.ALLOW, diagnostics=problems
        )
        checked = self._goals.validate(
            evaluated,
            source,
            self._goals.template_files(source),
            stack,
            problems,
            allow_absent_services=RESOURCE_TYPE_UNAVAILABLE in ignored,
            missing_parameters=MissingParameters.ALLOW,
        )
        problems.raise_if_any()
        view = template_views.validation_view(evaluated, source.environment)
        if show_nested:
            # Templates that nest one another many times make an answer without end.
            quotas.check_resource_count(checked.resource_count, self.services.options)
            view |= format_nested_parameters(checked.nested)
        return json_response(view)

    def versions(self, _request: ApiRequest) -> webob.Response:
        return json_response({"template_versions": template_views.template_versions()})

    def functions(self, request: ApiRequest, template_version: str) -> webob.Response:
        with_conditions = QueryParams(request.GET).boolean("with_condition_func")
        shown = template_views.template_functions(
            template_version,
            with_conditions=with_conditions,
            plugins={name: each.summary for name, each in self.services.functions.items()},
        )
        return json_response({"template_functions": shown})

    def _nowhere(self, request: ApiRequest) -> Stack:
        return Stack(
            id=self.services.ids(),
            name=_NO_STACK,
            project_id=request.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id="",
            created_at=self.services.clock(),
        )
