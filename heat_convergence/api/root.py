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

from heat_convergence.api.middleware.faults import UnknownPath, WrongMethod
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.routes import Route, Table
from heat_convergence.api.wire import ApiRequest, empty_answer
from heat_convergence.common import errors

Again = Callable[[Callable[[], webob.Response]], webob.Response]
Around = Callable[[ApiRequest], AbstractContextManager[None]]
Routes = Sequence[Route]


MAX_PROJECT_ID = 64


class JsonOnly(PecanHook):  # type: ignore[misc]  # untyped library
    """Every answer is made by its handler: pecan need not weigh the Accept header."""

    def on_route(self, state: Any) -> None:
        state.request.pecan["content_type"] = "application/json"


class Root:
    """``controllers`` maps the first part of a route's handler to an object;
    ``again`` runs a read, more than once where that can help; ``around`` is what
    every other request is handled inside."""

    def __init__(
        self,
        controllers: Mapping[str, Any],
        enforcer: Enforcer,
        again: Again,
        routes: Routes,
        around: Around = lambda _: nullcontext(),
    ) -> None:
        self._around = around
        self._controllers = controllers
        self._enforcer = enforcer
        self._again = again
        self._table = Table(routes)

    @pecan.expose(content_type="application/json")
    def _route(self, remainder: list[str], request: ApiRequest) -> tuple[Any, list[str]]:
        project_id, _, below = "/".join(remainder).partition("/")
        known = 0 < len(project_id) <= MAX_PROJECT_ID
        match = self._table.match(request.method, f"/{below}") if known else None
        if match is None:
            raise UnknownPath(request.path)
        if match.route is None and request.method == "OPTIONS":
            request.match = match
            return self.options, []
        if match.route is None:
            raise WrongMethod(request.path)
        request.match, request.project_id = match, self._project(request, project_id)
        if match.route.rule is not None:
            self._enforcer.check(request, match.route.rule)
        return self.call, []

    @pecan.expose(content_type="application/json")
    def options(self, request: ApiRequest, _response: Any) -> webob.Response:
        answer = empty_answer()
        answer.allow = request.match.allowed
        return answer

    @pecan.expose(content_type="application/json")
    def call(self, request: ApiRequest, _response: Any) -> webob.Response:
        route = request.match.route
        if route is None:
            raise WrongMethod(request.path)
        noun, _, verb = route.handler.partition(".")
        handler = getattr(self._controllers[noun], verb)
        if route.method != "GET":
            with self._around(request):
                return handler(request, **request.match.arguments)
        # What only reads may be read again, over a new connection.
        return self._again(lambda: handler(request, **request.match.arguments))

    @staticmethod
    def _project(request: ApiRequest, project_id: str) -> str:
        """The project meant: an administrator's is that of the token."""
        caller = request.caller
        if caller.project_id == project_id:
            return project_id
        if "admin" in caller.roles and caller.project_id:
            return caller.project_id
        raise errors.HTTPForbidden("The token is not for the project that the URL names.")
