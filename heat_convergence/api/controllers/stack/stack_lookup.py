"""From a stack's name, or its id alone, to its full URL: 302 for every method.

Decides the target of a redirect; the client repeats its method there.
"""

from __future__ import annotations

import re
from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, text_response
from heat_convergence.api.views.links import stack_path_url
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads import stacks

_ARN = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
    r"(?P<below>/.+)?"
)


class StackLookupController(Controller):
    def by_name(self, request: ApiRequest, stack_name: str) -> webob.Response:
        return self._redirect(request, stack_name, "")

    def by_name_with_subpath(
        self, request: ApiRequest, stack_name: str, below: str
    ) -> webob.Response:
        return self._redirect(request, stack_name, f"/{below}")

    def by_arn(self, request: ApiRequest, arn: str) -> webob.Response:
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
            stack = stacks.find_by_id_or_name(conn, request.project_id, key) or _made_by(
                conn, request, key
            )
        if stack is None:
            raise errors.EntityNotFound("Stack", key)
        project_id = request.project_id  # the owner's, or that of the stack's own user
        url = stack_path_url(request.base_url, project_id, stack.name, stack.id)
        return _found(request, url + below)


def _made_by(conn: Any, request: ApiRequest, key: str) -> Stack | None:
    """The stack of that id or name in whose tree the calling user was made."""
    tree_id = request.caller.stack_user_tree_id
    if tree_id is None:
        return None
    candidates = (stacks.get(conn, key), stacks.get(conn, tree_id))
    for stack in candidates:
        if stack is not None and stack.tree_id == tree_id and key in (stack.id, stack.name):
            return stack
    return None


def _found(request: ApiRequest, url: str) -> webob.Response:
    answer = text_response(302)
    answer.location = url + (f"?{request.query_string}" if request.query_string else "")
    return answer
