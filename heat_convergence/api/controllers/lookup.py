"""From a stack's name, or its id alone, to its full URL: 302 for every method.

Decides the target of a redirect; the client repeats its method there.
"""

from __future__ import annotations

import re

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.views.links import stack_path_url
from heat_convergence.api.wire import ApiRequest, text_answer
from heat_convergence.common import errors
from heat_convergence.db.reads import stacks

_ARN = re.compile(r"arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
                  r"(?P<below>/.+)?")


class LookupController(Controller):
    def stack(self, request: ApiRequest, stack_name: str) -> webob.Response:
        return self._redirect(request, stack_name, "")

    def below(self, request: ApiRequest, stack_name: str, below: str) -> webob.Response:
        return self._redirect(request, stack_name, f"/{below}")

    def arn(self, request: ApiRequest, arn: str) -> webob.Response:
        """Taken apart and not looked up; another project's is refused."""
        parts = _ARN.fullmatch(arn)
        if parts is None:
            raise errors.HTTPBadRequest(f'Invalid stack identifier "{arn}".')
        if parts["project"] != request.project_id:
            raise errors.Forbidden("The stack identifier is of another project.")
        url = stack_path_url(request.base_url, parts["project"], parts["name"], parts["id"])
        return _found(request, url + (parts["below"] or ""))

    def _redirect(self, request: ApiRequest, key: str, below: str) -> webob.Response:
        with self.database.read() as conn:
            stack = stacks.find(conn, request.project_id, key)
        if stack is None:
            raise errors.EntityNotFound("Stack", key)
        url = stack_path_url(request.base_url, stack.project_id, stack.name, stack.id)
        return _found(request, url + below)


def _found(request: ApiRequest, url: str) -> webob.Response:
    answer = text_answer(302)
    answer.location = url + (f"?{request.query_string}" if request.query_string else "")
    return answer
