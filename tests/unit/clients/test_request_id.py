"""The id of the request that goes along with calls to services."""

from __future__ import annotations

import pytest
from oslo_context.context import RequestContext

from heat_convergence.clients import rest_client

SENT_ID = "req-5f3c6a1e-1a1b-4a5c-8a55-0f5b3c2d1e0f"


def headers_with(
    context: RequestContext | None, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    monkeypatch.setattr(rest_client, "get_current", lambda: context)
    return rest_client.request_id_headers()


def test_call_without_a_request_has_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    assert headers_with(None, monkeypatch) == {}


def test_call_has_the_id_of_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    context = RequestContext(overwrite=False)
    found = headers_with(context, monkeypatch)
    assert found == {"X-Openstack-Request-Id": context.request_id}


def test_id_that_the_caller_has_sent_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    context = RequestContext(overwrite=False, global_request_id=SENT_ID)
    assert headers_with(context, monkeypatch) == {"X-Openstack-Request-Id": SENT_ID}
