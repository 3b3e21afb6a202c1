"""Where a server's consoles are: ``console_urls``.

Asked for when somebody reads them, as that user, since each address holds a token that
soon runs out; where nobody is asking, as in an engine, there are none.
Source: heat-facts ``resource_types.json`` (``OS::Nova::Server``).
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
_SINCE = "2.8"  # of the interface: all kinds by one call
_PROTOCOLS = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}


def get_console_urls(thing: RestResource, server_id: str) -> dict[str, str]:
    """By kind; what the cloud does not offer is left out."""
    found = {kind: _url(thing, server_id, kind, strict=False) for kind in sorted(_PROTOCOLS)}
    return {kind: url for kind, url in found.items() if url is not None}


def get_console_url(thing: RestResource, server_id: str, console_type: str) -> ValueAtPath:
    """Raises what the service says where it offers no such console, and
    ``InvalidTemplateAttribute`` for a kind that is none."""
    if console_type not in _PROTOCOLS:
        raise InvalidTemplateAttribute(
            f"{CONSOLE_URLS} has no {console_type}: it has {', '.join(sorted(_PROTOCOLS))}"
        )
    return ValueAtPath(_url(thing, server_id, console_type, strict=True))


def _url(thing: RestResource, server_id: str, kind: str, *, strict: bool) -> str | None:
    cloud = request_cloud.current_cloud()
    if cloud is None:
        return None
    calls = RestResourceClient(cloud, replace(thing, microversion=_SINCE))
    wanted = {"remote_console": {"protocol": _PROTOCOLS[kind], "type": kind}}
    try:
        body = calls.send("POST", calls.path(server_id, "remote-consoles"), wanted).body
    except Error as error:
        if strict or error.retry is not Retry.NEVER:
            raise
        return None
    return str(body["remote_console"]["url"])
