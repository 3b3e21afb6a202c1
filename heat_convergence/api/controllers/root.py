"""The root controller: a request to its route, its policy rule and its handler.

Called by pecan.  Decides 404, 405, OPTIONS and whose project is meant; the
handlers begin with all of that settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pecan
import webob
from pecan.hooks import PecanHook

from heat_convergence.api.http import ApiRequest, empty_response
from heat_convergence.api.middleware.faults import MethodNotAllowed, RouteNotFound
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.routes import Route, RouteTable
from heat_convergence.common import errors

ReadRetry = Callable[[Callable[[], webob.Response]], webob.Response]
RequestScope = Callable[[ApiRequest], AbstractContextManager[None]]
RouteSequence = Sequence[Route]


MAX_PROJECT_ID_LENGTH = 64


class JsonContentTypeHook(PecanHook):  # type: ignore[misc]  # untyped library
    """Every answer is made by its handler: pecan need not weigh the Accept header."""

    def on_route(self, state: Any) -> None:
        state.request.pecan["content_type"] = "application/json"


class RootController:
    """``controllers`` maps the first part of a route's handler to an object;
    ``again`` runs a read, more than once where that can help; ``around`` is what
    every other request is handled inside."""

    def __init__(
        self,
        controllers: Mapping[str, Any],
        enforcer: PolicyEnforcer,
        retry_read: ReadRetry,
        routes: RouteSequence,
        request_scope: RequestScope = lambda _: nullcontext(),
    ) -> None:
        self._around = request_scope
        self._controllers = controllers
        self._enforcer = enforcer
        self._again = retry_read
        self._table = RouteTable(routes)

    @pecan.expose(content_type="application/json")
    def _route(self, remainder: list[str], request: ApiRequest) -> tuple[Any, list[str]]:
        project_id, _, below = "/".join(remainder).partition("/")
        known = 0 < len(project_id) <= MAX_PROJECT_ID_LENGTH
        match = self._table.match(request.method, f"/{below}") if known else None
        if match is None:
            raise RouteNotFound(request.path)
        if match.route is None and request.method == "OPTIONS":
            request.route_match = match
            return self.options, []
        if match.route is None:
            raise MethodNotAllowed(request.path)
        request.route_match, request.project_id = match, self._project(request, project_id)
        if match.route.policy_rule is not None:
            self._enforcer.enforce(request, match.route.policy_rule)
        return self.dispatch, []

    @pecan.expose(content_type="application/json")
    def options(self, request: ApiRequest, _response: Any) -> webob.Response:
        answer = empty_response()
        answer.allow = request.route_match.allowed_methods
        return answer

    @pecan.expose(content_type="application/json")
    def dispatch(self, request: ApiRequest, _response: Any) -> webob.Response:
        route = request.route_match.route
        if route is None:
            raise MethodNotAllowed(request.path)
        noun, _, verb = route.handler.partition(".")
        handler = getattr(self._controllers[noun], verb)
        if route.method != "GET":
            with self._around(request):
                return handler(request, **request.route_match.arguments)
        # What only reads may be read again, over a new connection.
        return self._again(lambda: handler(request, **request.route_match.arguments))

    @staticmethod
    def _project(request: ApiRequest, project_id: str) -> str:
        """The project meant: an administrator's is that of the token."""
        caller = request.caller
        if caller.project_id == project_id:
            return project_id
        if "admin" in caller.roles and caller.project_id:
            return caller.project_id
        raise errors.HTTPForbidden("The token is not for the project that the URL names.")
