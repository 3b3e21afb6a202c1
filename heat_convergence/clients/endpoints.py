"""URLs of this service as the senders of signals reach it.

Called by resource types through ``ResourceContext.cloud``. Pure: the catalog is read
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_VERSION = "/v1"


@dataclass(frozen=True, slots=True)
class ResourceLocator:
    """A resource in its stack, as URLs name it."""

    stack_name: str
    stack_id: str
    resource_name: str

    @property
    def url_path(self) -> str:
        """Path of the resource relative to the project's stacks, escaped."""
        names = (self.stack_name, self.stack_id, "resources", self.resource_name)
        return "/".join(quote(name, safe="") for name in names)


def base_url_from_endpoint(endpoint: str) -> str:
    """Return the address of the service from an endpoint with version and project."""
    head, found, _rest = endpoint.rpartition(_VERSION)
    return (head if found else endpoint).rstrip("/")


def signal_url(base_url: str, project_id: str, locator: ResourceLocator) -> str:
    """Return the URL of the API's signal route for a resource."""
    return f"{base_url}{_VERSION}/{project_id}/stacks/{locator.url_path}/signal"


def signed_url_path(base: str, project_id: str, locator: ResourceLocator) -> str:
    """Return the URL of a resource that is to be signed.

    Args:
        base: URL that ``signed_url_base`` returns.
        project_id: Project of the stack.
        locator: The resource.
    """
    head = quote(f"arn:openstack:heat::{project_id}:stacks", safe="")
    return f"{base}/{head}/{locator.url_path}"


def metadata_base_url(endpoint: str) -> str:
    """Return the metadata URL as heat-cfntools expect it: with version and final slash."""
    head = endpoint.rstrip("/")
    return f"{head}/" if _VERSION in head else f"{head}{_VERSION}/"


def signed_url_base(base_url: str, url_type: str) -> str:
    """Return the base URL of signed URLs; ``url_type`` is ``signal`` or ``waitcondition``."""
    return f"{base_url}{_VERSION}/{url_type}"


@dataclass(frozen=True, slots=True)
class NoAuthCloud:
    """``ResourceContext.cloud`` of a service without Keystone: an address, but no users.

    Attributes:
        heat_url: Endpoint of the Orchestration API.
        software: Store of software configs and deployments.
        users: None, since there is no Keystone.
    """

    heat_url: str | None
    software: Any = None  # SoftwareConfigStore
    users: None = None

    @property
    def heat_base_url(self) -> str | None:
        """Address of the service without version and project; None when it is not configured."""
        return None if self.heat_url is None else base_url_from_endpoint(self.heat_url)
