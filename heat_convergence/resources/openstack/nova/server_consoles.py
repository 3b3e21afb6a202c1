"""Addresses of a server's consoles: the attribute ``console_urls``.

They are requested when a user reads them, on behalf of that user, because each address holds a
token that soon expires.  Without a request, as in an engine, there are none.  A console that Nova
does not offer has a reason in place of its address.
Source: Heat's ``OS::Nova::Server``, attribute ``console_urls``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.errors import Error
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.template.evaluation.evaluation import ValueAtPath

Json = Any
CONSOLE_URLS = "console_urls"
_MICROVERSION = "2.8"  # one call for all console types
_PROTOCOLS = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}


def get_console_urls(rest_resource: RestResource, server_id: str) -> dict[str, str]:
    """Return the URL of every console type, or the reason why there is none.

    Without a request's cloud there are none.
    """
    cloud = request_cloud.current_cloud()
    if cloud is None:
        return {}
    return {
        console_type: _request_url(cloud, rest_resource, server_id, console_type)
        for console_type in _PROTOCOLS
    }


def get_console_url(rest_resource: RestResource, server_id: str, console_type: str) -> ValueAtPath:
    """Return the URL of one console type, or the reason why there is none, as Heat does."""
    if console_type not in _PROTOCOLS:
        return ValueAtPath(f'Unsupported console_type "{console_type}"')
    cloud = request_cloud.current_cloud()
    if cloud is None:
        return ValueAtPath(None)
    return ValueAtPath(_request_url(cloud, rest_resource, server_id, console_type))


def _request_url(
    cloud: CloudClient, rest_resource: RestResource, server_id: str, console_type: str
) -> str:
    client = RestResourceClient(cloud, replace(rest_resource, microversion=_MICROVERSION))
    request = {"remote_console": {"protocol": _PROTOCOLS[console_type], "type": console_type}}
    try:
        body = client.send("POST", client.path(server_id, "remote-consoles"), request).body
    except Error as error:
        return f"Cannot get console url: {error}"
    return str(body["remote_console"]["url"])
