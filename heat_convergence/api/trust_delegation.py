"""Delegation from the caller of a request, so that the service can act for them later.

Called by the controllers that start traversals, around their transactions.  Does nothing
without Keystone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from heat_convergence.api.http import ApiRequest
from heat_convergence.api.services import ApiServices
from heat_convergence.clients.keystone import Requester
from heat_convergence.clients.rest_client import (
    RequestLimiter,
    SdkCloudClient,
    make_cache_key,
)
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.driver.request_cloud import use_request_cloud

LOG = logging.getLogger(__name__)
_SLOTS = RequestLimiter(32)  # requests that a process has open at one service
# The place where keystonemiddleware leaves the token's plug-in, not a token.
TOKEN_AUTH_KEY = "keystone.token_auth"  # nosec B105


def requester_from_request(request: ApiRequest) -> Requester:
    """Return the caller with the token of the request."""
    caller = request.caller
    return Requester(
        user_id=caller.user_id or "",
        project_id=request.project_id,
        roles=tuple(caller.roles),
        auth=request.environ.get(TOKEN_AUTH_KEY),
        region=request.headers.get("X-Region-Name") or None,
        password=request.headers.get("X-Auth-Key") or None,
    )


@contextmanager
def cloud_access_as_user(services: ApiServices, request: ApiRequest) -> Iterator[None]:
    """Let validation and console URLs inside this context use the caller's token."""
    cloud: SdkCloudClient | None = None
    if services.delegation is not None:
        access = services.delegation.request_cloud(requester_from_request(request))
        if access is not None:
            project_id = request.project_id
            cloud = SdkCloudClient(
                make_cache_key(project_id, access.call_region),
                project_id,
                lambda: access.connection,
                _SLOTS,
                breakers=access.breakers,
            )
    with use_request_cloud(cloud):
        yield


@contextmanager
def delegation_for_new_stack(
    services: ApiServices, request: ApiRequest, stack: Stack
) -> Iterator[None]:
    """Grant the service access for a new root stack, and revoke it if storing fails."""
    delegation = services.delegation
    if delegation is None:
        yield
        return
    delegation.grant(stack.tree_id, requester_from_request(request), services.clock())
    try:
        yield
    except errors.Error:
        delegation.revoke(stack.tree_id)
        raise


def renew_delegation(services: ApiServices, request: ApiRequest, stack: Stack) -> None:
    """Replace a revoked grant by one of the caller's before an action on a stack.

    An intact grant is kept, also if another user sends the request.  The cloud's
    administrator gives none to a stack of another project: it would be for the own one.
    """
    if services.delegation is None or stack.project_id != request.project_id:
        return
    if services.delegation.renew_if_revoked(
        stack.tree_id, requester_from_request(request), services.clock()
    ):
        LOG.info(
            "delegation renewed: stack=%(stack)s user=%(user)s",
            {"stack": stack.id, "user": request.caller.user_id},
        )


def renew_delegation_if_possible(services: ApiServices, request: ApiRequest, stack: Stack) -> None:
    """Renew the grant before a deletion, which must not fail without one.

    Perhaps nothing of the stack is in the cloud.
    """
    try:
        renew_delegation(services, request, stack)
    except errors.Error as error:
        LOG.warning(
            "delegation not renewed before a deletion: stack=%(stack)s error=%(error)s",
            {"stack": stack.id, "error": error},
        )
