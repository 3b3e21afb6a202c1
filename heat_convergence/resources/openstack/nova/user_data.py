"""What a server is given to start with.

Decides the form of user data.  ``RAW`` is handed over as it is; the other formats are a
multipart document that cloud-init reads, in which the parts after the first are kept as
files under ``/var/lib/heat-cfntools`` for tools in the guest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.software_config_store import config_text

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


def resolve_user_data(view: ResourceContext, properties: Mapping[str, Json]) -> str:
    """What the template says, or what is in the configuration of which it says the id."""
    text: str = properties.get("user_data") or ""
    if properties.get("user_data_format", RAW) in (RAW, SOFTWARE_CONFIG):
        return config_text(view, text)
    return text


def encode_user_data(
    user_data_format: str, text: str, metadata: Mapping[str, Json], metadata_url: str | None = None
) -> str | None:
    """Base64, as the service takes it; None where there is nothing to hand over.
    ``metadata_url`` is where the tools in the guest ask for later metadata."""
    document = (
        text
        if user_data_format == RAW
        else _document(user_data_format, text, metadata, metadata_url)
    )
    return base64.b64encode(document.encode()).decode() if document else None


def _document(form: str, text: str, metadata: Mapping[str, Json], metadata_url: str | None) -> str:
    whole = MIMEMultipart(boundary="=" * 15 + "0000000000000000000" + "==")
    whole.attach(_part(_CLOUD_CONFIG, "cloud-config", "cloud-config"))
    whole.attach(_part(_KEEPER, "part-handler", "part-handler.py"))
    if form == SOFTWARE_CONFIG:
        if text:
            whole.attach(_script(text))
    else:
        whole.attach(_part(text, "x-cfninitdata", "cfn-userdata"))
    if metadata:
        told = json.dumps(metadata, sort_keys=True)
        whole.attach(_part(told, "x-cfninitdata", "cfn-init-data"))
    if metadata_url is not None and form != SOFTWARE_CONFIG:
        whole.attach(_part(metadata_url, "x-cfninitdata", "cfn-metadata-server"))
    return whole.as_string()


def _script(text: str) -> MIMEText:
    """A script or cloud-config of the author's own, by its first line."""
    kind = "cloud-config" if text.startswith("#cloud-config") else "x-shellscript"
    return _part(text, kind, "user-data")


def _part(text: str, kind: str, name: str) -> MIMEText:
    part = MIMEText(text, kind, "utf-8" if not text.isascii() else "us-ascii")
    part.add_header("Content-Disposition", "attachment", filename=name)
    return part
