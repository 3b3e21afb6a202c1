"""The error envelope that clients read, for any exception.

Decides status and body of every response that is no success.  Wraps the whole pipeline
inside the request id; must not reveal internals of the service: a 5xx has the id of the request,
under which the log has the cause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import webob
import webob.exc

from heat_convergence.api.http import json_response
from heat_convergence.common import errors
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog

LOG = logging.getLogger(__name__)
_REQUEST_ID_KEY = "openstack.request_id"
_FIELDS = "%(error)s: method=%(method)s path=%(path)s request_id=%(request_id)s"
_FAILED, _REFUSED = f"request failed: {_FIELDS}", f"request refused for now: {_FIELDS}"
_TEXTS = {
    500: "The service failed to handle the request.",
    503: "The service cannot handle the request now. Repeat it later.",
}
WsgiApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class RouteNotFound(Exception):
    """A path without a route: 404 in plain text, without an envelope."""


class MethodNotAllowed(Exception):
    """A method that its known path does not have."""


class FaultWrapper:
    """WSGI middleware that catches every exception."""

    def __init__(self, application: WsgiApplication, errors_log: ErrorLog | None = None) -> None:
        self._application = application
        self._boundary = ErrorBoundary(BoundaryName.REQUEST, errors_log or ErrorLog())

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request and turn any exception into an error response."""

        def failed(error: Exception, error_id: str) -> Iterable[bytes]:
            cause = f"{type(error).__name__} (error id {error_id})"
            LOG.error(_FAILED, _log_fields(environ, cause))
            body: Iterable[bytes] = _failure_response(500, "Error", environ)(
                environ, start_response
            )
            return body

        return self._boundary.run(lambda: self._respond(environ, start_response), failed)

    def _respond(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            return self._application(environ, start_response)
        except RouteNotFound:
            response = webob.exc.HTTPNotFound()  # in the form that ``Accept`` asks for
        except MethodNotAllowed:
            response = error_response(
                405, "HTTPMethodNotAllowed", "The method is not supported here."
            )
        except errors.Error as error:
            response = _known(error, environ)
        except webob.exc.HTTPException as error:
            response = _from_library(error, environ)
        body: Iterable[bytes] = response(environ, start_response)
        return body


def error_response(
    status: int,
    error_type: str,
    message: str,
    summary: str = "",
    fields: Mapping[str, Any] | None = None,
) -> webob.Response:
    """Return a response with the error envelope.

    Args:
        status: HTTP status.
        error_type: the class name that clients tell errors apart by.
        message: for people.
        summary: the first mistake alone, where the message has more.
        fields: further fields of the error.
    """
    known = webob.exc.status_map[status]
    error = {"type": error_type, "traceback": None, "message": message, **(fields or {})}
    if summary:
        error["summary"] = summary
    return json_response(
        {
            "code": status,
            "title": known.title,
            "explanation": " ".join(known.explanation.split()),
            "error": error,
        },
        status,
    )


def _known(error: errors.Error, environ: dict[str, Any]) -> webob.Response:
    status = error.http_status
    if status < 500:
        return error_response(status, error.shown_type, str(error), error.summary, error.fields)
    fields = _log_fields(environ, error.log_text)
    if status == 503:
        # A dependency is unavailable: one line a request is enough.
        LOG.warning(_REFUSED, fields)
    else:
        LOG.error(_FAILED, fields, exc_info=error)
    return _failure_response(status, error.shown_type, environ)


def _from_library(error: webob.exc.HTTPException, environ: dict[str, Any]) -> webob.Response:
    response: webob.Response = error  # every HTTPException of webob is a response
    if response.status_int < 400:
        return response
    error_type = type(error).__name__
    if response.status_int >= 500:
        LOG.warning(_REFUSED, _log_fields(environ, f"{error_type}: {error}"))
        return _failure_response(response.status_int, error_type, environ)
    return error_response(response.status_int, error_type, error.detail or error.title)


def _log_fields(environ: dict[str, Any], error: str) -> dict[str, Any]:
    return {
        "method": environ.get("REQUEST_METHOD"),
        "path": quote(environ.get("PATH_INFO", ""), safe="/:", encoding="latin-1"),
        "request_id": environ.get(_REQUEST_ID_KEY, ""),
        "error": error,
    }


def _failure_response(status: int, error_type: str, environ: dict[str, Any]) -> webob.Response:
    """Return a response without the cause, which the log has under the id of the request."""
    text = _TEXTS.get(status, _TEXTS[500])
    message = f"{text} (request {environ.get(_REQUEST_ID_KEY, '')})"
    response = error_response(status, error_type, message)
    if status == 503:
        response.retry_after = 5
    return response
