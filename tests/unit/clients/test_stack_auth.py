"""Authentication of the service and of stacks: plug-ins, and a Keystone that does not answer."""

from __future__ import annotations

import pytest
from keystoneauth1 import exceptions, loading
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from oslo_config import cfg

from heat_convergence.clients.auth import TRUSTEE_GROUP, ServiceAuth, StackAuth
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


def service_with(auth_type: str, auth_url: str) -> ServiceAuth:
    """Return the authentication of a service that is configured so."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    service = ServiceAuth(conf)
    conf.set_override("auth_type", auth_type, TRUSTEE_GROUP)
    service.load_reader_plugin()  # None, as [drift_auth] names no plug-in
    conf.register_opts(loading.get_auth_plugin_conf_options(auth_type), TRUSTEE_GROUP)
    options = {
        "auth_url": auth_url,
        "username": "heat",
        "password": "p",
        "user_domain_name": "Default",
        "project_name": "service",
        "project_domain_name": "Default",
    }
    for name, value in options.items():
        conf.set_override(name, value, TRUSTEE_GROUP)
    return service


@pytest.mark.parametrize("auth_type", ["password", "v3password"])
@pytest.mark.parametrize(
    ("auth_url", "used"),
    [
        ("http://keystone:5000", "http://keystone:5000/v3"),
        ("http://keystone/identity/v3/", "http://keystone/identity/v3"),
        ("http://keystone:5000/v2.0", "http://keystone:5000/v3"),
    ],
)
def test_service_logs_in_without_a_look_at_the_versions(
    auth_type: str, auth_url: str, used: str
) -> None:
    if auth_type == "v3password":
        auth_url = used  # it is used as it is written
    service = service_with(auth_type, auth_url)
    for plugin in (service.own_plugin, service.load_trust_plugin("t")):
        assert isinstance(plugin, Password)
        assert plugin.auth_url.rstrip("/") == used
    assert service.load_trust_plugin("t").trust_id == "t"
    assert service.load_trust_plugin("t").project_name is None
    assert service.own_plugin.project_name == "service"
