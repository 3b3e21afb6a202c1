"""Requests to the handlers of the Orchestration API, as the caller of this one.

Decides how an action finds its stack. Whatever is read, checked or changed is decided by those
handlers and their policies; what the Orchestration API has no request for is in ``project_rows``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

import webob

from heat_convergence.api.cfn.cfn_errors import CfnError, access_denied
from heat_convergence.api.cfn.identifiers import StackIdentity
from heat_convergence.api.cfn.project_rows import ProjectRows
from heat_convergence.api.context import Caller
from heat_convergence.api.http import CALLER_KEY, OWN_RESOURCE_KEY
from heat_convergence.api.middleware.faults import (
    MethodNotAllowed,
    RouteNotFound,
    WsgiApplication,
)

Json = Any


class StackApi:
    """The Orchestration API for one request."""

    def __init__(
        self, application: WsgiApplication, environ: Mapping[str, Any], rows: ProjectRows
    ) -> None:
        """Keep the application, the environment that names the caller, and reads of a project."""
        self._application = application
        self.rows = rows
        self._environ = {
            key: value
            for key, value in environ.items()
            if not key.startswith(("webob.", "HTTP_CONTENT", "HTTP_TRANSFER"))
        }
        self.caller: Caller = environ[CALLER_KEY]

    @property
    def project_id(self) -> str:
        """The project of the caller."""
        return str(self.caller.project_id)

    def for_own_resource(self) -> StackApi:
        """Return the API for the agent of a resource, to read the resource itself.

        Only after a request of the agent has read the metadata of the same resource: users of
        stacks reach no other route than that.
        """
        agent = Caller(
            user_id=self.caller.user_id,
            project_id=self.caller.project_id,
            project_name=self.caller.project_name,
            roles=[*self.caller.roles, "reader"],
            is_admin=False,
        )
        agent.stack_user_tree_id = self.caller.stack_user_tree_id
        environ = {**self._environ, CALLER_KEY: agent, OWN_RESOURCE_KEY: True}
        return StackApi(self._application, environ, self.rows)

    def call(
        self, method: str, path: str, body: Json = None, query: Mapping[str, str] | None = None
    ) -> Json:
        """Send a request about the caller's project; return the document, or None without one.

        Raises:
            CfnError: There is no such path.
            Error: The handler refuses the request.
        """
        response = self._send(method, path, body, query)
        if response.status_int >= 400:
            message = f"{response.status} for {path[:80]}"
            raise CfnError("InvalidParameterValue", message)
        if response.status_int in (301, 302):
            return response.location
        return response.json if response.body else None

    def _send(
        self, method: str, path: str, body: Json, query: Mapping[str, str] | None
    ) -> webob.Response:
        text = b"" if body is None else json.dumps(body).encode()
        url = f"/{quote(self.project_id, safe='')}{path}"
        environ = {
            **self._environ,
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote(url).encode().decode("latin-1"),
            "QUERY_STRING": urlencode(query or {}),
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(text)),
            "HTTP_ACCEPT": "application/json",
            "wsgi.input": io.BytesIO(text),
        }
        try:
            return webob.Request(environ).get_response(self._application)
        except (RouteNotFound, MethodNotAllowed) as error:
            raise CfnError("InvalidParameterValue", f"There is no {path[:80]}") from error

    def find_stack(self, name: str) -> StackIdentity:
        """Return the stack that a name, id or ARN names.

        Raises:
            CfnError: The ARN is of another project.
            Error: There is no such stack.
        """
        found = StackIdentity.parse(name)
        if found is not None:
            if self.caller.stack_user_tree_id is None and found.project_id != self.project_id:
                raise access_denied()
            return found
        location = self.call("GET", f"/stacks/{path_segment(name)}")
        path = urlsplit(str(location)).path.rpartition("/stacks/")[2]
        stack_name, _, stack_id = path.partition("/")
        return StackIdentity(self.project_id, unquote(stack_name), stack_id)

    def stack_path(self, identity: StackIdentity, suffix: str = "") -> str:
        """Return the path of a stack, or of something in it."""
        name, stack_id = path_segment(identity.name), path_segment(identity.stack_id)
        return f"/stacks/{name}/{stack_id}{suffix}"


def path_segment(name: str) -> str:
    """Return a name for a path of the Orchestration API.

    Raises:
        CfnError: The name would be more than one segment of the path.
    """
    if "/" in name:
        raise CfnError("InvalidParameterValue", f"The name {name[:80]!r} has a slash.")
    return quote(name, safe="")
