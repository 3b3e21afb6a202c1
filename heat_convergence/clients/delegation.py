"""The life cycle of stacks' credentials: created before the stack, revoked after it.

Called by the API around the start of an action, and by the observer's periodic tasks. Crash
safe: the intent is stored before the call to Keystone, the credential before its stack, and
the row is deleted only once Keystone has revoked the credential. ``revoke_orphaned`` finds
what is left over from any of these steps.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from heat_convergence.clients.clouds import RequestCloud, StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.keystone import CredentialIssuer, Requester
from heat_convergence.common import errors, time_limit

LOG = logging.getLogger(__name__)
CREDENTIAL_ORPHAN_AGE = timedelta(hours=1)  # longer than any request takes


class CredentialStore(Protocol):
    """Encrypted storage of credentials; each call is one transaction."""

    def get(self, tree_id: str) -> Credential | None:
        """Return the credential of a stack tree, or None."""

    def put(self, tree_id: str, credential: Credential, now: datetime) -> None:
        """Store the credential of a stack tree."""

    def delete(self, tree_id: str) -> None:
        """Delete the credential of a stack tree."""

    def list_orphaned(self, before: datetime, limit: int) -> Sequence[tuple[str, Credential]]:
        """Return trees and credentials without a stack that were stored before a time."""


class Delegation:
    """Creation, renewal and revocation of the credentials of stack trees.

    Args:
        keystone: Calls that create and revoke credentials in Keystone.
        clouds: The process's sessions.
        store: Storage of the credentials.
    """

    def __init__(
        self, keystone: CredentialIssuer, clouds: StackCloudCache, store: CredentialStore
    ) -> None:
        self._keystone = keystone
        self._clouds = clouds
        self._store = store

    def grant(self, tree_id: str, requester: Requester, now: datetime) -> None:
        """Create and store the credential of a stack tree, before its stack is stored.

        Raises:
            MissingCredentialError: The request or the user lacks something.
            AuthorizationFailure: Keystone refused.
            TemporaryFailure: Keystone did not answer.
        """
        before = self._store.get(tree_id)
        if before is not None:  # no longer usable
            self._keystone.revoke(before)
        self._store.put(tree_id, self._keystone.create_intent(requester, tree_id), now)  # RULE 4
        try:
            credential = self._keystone.issue(requester, tree_id)
        except (errors.AuthorizationFailure, errors.MissingCredentialError):
            self._undo(tree_id, before, now)  # Keystone has created nothing
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
        """Revoke the credential of a stack that was not stored, or has been deleted."""
        credential = self._store.get(tree_id)
        if credential is not None:
            self._revoke(tree_id, credential)

    def renew_if_revoked(self, tree_id: str, requester: Requester, now: datetime) -> bool:
        """Replace a credential that Keystone no longer accepts, before an action on the stack.

        Returns:
            Whether a new credential of the requester was stored.
        """
        try:
            self._clouds.get(tree_id).reauthenticate()
        except errors.AuthorizationFailure:
            self.grant(tree_id, requester, now)
            self._clouds.evict(tree_id)
            return True
        return False

    def request_cloud(self, requester: Requester) -> RequestCloud | None:
        """Return the cloud as the requester sees it; None for a request without a token."""
        if requester.auth is None:
            return None
        clouds = self._clouds
        return RequestCloud(
            requester.auth,
            clouds.settings,
            requester.region,
            clouds.breakers,
            clouds.service_auth.documents,
        )

    def revoke_orphaned(self, now: datetime, limit: int) -> int:
        """Revoke credentials that no stack needs any more, until the time limit is over.

        Returns:
            The number of revoked credentials.
        """
        done = 0
        for tree_id, credential in self._store.list_orphaned(now - CREDENTIAL_ORPHAN_AGE, limit):
            if time_limit.is_over():  # Keystone is slow or does not answer: the next run goes on
                break
            try:
                self._clouds.users.delete_all(tree_id)
                self._revoke(tree_id, credential)
                done += 1
            except errors.Error as error:  # the next tree is not affected
                LOG.warning(
                    "credential not revoked, retried later: stack=%(stack)s error=%(error)s",
                    {"stack": tree_id, "error": error},
                )
        return done

    def _revoke(self, tree_id: str, credential: Credential) -> None:
        self._keystone.revoke(credential, self._clouds.find_open_auth(tree_id, credential))
        self._store.delete(tree_id)
        self._clouds.evict(tree_id)
