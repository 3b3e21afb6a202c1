"""Short requests derive nothing anew that is the same for all of them."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest
import webob

from heat_convergence.cli.offline.local_service import LocalService

_DERIVED = frozenset({"_signature_from_function", "find_object", "namedtuple"})
_BUILT = frozenset({"select", "where", "order_by"})  # of SQLAlchemy


@pytest.fixture(scope="module")
def service() -> Any:
    service = LocalService("sqlite://")
    template = {"heat_template_version": "2021-04-16"}
    assert (
        service.send("POST", "/stacks", {"stack_name": "s", "template": template}).status_int
        == 201
    )
    yield service
    service.close()


def count_calls(service: LocalService, path: str, names: frozenset[str]) -> Counter[str]:
    """Return how often functions of these names are called to answer a GET."""
    found: Counter[str] = Counter()

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name in names:
            found[frame.f_code.co_name] += 1

    request = webob.Request.blank(path, headers={"Accept": "application/json"})
    before = sys.getprofile()
    sys.setprofile(record)
    try:
        response = request.get_response(service.app)
    finally:
        sys.setprofile(before)
    assert response.status_int in (200, 302), response.text
    return found


def test_no_signature_and_no_controller_is_looked_for_with_each_request(
    service: LocalService,
) -> None:
    service.send("GET", "/stacks")  # the first loads what is loaded when it is needed
    assert count_calls(service, "/v1/p/stacks", _DERIVED) == Counter()


@pytest.mark.parametrize("path", ["/stacks/s", "/stacks/s/{id}?resolve_outputs=false"])
def test_statements_that_show_a_stack_are_built_once(service: LocalService, path: str) -> None:
    stacks = service.send("GET", "/stacks?name=s").json["stacks"]
    path = path.format(id=stacks[0]["id"])
    service.send("GET", path)
    assert count_calls(service, f"/v1/p{path}", _BUILT) == Counter()


@pytest.mark.parametrize("query", ["request=1&_response=2&self=3", "controller=1&args=2&state=3"])
def test_parameters_are_never_those_of_the_handlers(service: LocalService, query: str) -> None:
    assert len(service.send("GET", f"/stacks?{query}").json["stacks"]) == 1


@pytest.mark.parametrize(
    "path", ["", "/", "//", "/v1", "/v1/", "/v1/p", "/v1/p/", "/v1/p//stacks"]
)
def test_path_that_is_no_route_is_answered(service: LocalService, path: str) -> None:
    request = webob.Request.blank(path, headers={"Accept": "application/json"})
    assert request.get_response(service.app).status_int in (300, 404)
