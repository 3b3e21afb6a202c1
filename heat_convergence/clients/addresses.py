"""Where this service itself is reached, as those see it who signal resources.

Called by resource types, through ``View.cloud``.  Pure but for the catalogue that
``root`` may be read from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_VERSION = "/v1"


@dataclass(frozen=True, slots=True)
class Place:
    """A resource in its stack."""

    stack_name: str
    stack_id: str
    resource: str

    @property
    def path(self) -> str:
        names = (self.stack_name, self.stack_id, "resources", self.resource)
        return "/".join(quote(name, safe="") for name in names)


def root(endpoint: str) -> str:
    """The service's address out of an endpoint, which has version and project."""
    head, found, _rest = endpoint.rpartition(_VERSION)
    return (head if found else endpoint).rstrip("/")


def signal(root_url: str, project_id: str, place: Place) -> str:
    """The route of the API."""
    return f"{root_url}{_VERSION}/{project_id}/stacks/{place.path}/signal"


def signed(base: str, project_id: str, place: Place) -> str:
    """Below ``base``, what is to be signed."""
    head = quote(f"arn:openstack:heat::{project_id}:stacks", safe="")
    return f"{base}/{head}/{place.path}"


def metadata(endpoint: str) -> str:
    """As guests' tools have it: with the version, and a slash at the end."""
    head = endpoint.rstrip("/")
    return f"{head}/" if _VERSION in head else f"{head}{_VERSION}/"


def signed_base(root_url: str, kind: str) -> str:
    """``kind`` is ``signal`` or ``waitcondition``."""
    return f"{root_url}{_VERSION}/{kind}"


@dataclass(frozen=True, slots=True)
class LocalCloud:
    """``View.cloud`` where there is no Keystone: no users, but an address."""

    heat_url: str | None
    software: Any = None  # resources.software.Software
    users: None = None

    @property
    def heat_root(self) -> str | None:
        return None if self.heat_url is None else root(self.heat_url)
