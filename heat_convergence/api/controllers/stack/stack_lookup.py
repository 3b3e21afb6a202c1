"""Redirects from a stack's name, or its id alone, to its full URL.

Called by the root controller for every method; the client repeats it at the target.
"""

from __future__ import annotations

import re
from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, status_response
from heat_convergence.api.views.links import stack_path_url
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads import stacks

_ARN = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
    r"(?P<subpath>/.+)?"
)


class StackLookupController(Controller):
    """The handlers of incomplete stack paths."""

    def by_name(self, request: ApiRequest, stack_name: str) -> webob.Response:
        """Redirect to the stack of that name or id."""
        return self._redirect(request, stack_name, "")

    def by_name_with_subpath(
        self, request: ApiRequest, stack_name: str, subpath: str
    ) -> webob.Response:
        """Redirect to a path subpath the stack of that name or id."""
        return self._redirect(request, stack_name, f"/{subpath}")

    def by_arn(self, request: ApiRequest, arn: str) -> webob.Response:
        """Redirect to the parts of the identifier, without a look at the database."""
        parts = _ARN.fullmatch(arn)
        if parts is None:
            raise errors.HTTPBadRequest(f'Invalid stack identifier "{arn}".')
        if parts["project"] != request.project_id and not request.caller.is_cloud_admin:
            raise errors.Forbidden("The stack identifier is of another project.")
        url = stack_path_url(request.base_url, request.project_id, parts["name"], parts["id"])
        return _found(request, url + (parts["subpath"] or ""))

    def _redirect(self, request: ApiRequest, key: str, subpath: str) -> webob.Response:
        with self.database.read() as conn:
            stack = stacks.find_by_id_or_name(conn, request.project_id, key) or _of_others(
                conn, request, key
            )
        if stack is None:
            raise errors.EntityNotFound("Stack", key)
        project_id = request.project_id  # the caller's, whose URL clients go on with
        url = stack_path_url(request.base_url, project_id, stack.name, stack.id)
        return _found(request, url + subpath)


def _of_others(conn: Any, request: ApiRequest, key: str) -> Stack | None:
    """Return a stack of another project that the caller may find there."""
    if request.caller.is_cloud_admin:
        return stacks.get(conn, key)
    return _of_stack_user(conn, request, key)


def _of_stack_user(conn: Any, request: ApiRequest, key: str) -> Stack | None:
    """Return the stack of that id or name in the tree that created the calling user."""
    tree_id = request.caller.stack_user_tree_id
    if tree_id is None:
        return None
    stack = stacks.get(conn, key)
    if stack is not None and stack.tree_id == tree_id:
        return stack
    return stacks.find_in_tree_by_name(conn, tree_id, key)


def _found(request: ApiRequest, url: str) -> webob.Response:
    query = f"?{request.query_string}" if request.query_string else ""
    return status_response(request, 302, url + query)
