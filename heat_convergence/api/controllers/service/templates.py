"""Templates that belong to no stack: validation, versions, functions.

Called by the root controller.  Must not write anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.list_queries import (
    RESOURCE_TYPE_UNAVAILABLE,
    parse_ignored_errors,
)
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views.nested_parameters import format_nested_parameters
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.stacks.source.template_source import reject_resource_list
from heat_convergence.template import template_views
from heat_convergence.template.diagnostics import ERROR_SEPARATOR

_STACK_NAME = "validated"  # the name that a template sees where there is no stack


@contextmanager
def _errors_of_validation() -> Iterator[None]:
    """Raise mistakes of a template as errors of the request, in the form that clients match."""
    try:
        yield
    except (errors.StackValidationFailed, errors.InvalidRequestType) as error:
        found = errors.HTTPBadRequest(_with_single_colons(str(error)))
        found.summary = _with_single_colons(error.summary)
        raise found from error


def _with_single_colons(text: str) -> str:
    return text.replace(ERROR_SEPARATOR, ": ")


class TemplatesController(Controller):
    """The handlers of ``/validate`` and ``/template_versions``."""

    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._builder = StackBuilder(services)

    def validate(self, request: ApiRequest) -> webob.Response:
        """Validate a template whose parameters may be missing."""
        query = QueryParams(request.GET)
        ignored = parse_ignored_errors(query)
        show_nested = query.boolean("show_nested")
        body = parse_stack_body(request.json_object, BodyPurpose.VALIDATE)
        source = self._builder.sources.from_request(body, section_error=errors.HTTPBadRequest)
        with _errors_of_validation():
            reject_resource_list(source)
            evaluated, result = self._builder.validator.validate_template(
                source,
                self._unstored_stack(request),
                allow_absent_services=RESOURCE_TYPE_UNAVAILABLE in ignored,
            )
        view = template_views.validation_view(evaluated, source.environment)
        if show_nested:
            # Templates that nest one another many times would make an endless answer.
            quotas.check_resource_count(result.resource_count, self.services.options)
            view |= format_nested_parameters(result.nested)
        return json_response(view)

    def versions(self, _request: ApiRequest) -> webob.Response:
        """List the template versions."""
        return json_response({"template_versions": template_views.template_versions()})

    def functions(self, request: ApiRequest, template_version: str) -> webob.Response:
        """List the functions of a template version."""
        with_conditions = QueryParams(request.GET).boolean("with_condition_func")
        shown = template_views.template_functions(
            template_version,
            with_conditions=with_conditions,
            plugins={name: each.summary for name, each in self.services.functions.items()},
        )
        return json_response({"template_functions": shown})

    def _unstored_stack(self, request: ApiRequest) -> Stack:
        return Stack(
            id=self.services.ids(),
            name=_STACK_NAME,
            project_id=request.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id="",
            created_at=self.services.clock(),
        )
