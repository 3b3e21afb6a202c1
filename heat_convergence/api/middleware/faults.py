"""Any exception into the error envelope that clients read.

Decides the status and body of everything that is no success.  Wraps the whole
pipeline below the request id; lets nothing of the service's inside out.
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
    """No route has this path: 404 in plain text, without an envelope."""


class MethodNotAllowed(Exception):
    """The path is known and the method is not."""


class FaultWrapper:
    """WSGI middleware: the last place an exception can get to."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            return self._application(environ, start_response)
        except RouteNotFound:
            answer = not_found_response()
        except MethodNotAllowed:
            answer = error_response(
                405, "HTTPMethodNotAllowed", "The method is not supported here."
            )
        except errors.Error as error:
            answer = _known(error)
        except webob.exc.HTTPException as error:
            answer = _from_library(error)
        except Exception:  # the outermost place: counted and told, never shown
            LOG.exception(
                "request failed: %(method)s %(path)s",
                {"method": environ.get("REQUEST_METHOD"), "path": environ.get("PATH_INFO")},
            )
            answer = error_response(500, "Error", "The service failed to handle the request.")
        return answer(environ, start_response)


def not_found_response() -> webob.Response:
    return webob.Response(
        status=404,
        content_type="text/plain",
        charset="UTF-8",
        text="404 Not Found\n\nThe resource could not be found.\n\n",
    )


def error_response(status: int, kind: str, message: str) -> webob.Response:
    """``{code, title, explanation, error: {type, traceback, message}}``."""
    known = webob.exc.status_map[status]
    return json_response(
        {
            "code": status,
            "title": known.title,
            "explanation": " ".join(known.explanation.split()),
            "error": {"type": kind, "traceback": None, "message": message},
        },
        status,
    )


def _known(error: errors.Error) -> webob.Response:
    if error.http_status == 503:
        # Something we need is away, as one line tells; every request will say it again.
        LOG.warning("request refused for now: %(error)s", {"error": error})
    elif error.http_status >= 500:
        LOG.error("request failed: %(error)s", {"error": error}, exc_info=error)
    kind = getattr(error, "wire_type", None) or type(error).__name__
    answer = error_response(error.http_status, kind, str(error))
    if error.http_status == 503:
        answer.retry_after = 5
    return answer


def _from_library(error: webob.exc.HTTPException) -> webob.Response:
    answer: webob.Response = error  # every HTTPException of webob is a response
    if answer.status_int < 400:
        return answer
    return error_response(answer.status_int, type(error).__name__, error.detail or error.title)
