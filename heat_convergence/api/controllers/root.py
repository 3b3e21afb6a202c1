"""The root controller: from a request to its route, policy rule and handler.

Called by pecan.  Decides 404, 405, OPTIONS and the project of the request, before any
handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pecan
import webob
from pecan.hooks import PecanHook

from heat_convergence.api.controllers.base import sender_of
from heat_convergence.api.http import OWN_RESOURCE_KEY, ApiRequest, empty_response
from heat_convergence.api.middleware.faults import MethodNotAllowed, RouteNotFound
from heat_convergence.api.middleware.request_metrics import RequestMetrics
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import RouteTable
from heat_convergence.common import errors
from heat_convergence.resources.reference_scope import STACK_USER_RULES
from heat_convergence.template.evaluation_budget import request_budget
from heat_convergence.template.limits import TemplateLimits

ReadRetry = Callable[[Callable[[], webob.Response]], webob.Response]
Handler = Callable[[ApiRequest, Any], webob.Response]
RequestScope = Callable[[ApiRequest], AbstractContextManager[None]]

MAX_PROJECT_ID_LENGTH = 64


class JsonContentTypeHook(PecanHook):  # type: ignore[misc]  # untyped library
    """A hook that keeps pecan from evaluating the Accept header."""

    def on_route(self, state: Any) -> None:
        """Set the content type; handlers make their own responses."""
        state.request.pecan["content_type"] = "application/json"


class RootController:
    """The controller of every path, which hands requests to the others."""

    def __init__(
        self,
        controllers: Mapping[str, Any],
        enforcer: PolicyEnforcer,
        retry_read: ReadRetry,
        routes: Sequence[Route],
        limits: TemplateLimits,
        request_scope: RequestScope = lambda _: nullcontext(),
    ) -> None:
        """Keep the handlers and the table.

        Args:
            controllers: by the first part of a route's handler.
            enforcer: checks the routes' policy rules.
            retry_read: runs a read, more than once where that can help.
            routes: the table.
            limits: bound what the request evaluates.
            request_scope: a context for every request.
        """
        self._request_scope = request_scope
        self._limits = limits
        self._controllers = controllers
        self._enforcer = enforcer
        self._retry_read = retry_read
        self._table = RouteTable(routes)

    def route(self, path: str, request: ApiRequest) -> Handler:
        """Return the method that answers a request, after the policy's rule of its route.

        Args:
            path: the project and what follows it, without a slash before it.
            request: the request, which gets its route and its project.

        Raises:
            RouteNotFound: there is no such path.
            MethodNotAllowed: the path has other methods.
            Forbidden: the caller may not do this.
        """
        project_id, _, path = path.partition("/")
        known = 0 < len(project_id) <= MAX_PROJECT_ID_LENGTH
        match = self._table.match(request.method, f"/{path}") if known else None
        if match is None:
            raise RouteNotFound(request.path)
        if match.route is None and request.method == "OPTIONS":
            request.route_match = match
            options: Handler = self.options
            return options
        if match.route is None:
            raise MethodNotAllowed(request.path)
        RequestMetrics.set_note(request.environ, match.route.path)
        request.route_match, request.project_id = match, self._project(request, project_id)
        request.caller.is_cloud_admin = self._enforcer.is_cloud_admin(request)
        _require_stack_user_rule(request, match.route)
        if match.route.policy_rule is not None:
            self._enforcer.enforce(request, match.route.policy_rule)
        dispatch: Handler = self.dispatch
        return dispatch

    @pecan.expose(content_type="application/json")  # type: ignore[untyped-decorator]  # of pecan
    def options(self, request: ApiRequest, _response: Any) -> webob.Response:
        """Answer OPTIONS with the methods of the path."""
        response = empty_response()
        response.allow = request.route_match.allowed_methods
        return response

    @pecan.expose(content_type="application/json")  # type: ignore[untyped-decorator]  # of pecan
    def dispatch(self, request: ApiRequest, _response: Any) -> webob.Response:
        """Run the handler of the route."""
        route = request.route_match.route
        if route is None:
            raise MethodNotAllowed(request.path)
        noun, _, verb = route.handler.partition(".")
        handler = getattr(self._controllers[noun], verb)
        with request_budget(self._limits), self._request_scope(request):
            if route.method != "GET":
                return handler(request, **request.route_match.arguments)
            # A read may be repeated over a new connection.
            return self._retry_read(lambda: handler(request, **request.route_match.arguments))

    @staticmethod
    def _project(request: ApiRequest, project_id: str) -> str:
        """Return the project of the request; an administrator's is that of the token."""
        caller = request.caller
        if caller.project_id == project_id:
            return project_id
        if "admin" in caller.roles and caller.project_id:
            return caller.project_id
        raise errors.HTTPForbidden("The token is not for the project that the URL names.")


def _require_stack_user_rule(request: ApiRequest, route: Route) -> None:
    """Refuse routes that no user of a stack may reach, whatever the operator's policies are."""
    known = route.policy_rule in STACK_USER_RULES or OWN_RESOURCE_KEY in request.environ
    if sender_of(request).is_stack_user and not known:
        raise errors.Forbidden("You are not authorized to use this resource.")
