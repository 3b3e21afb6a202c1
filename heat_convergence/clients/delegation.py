"""The life of stacks' credentials: made before the stack, revoked after it.

Called by the API around what a request begins, and by the observer's loop.  Crash
safe: the intent is stored before Keystone is asked, the credential before its stack,
and the row goes only once Keystone has revoked what it stands for; ``sweep`` finds
the leftovers of all three.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from heat_convergence.clients.clouds import RequestCloud, StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.keystone import CredentialIssuer, Requester
from heat_convergence.common import errors

LOG = logging.getLogger(__name__)
CREDENTIAL_ORPHAN_AGE = timedelta(hours=1)  # no request takes that long


class CredentialStore(Protocol):
    """Where credentials are kept, sealed; each call is one transaction."""

    def get(self, tree_id: str) -> Credential | None: ...
    def put(self, tree_id: str, credential: Credential, now: datetime) -> None: ...
    def delete(self, tree_id: str) -> None: ...
    def list_orphaned(self, before: datetime, limit: int) -> Sequence[tuple[str, Credential]]: ...


class Delegation:
    def __init__(
        self, keystone: CredentialIssuer, clouds: StackCloudCache, store: CredentialStore
    ) -> None:
        self._keystone = keystone
        self._clouds = clouds
        self._store = store

    def grant(self, tree_id: str, requester: Requester, now: datetime) -> None:
        """Before a stack is stored.  Raises as ``Keystone.issue``."""
        before = self._store.get(tree_id)
        if before is not None:  # what it stands for is of no use any more
            self._keystone.revoke(before)
        self._store.put(tree_id, self._keystone.create_intent(requester, tree_id), now)  # RULE 4
        try:
            credential = self._keystone.issue(requester, tree_id)
        except (errors.AuthorizationFailure, errors.MissingCredentialError):
            self._undo(tree_id, before, now)  # nothing was made
            raise
        try:
            self._store.put(tree_id, credential, now)
        except errors.Error:
            self._keystone.revoke(credential)
            raise

    def _undo(self, tree_id: str, before: Credential | None, now: datetime) -> None:
        if before is None:
            self._store.delete(tree_id)
        else:
            self._store.put(tree_id, before, now)

    def revoke(self, tree_id: str) -> None:
        """After a stack could not be stored, or is gone."""
        credential = self._store.get(tree_id)
        if credential is not None:
            self._revoke(tree_id, credential)

    def renew_if_revoked(self, tree_id: str, requester: Requester, now: datetime) -> bool:
        """Before an action on a stack: a credential that Keystone does not take any
        more gives way to a new one of the requester's.  Whether it did."""
        try:
            self._clouds.get(tree_id).reauthenticate()
        except errors.AuthorizationFailure:
            self.grant(tree_id, requester, now)
            self._clouds.evict(tree_id)
            return True
        return False

    def request_cloud(self, requester: Requester) -> RequestCloud | None:
        """What the requester may ask with the token of now; None without one."""
        if requester.auth is None:
            return None
        return RequestCloud(requester.auth, self._clouds.settings, requester.region)

    def revoke_orphaned(self, now: datetime, limit: int) -> int:
        """Revokes what no stack needs any more; how many of them."""
        done = 0
        for tree_id, credential in self._store.list_orphaned(now - CREDENTIAL_ORPHAN_AGE, limit):
            try:
                self._clouds.users.delete_all(tree_id)
                self._revoke(tree_id, credential)
                done += 1
            except errors.Error as error:  # one that can't be revoked stops no other
                LOG.warning(
                    "a credential of stack %(stack)s is not revoked yet: %(error)s",
                    {"stack": tree_id, "error": error},
                )
        return done

    def _revoke(self, tree_id: str, credential: Credential) -> None:
        self._keystone.revoke(credential)
        self._store.delete(tree_id)
        self._clouds.evict(tree_id)
