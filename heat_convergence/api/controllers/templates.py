"""Templates that belong to no stack: validation, versions, functions.

Called by the root controller.  Writes nothing.
"""

from __future__ import annotations

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.goals import Goals
from heat_convergence.api.requests.listing import SERVICE_ABSENT, ignored_errors
from heat_convergence.api.requests.stack import Use, stack_body
from heat_convergence.api.requests.words import Query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.sources import refuse_list
from heat_convergence.api.views.nested import nested_view
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence.model import Action, Stack, Status
from heat_convergence.template import describe
from heat_convergence.template.parameter_values import Missing

_NO_STACK = "validated"  # the name that a template sees where there is no stack


class TemplatesController(Controller):
    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._goals = Goals(services)
        self._sources = self._goals.sources

    def validate(self, request: ApiRequest) -> webob.Response:
        """Parameters may be missing; what reads them is left unchecked."""
        query = Query(request.GET)
        ignored = ignored_errors(query)
        show_nested = query.boolean("show_nested")
        body = stack_body(request.document, Use.VALIDATE)
        source = self._sources.given(body, section_error=errors.HTTPBadRequest)
        refuse_list(source)
        stack = self._nowhere(request)
        problems = source.template.problems()
        evaluated = self._goals.evaluate(
            source, stack, missing=Missing.ALLOW, problems=problems
        )
        checked = self._goals.check(
            evaluated,
            source,
            self._goals.files_of(source),
            stack,
            problems,
            absent_services=SERVICE_ABSENT in ignored,
            missing=Missing.ALLOW,
        )
        problems.raise_any()
        view = describe.validation_view(evaluated, source.environment)
        if show_nested:
            # Templates that nest one another many times make an answer without end.
            quotas.check_resource_count(checked.count, self.given.options)
            view |= nested_view(checked.nested)
        return json_answer(view)

    def versions(self, _request: ApiRequest) -> webob.Response:
        return json_answer({"template_versions": describe.template_versions()})

    def functions(self, request: ApiRequest, template_version: str) -> webob.Response:
        with_conditions = Query(request.GET).boolean("with_condition_func")
        shown = describe.template_functions(
            template_version,
            with_conditions=with_conditions,
            plugins={name: each.summary for name, each in self.given.functions.items()},
        )
        return json_answer({"template_functions": shown})

    def _nowhere(self, request: ApiRequest) -> Stack:
        return Stack(
            id=self.given.ids(),
            name=_NO_STACK,
            project_id=request.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id="",
            created_at=self.given.clock(),
        )
