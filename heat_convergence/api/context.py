"""The caller of one request, as identity middleware verified it.

Called by the middlewares that identify callers and by the policy check.  Must not look
at the request's body or at any stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from oslo_context.context import RequestContext

from heat_convergence.clients.signed_urls import Signer

NOAUTH_USER = "noauth"
_MAX_NAME = 255  # what is stored of a name


class AuthStrategy(Enum):
    """The ways in which callers are authenticated."""

    NOAUTH = "noauth"
    KEYSTONE = "keystone"


@dataclass(frozen=True, slots=True)
class StackUserDomain:
    """The Keystone domain of the users that stacks create, and their role.

    Attributes:
        id: takes precedence over ``name``.
    """

    id: str | None = None
    name: str | None = None
    role: str = "heat_stack_user"

    def contains(self, domain_id: str | None, domain_name: str | None) -> bool:
        """Return whether the domain, by id and name, is this one."""
        if self.id:
            return domain_id == self.id
        return bool(self.name) and domain_name == self.name


class Caller(RequestContext):
    """oslo's request context with what the service asks of a caller.

    Attributes:
        stack_user_tree_id: the id of the stack tree that created the caller, whose project
            has that name; None for everybody else.
        is_cloud_admin: the result of the policy rule ``context_is_admin``; the root
            controller sets it.
        is_local_user: without authentication; policy rules may name it.
    """

    stack_user_tree_id: str | None = None
    is_cloud_admin: bool = False
    is_local_user: bool = False

    def to_policy_values(self) -> Any:
        """Return what policy rules can ask of the caller."""
        values = super().to_policy_values()
        values["is_local_user"] = self.is_local_user
        return values


def caller_from_token(environ: Mapping[str, Any], domain: StackUserDomain) -> Caller:
    """Return the caller that keystonemiddleware verified."""
    caller = Caller.from_environ(dict(environ), is_admin=False)
    return _with_stack_user_tree(
        caller, domain, domain.contains(caller.project_domain_id, caller.project_domain_name)
    )


def caller_from_signature(
    environ: Mapping[str, Any], signer: Signer, domain: StackUserDomain
) -> Caller:
    """Return the caller whose keys signed a URL."""
    caller = Caller(
        user_id=signer.user_id,
        project_id=signer.project_id,
        project_name=signer.project_name,
        project_domain_id=signer.project_domain_id,
        roles=list(signer.roles),
        is_admin=False,
        is_admin_project=False,
        request_id=environ.get("openstack.request_id"),
        global_request_id=environ.get("openstack.global_request_id"),
    )
    return _with_stack_user_tree(
        caller, domain, domain.contains(signer.project_domain_id, signer.project_domain_name)
    )


def _with_stack_user_tree(caller: Caller, domain: StackUserDomain, in_domain: bool) -> Caller:
    if in_domain and domain.role in caller.roles:
        caller.stack_user_tree_id = caller.project_name
    return caller


def noauth_caller(environ: Mapping[str, Any], project_id: str | None) -> Caller:
    """Return a fixed user with every role in the project that the URL names.

    The user is no administrator of the cloud, so that quotas hold as for anybody.
    """
    caller = Caller(
        user_id=NOAUTH_USER,
        user_name=environ.get("HTTP_X_AUTH_USER", "")[:_MAX_NAME] or NOAUTH_USER,
        project_id=project_id,
        project_name=project_id,
        roles=["admin", "member", "reader"],
        is_admin=False,
        is_admin_project=False,
        request_id=environ.get("openstack.request_id"),
        global_request_id=environ.get("openstack.global_request_id"),
    )
    caller.is_local_user = True
    return caller
