"""Who asks: the caller of one request, as identity middleware told it.

Called by the middlewares that know the caller and by the policy check.  Must
not look at the request's body or at any stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_context.context import RequestContext

NOAUTH_USER = "noauth"
_MAX_NAME = 255  # what is stored of a name


class Caller(RequestContext):
    """oslo's request context, and whether the caller administers the cloud."""

    @property
    def is_cloud_admin(self) -> bool:
        """The rule ``context_is_admin`` by its default."""
        return "admin" in self.roles and bool(self.is_admin_project)


def from_environ(environ: Mapping[str, Any]) -> Caller:
    """The caller that keystonemiddleware verified."""
    return Caller.from_environ(dict(environ), is_admin=False)


def without_keystone(environ: Mapping[str, Any], project_id: str | None) -> Caller:
    """A fixed user with every role in whatever project the URL names.

    Not an administrator of the cloud, so that quotas hold as they would for
    anybody.
    """
    return Caller(
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
