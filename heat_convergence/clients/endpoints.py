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
class ResourceLocator:
    """A resource in its stack."""

    stack_name: str
    stack_id: str
    resource_name: str

    @property
    def url_path(self) -> str:
        names = (self.stack_name, self.stack_id, "resources", self.resource_name)
        return "/".join(quote(name, safe="") for name in names)


def base_url_from_endpoint(endpoint: str) -> str:
    """The service's address out of an endpoint, which has version and project."""
    head, found, _rest = endpoint.rpartition(_VERSION)
    return (head if found else endpoint).rstrip("/")


def signal_url(root_url: str, project_id: str, locator: ResourceLocator) -> str:
    """The route of the API."""
    return f"{root_url}{_VERSION}/{project_id}/stacks/{locator.url_path}/signal"


def signed_url_path(base: str, project_id: str, locator: ResourceLocator) -> str:
    """Below ``base``, what is to be signed."""
    head = quote(f"arn:openstack:heat::{project_id}:stacks", safe="")
    return f"{base}/{head}/{locator.url_path}"


def metadata_base_url(endpoint: str) -> str:
    """As guests' tools have it: with the version, and a slash at the end."""
    head = endpoint.rstrip("/")
    return f"{head}/" if _VERSION in head else f"{head}{_VERSION}/"


def signed_url_base(root_url: str, url_type: str) -> str:
    """``kind`` is ``signal`` or ``waitcondition``."""
    return f"{root_url}{_VERSION}/{url_type}"


@dataclass(frozen=True, slots=True)
class NoAuthCloud:
    """``View.cloud`` where there is no Keystone: no users, but an address."""

    heat_url: str | None
    software: Any = None  # resources.software.Software
    users: None = None

    @property
    def heat_base_url(self) -> str | None:
        return None if self.heat_url is None else base_url_from_endpoint(self.heat_url)
