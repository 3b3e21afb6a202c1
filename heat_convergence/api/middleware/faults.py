"""The error envelope that clients read, for any exception.

Decides status and body of every response that is no success.  Wraps the whole pipeline
inside the request id; must not reveal internals of the service.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import webob
import webob.exc

from heat_convergence.api.http import json_response
from heat_convergence.common import errors

LOG = logging.getLogger(__name__)
WsgiApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class RouteNotFound(Exception):
    """A path without a route: 404 in plain text, without an envelope."""


class MethodNotAllowed(Exception):
    """A method that its known path does not have."""


class FaultWrapper:
    """WSGI middleware that catches every exception."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request and turn any exception into an error response."""
        try:
            return self._application(environ, start_response)
        except RouteNotFound:
            response = not_found_response()
        except MethodNotAllowed:
            response = error_response(
                405, "HTTPMethodNotAllowed", "The method is not supported here."
            )
        except errors.Error as error:
            response = _known(error)
        except webob.exc.HTTPException as error:
            response = _from_library(error)
        except Exception:  # the outermost place: logged, never shown
            LOG.exception(
                "request failed: %(method)s %(path)s",
                {"method": environ.get("REQUEST_METHOD"), "path": environ.get("PATH_INFO")},
            )
            response = error_response(500, "Error", "The service failed to handle the request.")
        body: Iterable[bytes] = response(environ, start_response)
        return body


def not_found_response() -> webob.Response:
    """Return the plain 404 response."""
    return webob.Response(
        status=404,
        content_type="text/plain",
        charset="UTF-8",
        text="404 Not Found\n\nThe resource could not be found.\n\n",
    )


def error_response(status: int, error_type: str, message: str) -> webob.Response:
    """Return a response with the error envelope.

    Args:
        status: HTTP status.
        error_type: the class name that clients tell errors apart by.
        message: for people.
    """
    known = webob.exc.status_map[status]
    return json_response(
        {
            "code": status,
            "title": known.title,
            "explanation": " ".join(known.explanation.split()),
            "error": {"type": error_type, "traceback": None, "message": message},
        },
        status,
    )


def _known(error: errors.Error) -> webob.Response:
    if error.http_status == 503:
        # A dependency is unavailable: one line a request is enough.
        LOG.warning("request refused for now: %(error)s", {"error": error})
    elif error.http_status >= 500:
        LOG.error("request failed: %(error)s", {"error": error}, exc_info=error)
    error_type = getattr(error, "wire_type", None) or type(error).__name__
    response = error_response(error.http_status, error_type, str(error))
    if error.http_status == 503:
        response.retry_after = 5
    return response


def _from_library(error: webob.exc.HTTPException) -> webob.Response:
    response: webob.Response = error  # every HTTPException of webob is a response
    if response.status_int < 400:
        return response
    return error_response(response.status_int, type(error).__name__, error.detail or error.title)
