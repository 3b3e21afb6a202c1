"""As whom the service acts for one stack tree: what is stored of it.

A plain record; ``keystone`` makes and revokes it, ``clouds`` logs in with it,
``db.credentials`` seals it.  ``repr`` shows no secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.clients.settings import DeferredAuthMethod


@dataclass(frozen=True, slots=True)
class Credential:
    """``secret`` has, by method: ``trust_id``; ``id`` and ``secret`` of an application
    credential; ``password``.  ``user_id`` is the user acted for, ``auth_url`` where
    to log in when that is not the service's own Keystone.

    An intent has ``mark`` alone: by that name Keystone knows what was being made when
    nobody lived to write down what it is.
    """

    method: DeferredAuthMethod
    user_id: str
    project_id: str
    secret: Mapping[str, str] = field(repr=False)
    region: str | None = None
    auth_url: str | None = None

    @property
    def intent_name(self) -> str | None:
        """The intent's; None for a credential that can be used."""
        return self.secret.get("mark")

    def dump(self) -> dict[str, Any]:
        """As JSON; ``load`` reads it."""
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
        return cls(**{**data, "method": DeferredAuthMethod(data["method"])})
