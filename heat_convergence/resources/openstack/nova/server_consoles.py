"""Addresses of a server's consoles: the attribute ``console_urls``.

They are requested when a user reads them, on behalf of that user, because each address holds a
token that soon expires.  Without a request, as in an engine, there are none.
Source: Heat's ``OS::Nova::Server``, attribute ``console_urls``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import Error, InvalidTemplateAttribute, Retry
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
    """Return the URLs by console type, without those that the cloud does not offer."""
    urls = {
        console_type: _request_url(rest_resource, server_id, console_type, strict=False)
        for console_type in sorted(_PROTOCOLS)
    }
    return {console_type: url for console_type, url in urls.items() if url is not None}


def get_console_url(rest_resource: RestResource, server_id: str, console_type: str) -> ValueAtPath:
    """Return the URL of one console type.

    Raises:
        InvalidTemplateAttribute: There is no such console type.
        Error: Nova offers no such console, or is unavailable.
    """
    if console_type not in _PROTOCOLS:
        raise InvalidTemplateAttribute(
            f"{CONSOLE_URLS} has no {console_type}: it has {', '.join(sorted(_PROTOCOLS))}"
        )
    return ValueAtPath(_request_url(rest_resource, server_id, console_type, strict=True))


def _request_url(
    rest_resource: RestResource, server_id: str, console_type: str, *, strict: bool
) -> str | None:
    cloud = request_cloud.current_cloud()
    if cloud is None:
        return None
    client = RestResourceClient(cloud, replace(rest_resource, microversion=_MICROVERSION))
    request = {"remote_console": {"protocol": _PROTOCOLS[console_type], "type": console_type}}
    try:
        body = client.send("POST", client.path(server_id, "remote-consoles"), request).body
    except Error as error:
        if strict or error.retry is not Retry.NEVER:
            raise
        return None
    return str(body["remote_console"]["url"])
