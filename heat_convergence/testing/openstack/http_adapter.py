"""The emulation below openstacksdk: a transport for ``requests`` without a socket.

``create_connection`` gives a real ``openstack.connection.Connection``, so that catalogue,
discovery, tokens, JSON and headers are the libraries' own.
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
# openstacksdk's name of a service → (type in the catalogue, path of its endpoint,
# newest microversion)
SERVICE_ENDPOINTS: Mapping[str, tuple[str, str, str]] = {
    "identity": ("identity", "/identity/v3", ""),
    "network": ("network", "/network/v2.0", ""),
    "compute": ("compute", "/compute/v2.1", "2.100"),
    "block_storage": ("block-storage", "/volume/v3", "3.71"),
    "image": ("image", "/image/v2", ""),
    "load_balancer": ("load-balancer", "/load-balancer/v2.0", ""),
    "object_store": ("object-store", f"/swift/v1/AUTH_{PROJECT_ID}", ""),
}


class EmulatedHttpAdapter(BaseAdapter):
    """``missing`` are services that the catalogue lacks, ``host`` is where they say
    they are."""

    def __init__(
        self,
        emulation: Emulation,
        missing_services: frozenset[str] = frozenset(),
        host: str = HOST,
    ) -> None:
        super().__init__()
        self._emulation = emulation
        self._missing = missing_services
        self._host = host

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        told = self.respond(request)
        response = requests.Response()
        response.status_code = told.status
        response.url = str(request.url)
        response.request = request
        response.headers.update({"Content-Type": "application/json", **told.headers})
        text = "" if told.body is None else json.dumps(told.body)
        response.raw = io.BytesIO(text.encode())
        return response

    def close(self) -> None:
        """Nothing is open."""

    def respond(self, request: requests.PreparedRequest) -> EmulatedResponse:
        """The answer to a request, whatever carries it."""
        parts = urlsplit(str(request.url))
        if parts.path.endswith("/auth/tokens"):
            return EmulatedResponse(
                201, _token(self._missing, self._host), {"X-Subject-Token": "t"}
            )
        for name, (_, path, newest) in SERVICE_ENDPOINTS.items():
            if parts.path.rstrip("/") == path:
                return EmulatedResponse(200, _version(path, newest, self._host))
            if parts.path.startswith(path + "/"):
                return self._emulation.handle(
                    EmulatedRequest(
                        name,
                        str(request.method),
                        unquote(parts.path[len(path) :]),
                        parse_qs(parts.query),
                        json.loads(request.body) if request.body else None,
                    )
                )
        return EmulatedResponse(404, {"error": {"message": f"nothing at {parts.path}"}})


def connect(emulation: Emulation, *, missing_services: frozenset[str] = frozenset()) -> Connection:
    session = requests.Session()
    session.mount("http://", EmulatedHttpAdapter(emulation, missing_services))
    auth = Password(f"http://{HOST}/identity/v3", user_id="u", password="p", project_id=PROJECT_ID)
    region = from_session(Session(auth=auth, session=session), region_name="RegionOne")
    return Connection(config=region)


def create_emulation(
    install_services: Callable[[Emulation], None] = install_services,
) -> Emulation:
    """A cloud with the services' own rules."""
    emulation = Emulation()
    install_services(emulation)
    return emulation


def _token(missing: frozenset[str], host: str) -> Json:
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
                    "type": kind,
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
                for name, (kind, path, _) in SERVICE_ENDPOINTS.items()
                if name not in missing
            ],
        }
    }


def _version(path: str, newest: str, host: str) -> Json:
    """A discovery document of the one version that there is."""
    major = path.rpartition("/")[2]
    if "AUTH_" in path:
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
