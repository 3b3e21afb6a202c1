"""The request as handlers see it, and the shapes of responses.

Decides how a body is read (size, type, JSON) and how documents are encoded.  Used by
every controller; must not know any noun of the service, but for the part of a body that may be
very large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pecan
import webob
from webob.exc import status_map

from heat_convergence.api.context import Caller
from heat_convergence.api.routes.table import RouteMatch
from heat_convergence.common import errors
from heat_convergence.common.strict_json import encode_json, parse_json
from heat_convergence.template.parsing.document_loader import PACKED_SECTIONS

Json = Any
MAX_BODY_BYTES_KEY = "heat_convergence.max_body_bytes"
CALLER_KEY = "heat_convergence.caller"
OWN_RESOURCE_KEY = "heat_convergence.own_resource"  # set by this service, never by a client
BASE_URL_KEY = "heat_convergence.base_url"
_PACKED = {"template": PACKED_SECTIONS}
_PARSED_TYPES = frozenset({"", "application/json", "text/plain", "json"})
_ITEMS_PER_CHUNK = 200


class ApiRequest(pecan.Request):  # type: ignore[misc]  # untyped library
    """A request whose body is read at most once.

    Attributes:
        route_match: the route that the root controller found.
        project_id: the project that the request is about.
    """

    route_match: RouteMatch
    project_id: str
    _json_object: Mapping[str, Json] | None = None
    _read: bool = False

    @property
    def caller(self) -> Caller:
        """The caller, as the identity middleware verified it."""
        caller: Caller = self.environ[CALLER_KEY]
        return caller

    @property
    def base_url(self) -> str:
        """The base of links, as ``middleware.public_endpoint`` has decided it."""
        url: str = self.environ[BASE_URL_KEY]
        return url

    @property
    def json_object(self) -> Mapping[str, Json] | None:
        """The body's JSON object, None if there is none or its type is not read.

        Raises:
            HTTPBadRequest: the body is not JSON that can be stored.
            RequestLimitExceeded: it is too large.
        """
        if not self._read:
            self._json_object = self._parse()
            self._read = True
        return self._json_object

    @property
    def plain_json_object(self) -> Mapping[str, Json] | None:
        """The same object for what passes it on as it came: nothing in it is packed."""
        document: Mapping[str, Json] | None = parse_json(encode_json(self.json_object).decode())
        return document

    def take_json_object(self) -> Mapping[str, Json] | None:
        """Return the same object and forget it, so that it does not outlast its use."""
        document, self._json_object = self.json_object, None
        return document

    @property
    def json(self) -> Json:
        """The same object; pecan reads it to find arguments."""
        return self.json_object

    @property
    def params(self) -> Any:
        """The query string: a body never holds form fields here."""
        return self.GET

    def require_json_object(self) -> Mapping[str, Json]:
        """Return the body's JSON object, or raise ``HTTPBadRequest`` without one."""
        document = self.json_object
        if document is None:
            raise errors.HTTPBadRequest(
                "The server could not comply with the request since it is either malformed or"
                " otherwise incorrect. It has no body that is a JSON object."
            )
        return document

    def _parse(self) -> Mapping[str, Json] | None:
        body = self._body_bytes()
        content_type = (self.content_type or "").lower()
        if content_type not in _PARSED_TYPES or not body.lstrip().startswith(b"{"):
            return None
        try:
            # Not from bytes, which json would take for UTF-16 or let half characters pass.
            text = body.decode()
            del body
            document: Mapping[str, Json] = parse_json(text, _PACKED)
        except RecursionError as error:
            raise errors.HTTPBadRequest("The request body is nested too deeply.") from error
        except ValueError as error:
            raise errors.HTTPBadRequest(
                f"{error} of the request body, which is not JSON"
            ) from error
        return document

    def _body_bytes(self) -> bytes:
        limit = self.environ[MAX_BODY_BYTES_KEY]
        if not self.is_body_readable:
            return b""
        if self.content_length is not None and self.content_length > limit:
            raise self._too_large(limit)
        try:
            text: bytes = self.body_file.read(limit + 1)
        except (OSError, ValueError) as error:  # shorter than it said, or no chunks
            raise errors.HTTPBadRequest("The request body cannot be read to its end.") from error
        if len(text) > limit:
            raise self._too_large(limit)
        return text

    @staticmethod
    def _too_large(limit: int) -> errors.RequestLimitExceeded:
        return errors.RequestLimitExceeded(
            f"Request limit exceeded: the request body is larger than max_json_body_size"
            f" ({limit} bytes)."
        )


def json_response(document: Json, status: int = 200) -> webob.Response:
    """Return a response with a JSON document."""
    return webob.Response(
        body=encode_json(document), status=status, content_type="application/json", charset="UTF-8"
    )


def status_response(
    request: ApiRequest, status: int, location: str | None = None
) -> webob.Response:
    """Return a response that says no more than its status, as redirects do.

    It is JSON for a client that names ``application/json`` among what it accepts, and plain text
    for any other.
    """
    if "application/json" in request.headers.get("Accept", "").lower():
        answer = status_map[status](location=location) if location else status_map[status]()
        return webob.Request.blank("/", accept="application/json").get_response(answer)
    response = webob.Response(status=status, content_type="text/plain", charset="UTF-8")
    explanation = " ".join(status_map[status].explanation.split())
    response.text = f"{response.status}\n\n{explanation}\n\n"
    if location:
        response.location = location
    return response


def empty_response(status: int = 204) -> webob.Response:
    """Return a response without a body."""
    response = webob.Response(status=status)
    response.content_type = None
    return response


def stream_list_response(key: str, items: Iterable[Json]) -> webob.Response:
    """Return ``{key: [items]}``, encoded while it is sent: it is never held as text."""
    response = webob.Response(content_type="application/json", charset="UTF-8")
    response.app_iter = _chunks(key, items)
    return response


def _chunks(key: str, items: Iterable[Json]) -> Iterator[bytes]:
    yield b'{"%s":[' % key.encode()
    chunk: list[bytes] = []
    separator = b""
    for item in items:
        chunk.append(separator + encode_json(item))
        separator = b","
        if len(chunk) == _ITEMS_PER_CHUNK:
            yield b"".join(chunk)
            chunk.clear()
    yield b"".join(chunk) + b"]}"
