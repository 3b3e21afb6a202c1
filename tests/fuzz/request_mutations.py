"""Requests made from the routes table: valid ones, of which most are then changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES
from tests.fuzz.fuzzed_service import FuzzedRequest
from tests.fuzz.json_mutations import (
    encoded,
    mutated,
    odd_path_part,
    odd_query_value,
)
from tests.fuzz.sample_requests import path_values, sample_body, sample_query

Json = Any
_PLACEHOLDER = re.compile(r"\{(\w+)(?::[^}]+)?\}")
# Schemas of bodies with a template.
_OFTEN = frozenset({"create", "update", "patch", "plan", "template", "lint"})
_WEIGHTS = [4 if route.body_schema in _OFTEN else 1 for route in ROUTES]
_MUTATED_BODIES = 0.75
_ODD_PARTS = 0.08
_ODD_QUERIES = 0.15
_ODD_HEADERS = 0.06
_HEADERS: tuple[dict[str, str], ...] = (
    {"CONTENT_TYPE": "application/x-www-form-urlencoded"},
    {"CONTENT_TYPE": "multipart/form-data; boundary=x"},
    {"CONTENT_TYPE": "text/plain; charset=utf-16"},
    {"CONTENT_TYPE": "application/json; charset=absent"},
    {"CONTENT_TYPE": "\xff/\xfe;;="},
    {"CONTENT_LENGTH": "0"},
    {"CONTENT_LENGTH": "-1"},
    {"CONTENT_LENGTH": "99999999999"},
    {"CONTENT_LENGTH": "x"},
    {"CONTENT_LENGTH": ""},
    {"HTTP_HOST": ""},
    {"HTTP_HOST": "a b\r\nX: 1"},
    {"HTTP_HOST": "[::1"},
    {"HTTP_HOST": "elsewhere:99999999"},
    {"HTTP_X_FORWARDED_HOST": "elsewhere", "HTTP_X_FORWARDED_PORT": "x"},
    {"HTTP_FORWARDED": "for=;host=;proto=\xff"},
    {"HTTP_ACCEPT": "text/html"},
    {"HTTP_ACCEPT": "\xff"},
    {"HTTP_ACCEPT_LANGUAGE": "xx;q=" + "9" * 200},
    {"HTTP_X_OPENSTACK_REQUEST_ID": "req-" + "x" * 300},
    {"HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE"},
    {"HTTP_TRANSFER_ENCODING": "chunked"},
    {"HTTP_X_FORWARDED_PROTO": "\x00"},
    {"HTTP_ORIGIN": "http://elsewhere"},
    {"HTTP_CONTENT_ENCODING": "gzip"},
    {"HTTP_X_AUTH_USER": "u", "HTTP_X_AUTH_KEY": "\xff"},
    {"HTTP_RANGE": "bytes=0-1", "HTTP_IF_MATCH": "*", "HTTP_IF_MODIFIED_SINCE": "x"},
)


def make_request(project: str, existing: Mapping[str, str], random: Random) -> FuzzedRequest:
    """Return a request to one of the routes."""
    (route,) = random.choices(ROUTES, _WEIGHTS)
    return request_to(route, project, existing, random)


def request_to(
    route: Route, project: str, existing: Mapping[str, str], random: Random
) -> FuzzedRequest:
    """Return a request to a route: body, query, path and headers may be odd."""
    path = _path(route, existing, random)
    query = _query(route, random)
    headers: dict[str, str] = {"CONTENT_TYPE": "application/json"}
    if random.random() < _ODD_HEADERS:
        headers |= random.choice(_HEADERS)
    method = random.choice(("HEAD", "PUT", "OPTIONS", "TRACE")) if random.random() < 0.01 else ""
    return FuzzedRequest(
        method or route.method,
        unquote_to_bytes(f"/v1/{project}{path}").decode("latin-1"),
        query,
        _body(route, existing, random),
        headers,
    )


def _path(route: Route, existing: Mapping[str, str], random: Random) -> str:
    values = path_values(existing, random)

    def value_of(part: re.Match[str]) -> str:
        if random.random() < _ODD_PARTS:
            return odd_path_part(random)
        return quote(values[part.group(1)], safe=":/")

    path = _PLACEHOLDER.sub(value_of, route.path)
    return path + random.choice(("/", "//x", ".json", "/..")) if random.random() < 0.01 else path


def _query(route: Route, random: Random) -> str:
    pairs = [(name, quote(value)) for name, value in sample_query(route, random)]
    if pairs and random.random() < 0.4:
        pairs.append((random.choice(pairs)[0], odd_query_value(random)))
    if random.random() < _ODD_QUERIES:
        pairs.append(
            (random.choice(("limit", "marker", "absent", "%ff")), odd_query_value(random))
        )
    return "&".join(f"{name}={value}" for name, value in pairs)


def _body(route: Route, existing: Mapping[str, str], random: Random) -> bytes:
    document = sample_body(route, random)
    if document is None:
        return encoded({"a": 1}, random) if random.random() < 0.05 else b""
    document = _with_ids(document, existing)
    if random.random() < _MUTATED_BODIES:
        document = mutated(document, random)
    return encoded(document, random)


def _with_ids(body: Json, existing: Mapping[str, str]) -> Json:
    """Return the body with ids in the place of ``{config_id}``."""
    if not isinstance(body, dict) or body.get("config_id") != "{config_id}":
        return body
    return body | {"config_id": existing.get("config_id", "absent")}
