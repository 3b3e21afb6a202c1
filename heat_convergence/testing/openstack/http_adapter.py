"""The emulation below openstacksdk, as a transport of ``requests`` without a socket.

``connect`` returns a real ``openstack.connection.Connection``, so that the libraries' own code
reads the service catalog, discovery, tokens, JSON and headers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.config.cloud_region import from_session
from openstack.connection import Connection
from requests.adapters import BaseAdapter

from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)
from heat_convergence.testing.openstack.services import install_services

Json = Any
HOST = "cloud.invalid"
# openstacksdk's name of a service → (type in the catalog, path of its endpoint,
# newest microversion)
SERVICE_ENDPOINTS: Mapping[str, tuple[str, str, str]] = {
    "identity": ("identity", "/identity/v3", ""),
    "network": ("network", "/network/v2.0", ""),
    "compute": ("compute", "/compute/v2.1", "2.100"),
    "block_storage": ("block-storage", "/volume/v3", "3.71"),
    "image": ("image", "/image/v2", ""),
    "load_balancer": ("load-balancer", "/load-balancer/v2.0", ""),
    "dns": ("dns", "/dns/v2", ""),
    "shared_file_system": ("shared-file-system", "/share/v2", "2.85"),
    "alarm": ("alarming", "/alarm/v2", ""),
    "message": ("messaging", "/messaging/v2", ""),
    "workflow": ("workflowv2", "/workflow/v2", ""),
    "container_infrastructure_management": ("container-infra", "/container-infra/v1", ""),
    "baremetal": ("baremetal", "/baremetal/v1", "1.90"),
    "reservation": ("reservation", "/reservation/v1", ""),
    "database": ("database", f"/database/v1.0/{PROJECT_ID}", ""),
    "application_container": ("container", "/container/v1", ""),
    "key_manager": ("key-manager", "/key-manager/v1", ""),
    "object_store": ("object-store", f"/swift/v1/AUTH_{PROJECT_ID}", ""),
}


class EmulatedHttpAdapter(BaseAdapter):
    """A transport of ``requests`` that the emulation responds to.

    Args:
        emulation: The cloud.
        missing_services: Services that the service catalog lacks.
        host: The host in the service catalog's URLs.
    """

    def __init__(
        self,
        emulation: Emulation,
        missing_services: frozenset[str] = frozenset(),
        host: str = HOST,
    ) -> None:
        super().__init__()
        self._emulation = emulation
        self._missing_services = missing_services
        self._host = host

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Return the emulation's response to a prepared request."""
        emulated = self.respond(request)
        response = requests.Response()
        response.status_code = emulated.status
        response.url = str(request.url)
        response.request = request
        response.headers.update({"Content-Type": "application/json", **emulated.headers})
        response.raw = io.BytesIO(emulated.content)
        return response

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def respond(self, request: requests.PreparedRequest) -> EmulatedResponse:
        """Return the response to a request, whatever transports it."""
        url = urlsplit(str(request.url))
        if url.path.endswith("/auth/tokens"):
            return EmulatedResponse(
                201, _token(self._missing_services, self._host), {"X-Subject-Token": "t"}
            )
        for name, (_, path, newest) in SERVICE_ENDPOINTS.items():
            if url.path.rstrip("/") == path and request.method == "GET":
                return EmulatedResponse(200, _version(path, newest, self._host))
            if url.path.startswith(path + "/"):
                return self._emulation.handle(
                    EmulatedRequest(
                        name,
                        str(request.method),
                        unquote(url.path[len(path) :]),
                        parse_qs(url.query),
                        _json_body(request),
                        headers={name: str(value) for name, value in request.headers.items()},
                    )
                )
        return EmulatedResponse(404, {"error": {"message": f"nothing at {url.path}"}})


def _json_body(request: requests.PreparedRequest) -> Json:
    """Return the document of a body, or the text of one that is no JSON."""
    body = request.body
    if not body or not isinstance(body, str | bytes):
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode() if isinstance(body, bytes) else body


def connect(emulation: Emulation, *, missing_services: frozenset[str] = frozenset()) -> Connection:
    """Return a connection of openstacksdk to the emulation."""
    session = requests.Session()
    session.mount("http://", EmulatedHttpAdapter(emulation, missing_services))
    auth = Password(f"http://{HOST}/identity/v3", user_id="u", password="p", project_id=PROJECT_ID)
    region = from_session(Session(auth=auth, session=session), region_name="RegionOne")
    return Connection(config=region)


def create_emulation(
    install_services: Callable[[Emulation], None] = install_services,
) -> Emulation:
    """Return a cloud with the behavior that the services' APIs have."""
    emulation = Emulation()
    install_services(emulation)
    return emulation


def _token(missing_services: frozenset[str], host: str) -> Json:
    until = datetime.now(UTC) + timedelta(hours=1)
    return {
        "token": {
            "methods": ["password"],
            "expires_at": until.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "project": {"id": PROJECT_ID, "name": "p", "domain": {"id": "default"}},
            "user": {"id": "u", "name": "u", "domain": {"id": "default"}},
            "roles": [],
            "catalog": [
                {
                    "type": service_type,
                    "name": name,
                    "id": name,
                    "endpoints": [
                        {
                            "interface": "public",
                            "region": "RegionOne",
                            "region_id": "RegionOne",
                            "id": name,
                            "url": f"http://{host}{path}",
                        }
                    ],
                }
                for name, (service_type, path, _) in SERVICE_ENDPOINTS.items()
                if name not in missing_services
            ],
        }
    }


def _version(path: str, newest: str, host: str) -> Json:
    """Return a discovery document with a single version."""
    major = path.rpartition("/")[2]
    if not major.startswith("v"):
        major = "v1"
    version = {
        "id": major if "." in major else f"{major}.0",
        "status": "CURRENT",
        "version": newest,
        "max_version": newest,
        "min_version": newest and f"{newest.partition('.')[0]}.0",
        "links": [{"rel": "self", "href": f"http://{host}{path}/"}],
    }
    return {"version": version}
