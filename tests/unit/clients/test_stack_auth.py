"""Authentication with a stack's credential while Keystone does not answer."""

from __future__ import annotations

import pytest
from keystoneauth1 import exceptions
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.clients.auth import StackAuth
from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.clients.settings import DeferredAuthMethod
from heat_convergence.common.failures import TemporaryFailure


class UnreachableKeystone(Password):
    """A login whose request ends without a response."""

    def __init__(self, error: Exception) -> None:
        super().__init__("http://127.0.0.1:5000/v3", user_id="u", password="p")
        self._error = error

    def get_auth_ref(self, session: Session, **_kwargs: object) -> AccessInfo:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConnectFailure("refused"),
        exceptions.ConnectTimeout("too late"),
        exceptions.UnknownConnectionError("broken", OSError()),
    ],
)
def test_login_without_a_response_is_a_temporary_failure(error: Exception) -> None:
    refusals: list[None] = []
    auth = StackAuth(
        UnreachableKeystone(error), DeferredAuthMethod.TRUSTS,
        lambda: refusals.append(None), CircuitBreakers(),
    )  # fmt: skip
    with pytest.raises(TemporaryFailure, match="identity: no token"):
        auth.get_auth_ref(Session())
    assert refusals == []
