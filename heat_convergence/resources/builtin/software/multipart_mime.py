"""``OS::Heat::MultipartMime``: several texts as one document that cloud-init reads.

Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

import email
import hashlib
import os.path
from collections.abc import Iterator, Mapping
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from heat_convergence.resources.builtin.software.configs import CONFIG, StoredConfig
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import config_text
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
_WHOLE = "multipart"


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


class MultipartMime(StoredConfig):
    name = "OS::Heat::MultipartMime"
    schema = TypeSchema(
        description="A document of several parts that a server is given to start with.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": _text(
                "Which tool on the server takes it.",
                default="Heat::Ungrouped",
                support_status=SupportStatus(version="14.0.0"),
            ),
            "parts": PropertySchema(
                type=PropertyType.LIST,
                description="The parts in their order.",
                default=[],
                item=PropertySchema(
                    type=PropertyType.MAP,
                    description="One of them.",
                    schema={
                        CONFIG: _text(
                            "The text, or the id of a configuration that has it.", required=True
                        ),
                        "filename": _text("The file's name in the document."),
                        "type": _text(
                            "Whether the text is a document of several parts itself, whose parts"
                            " are taken.",
                            default="text",
                            constraints=(AllowedValues(("text", _WHOLE)),),
                        ),
                        "subtype": _text("What kind of text it is, after text/."),
                    },
                ),
            ),
        },
        attributes={
            CONFIG: AttributeSchema(PropertyType.STRING, "The configuration as it is stored.")
        },
    )

    def build_content(self, context: ResourceContext) -> Json:
        parts = [
            part
            for given in context.properties.get("parts") or ()
            for part in _parts(given, config_text(context, given[CONFIG]))
        ]
        told = "".join(part.as_string() for part in parts)
        digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()
        whole = MIMEMultipart(boundary=f"==============={digest[:19]}==", _subparts=parts)
        return whole.as_string()


def _parts(given: Mapping[str, Json], text: str) -> Iterator[Message]:
    if given.get("type") != _WHOLE:
        yield _part(text, given.get("subtype"), given.get("filename"))
        return
    for found in email.message_from_string(text).walk():
        if not found.is_multipart():
            yield _part(_body(found), found.get_content_subtype(), found.get_filename())


def _body(found: Message) -> str:
    body = found.get_payload(decode=True)
    charset = found.get_content_charset("utf-8")
    return body.decode(charset, "replace") if isinstance(body, bytes) else str(body)


def _part(text: str, subtype: str | None, filename: str | None) -> Message:
    """Without a subtype it is the file's name without its ending."""
    text_subtype = subtype or os.path.splitext(filename or "")[0] or "plain"
    part = MIMEText(text, text_subtype, "us-ascii" if text.isascii() else "utf-8")
    if filename:
        part.add_header("Content-Disposition", "attachment", filename=filename)
    return part
