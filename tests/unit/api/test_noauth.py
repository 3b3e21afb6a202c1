"""Access without authentication, which only this machine has."""

from __future__ import annotations

import pytest

from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.identity import NoAuthIdentity
from heat_convergence.common import errors


def call(**environ):
    passed_environ = {}
    application = NoAuthIdentity(lambda environ, _start: passed_environ.update(environ) or [b""])
    application({"PATH_INFO": "/p/stacks", **environ}, None)
    return passed_environ


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", ""])
def test_request_from_this_machine_is_accepted(address):
    assert call(REMOTE_ADDR=address)[CALLER_KEY].project_id == "p"


@pytest.mark.parametrize(
    "address", ["192.0.2.7", "10.0.0.1", "fe80::1%eth0", "2001:db8::1", "unknown"]
)
def test_request_from_another_machine_is_forbidden(address):
    with pytest.raises(errors.HTTPForbidden, match="this machine"):
        call(REMOTE_ADDR=address)
