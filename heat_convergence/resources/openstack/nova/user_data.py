"""User data of a server.

Decides their form.  ``RAW`` is passed on unchanged; the other formats are a multipart document for
cloud-init, whose later parts are stored under ``/var/lib/heat-cfntools`` for tools in the guest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from heat_convergence.resources.protocol.software_config_store import config_text
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
RAW = "RAW"
SOFTWARE_CONFIG = "SOFTWARE_CONFIG"
HEAT_CFNTOOLS = "HEAT_CFNTOOLS"
FORMATS_WITHOUT_AGENT = (RAW, HEAT_CFNTOOLS)
DIRECTORY = "/var/lib/heat-cfntools"

_CLOUD_CONFIG = """\
#cloud-config
# Lets the guest answer on its console, and keeps what was handed over.
output:
  all: '| tee -a /var/log/cloud-init-output.log'
"""
_KEEPER = f"""\
#part-handler
import os

DIRECTORY = {DIRECTORY!r}


def list_types():
    return ["text/x-cfninitdata"]


def handle_part(data, content_type, filename, payload):
    if content_type == "__begin__":
        os.makedirs(DIRECTORY, mode=0o700, exist_ok=True)
    elif filename:
        path = os.path.join(DIRECTORY, os.path.basename(filename))
        mode = "wb" if isinstance(payload, bytes) else "w"
        with open(path, mode) as kept:
            kept.write(payload)
        os.chmod(path, 0o700)
        if os.path.basename(filename) == "cfn-userdata":
            os.spawnv(os.P_WAIT, path, [path])
"""


def resolve_user_data(context: ResourceContext, properties: Mapping[str, Json]) -> str:
    """Return the text of the property, or of the software config whose id it is."""
    text: str = properties.get("user_data") or ""
    if properties.get("user_data_format", RAW) in (RAW, SOFTWARE_CONFIG):
        return config_text(context, text)
    return text


def encode_user_data(
    user_data_format: str, text: str, metadata: Mapping[str, Json], metadata_url: str | None = None
) -> str | None:
    """Return the user data in Base64; None if there are none.

    Args:
        user_data_format: The property of that name.
        text: The resolved user data.
        metadata: The server's metadata, for the tools in the guest.
        metadata_url: The URL where these read later metadata.
    """
    document = (
        text
        if user_data_format == RAW
        else _document(user_data_format, text, metadata, metadata_url)
    )
    return base64.b64encode(document.encode()).decode() if document else None


def _document(
    user_data_format: str, text: str, metadata: Mapping[str, Json], metadata_url: str | None
) -> str:
    document = MIMEMultipart(boundary="=" * 15 + "0000000000000000000" + "==")
    document.attach(_part(_CLOUD_CONFIG, "cloud-config", "cloud-config"))
    document.attach(_part(_KEEPER, "part-handler", "part-handler.py"))
    if user_data_format == SOFTWARE_CONFIG:
        if text:
            document.attach(_script(text))
    else:
        document.attach(_part(text, "x-cfninitdata", "cfn-userdata"))
    if metadata:
        content = json.dumps(metadata, sort_keys=True)
        document.attach(_part(content, "x-cfninitdata", "cfn-init-data"))
    if metadata_url is not None and user_data_format != SOFTWARE_CONFIG:
        document.attach(_part(metadata_url, "x-cfninitdata", "cfn-metadata-server"))
    return document.as_string()


def _script(text: str) -> MIMEText:
    """Return the template's text as cloud-config or script, by its first line."""
    subtype = "cloud-config" if text.startswith("#cloud-config") else "x-shellscript"
    return _part(text, subtype, "user-data")


def _part(text: str, subtype: str, name: str) -> MIMEText:
    part = MIMEText(text, subtype, "utf-8" if not text.isascii() else "us-ascii")
    part.add_header("Content-Disposition", "attachment", filename=name)
    return part
