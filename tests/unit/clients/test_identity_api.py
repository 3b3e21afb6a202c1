"""Requests to Keystone that it refuses."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from keystoneauth1.token_endpoint import Token
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter

from heat_convergence.clients import auth
from heat_convergence.clients.identity_api import (
    create_identity_adapter,
    translate_keystone_errors,
)
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common import errors

URL = "http://cloud.invalid/identity/v3"


class ScriptedKeystone(BaseAdapter):
    """A transport that answers with the given statuses in turn."""

    def __init__(self, *statuses: int) -> None:
        super().__init__()
        self._statuses = list(statuses)
        self.request_count = 0

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        self.request_count += 1
        response = Response()
        response.request = request
        response.url = str(request.url)
        response.status_code = self._statuses.pop(0)
        response.headers["Content-Type"] = "application/json"
        response.raw = io.BytesIO(json.dumps({"trust": {"id": "t"}}).encode())
        return response

    def close(self) -> None:
        pass


def create_trust(keystone: ScriptedKeystone) -> Any:
    session = auth.create_session(ClientSettings(), Token(URL, "token"))
    session.session.mount("http://", keystone)
    client = create_identity_adapter(session, ClientSettings())
    with translate_keystone_errors("no trust"):
        return client.post("/OS-TRUST/trusts", json={"trust": {}}).json()


def test_forbidden_request_is_sent_again() -> None:
    keystone = ScriptedKeystone(403, 201)
    assert create_trust(keystone) == {"trust": {"id": "t"}}


@pytest.mark.parametrize(("statuses", "count"), [((403, 403), 2), ((401,), 1), ((404,), 1)])
def test_refusal_is_final(statuses: tuple[int, ...], count: int) -> None:
    keystone = ScriptedKeystone(*statuses)
    with pytest.raises(errors.AuthorizationFailure, match="no trust"):
        create_trust(keystone)
    assert keystone.request_count == count
