"""A check of the service's account and of the domain of stacks' users.

Called by the diagnosis of an installation; changes nothing.
"""

from __future__ import annotations

from heat_convergence.clients import auth
from heat_convergence.clients.identity_api import translate_keystone_errors
from heat_convergence.clients.service_account import DomainAdministrator, ServiceAccount
from heat_convergence.clients.settings import ClientSettings


class IdentityProbe:
    """The operations of a check of Keystone; they raise our errors or keystoneauth's."""

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._account = ServiceAccount(settings, service)
        self._admin = DomainAdministrator(settings, service)

    def log_in(self) -> str:
        """Log in as the service, and return the id of its user."""
        return self._account.user_id

    def find_endpoint(self, service_type: str) -> str | None:
        """Return the URL of a service in the catalog, for the project of the service's user."""
        return self._account.find_endpoint(service_type)

    @property
    def has_stack_domain(self) -> bool:
        """True when the configuration names a domain for the users of stacks."""
        return self._admin.is_configured

    def check_stack_domain(self) -> str:
        """Log in as the administrator of the domain, find the role, and return the domain's id."""
        with translate_keystone_errors("the administrator of the stacks' users failed"):
            return self._admin.check_access()
