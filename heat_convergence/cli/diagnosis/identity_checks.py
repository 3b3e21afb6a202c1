"""Checks of Keystone: the service's user, its endpoint, and the domain of stacks' users.

Run by ``doctor``; changes nothing in Keystone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from keystoneauth1 import exceptions
from oslo_config import cfg

from heat_convergence.cli.components import settings
from heat_convergence.cli.diagnosis.finding import Finding, Severity, one_line
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.login.identity_probe import IdentityProbe
from heat_convergence.common import errors

TIMEOUT_S = 5.0
_ENDPOINT_REMEDY = "openstack endpoint create --region REGION orchestration public 'https://HOST:8004/v1/%(tenant_id)s'"


def check_identity(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check what the service needs of Keystone."""
    if conf.heat_api.auth_strategy != "keystone":
        yield Finding("keystone", Severity.OK, "not used: auth_strategy = noauth")
        return
    client_settings = replace(
        settings.client_settings(conf), timeout_s=TIMEOUT_S, connect_retries=0
    )
    probe = IdentityProbe(client_settings, ServiceAuth(conf))
    try:
        yield Finding("keystone", Severity.OK, f"the service logs in as user {probe.log_in()}")
    except (errors.Error, exceptions.ClientException) as error:
        yield Finding(
            "keystone",
            Severity.ERROR,
            one_line(getattr(error, "log_text", error)),
            "correct auth_url, username and password in [keystone_authtoken] or [trustee]",
        )
        return
    yield _endpoint(probe)
    yield _domain(probe)


def _endpoint(probe: IdentityProbe) -> Finding:
    found = probe.find_endpoint("orchestration")
    if found is None:
        text = "the service catalog has no endpoint of the type orchestration"
        return Finding("endpoint", Severity.WARNING, text, _ENDPOINT_REMEDY)
    if not found.rstrip("/").rpartition("/")[0].endswith("/v1"):
        text = f"{found} does not end in /v1/ and the project"
        return Finding("endpoint", Severity.WARNING, text, _ENDPOINT_REMEDY)
    return Finding("endpoint", Severity.OK, found)


def _domain(probe: IdentityProbe) -> Finding:
    if not probe.has_stack_domain:
        return Finding(
            "stack domain",
            Severity.WARNING,
            "not configured: stacks cannot have users, which signals and software need",
            "set stack_user_domain_name, stack_domain_admin and stack_domain_admin_password",
        )
    try:
        domain_id = probe.check_stack_domain()
    except (errors.Error, exceptions.ClientException) as error:
        return Finding(
            "stack domain",
            Severity.ERROR,
            one_line(getattr(error, "log_text", error)),
            "create domain, administrator and role as docs/operate/installing.rst lists",
        )
    return Finding("stack domain", Severity.OK, f"domain {domain_id} can be administered")
