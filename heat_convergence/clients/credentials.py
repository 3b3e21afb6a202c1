"""The credential with which the service acts for one stack tree, as it is stored.

A plain record: ``keystone`` creates and revokes it, ``clouds`` logs in with it, and
``db.statements.credentials`` encrypts it. ``repr`` shows no secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.clients.settings import DeferredAuthMethod

_SHARED = "shared"


def shared_trust_secret(trust_id: str) -> dict[str, str]:
    """Return the secret of a credential that uses the trust of another stack."""
    return {"trust_id": trust_id, _SHARED: "yes"}


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential for one stack tree, or the intent to create one.

    An intent has only a name: by it, Keystone's records show what a process was creating when
    it died before it could store the result.

    Attributes:
        method: How the service authenticates on behalf of the user.
        user_id: The user on whose behalf the service acts.
        project_id: Project of the stack.
        secret: By method, ``trust_id``; ``id`` and ``secret`` of an application
            credential; or ``password``. Of an intent, ``mark``, its name. ``shared`` marks a
            trust of another stack.
        region: Region of the request that created the stack.
        auth_url: Where to log in, if not at the service's own Keystone.
    """

    method: DeferredAuthMethod
    user_id: str
    project_id: str
    secret: Mapping[str, str] = field(repr=False)
    region: str | None = None
    auth_url: str | None = None

    @property
    def intent_name(self) -> str | None:
        """Name of the intent; None for a usable credential."""
        return self.secret.get("mark")

    @property
    def is_shared(self) -> bool:
        """True if another stack created the trust, which it also revokes."""
        return _SHARED in self.secret

    def dump(self) -> dict[str, Any]:
        """Return the credential as JSON for ``load``."""
        return {
            "method": self.method.value,
            "user_id": self.user_id,
            "project_id": self.project_id,
            "secret": dict(self.secret),
            "region": self.region,
            "auth_url": self.auth_url,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Credential:
        """Return the credential that ``dump`` returned as JSON."""
        return cls(**{**data, "method": DeferredAuthMethod(data["method"])})
