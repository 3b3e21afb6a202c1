"""``OS::Heat::MultipartMime``: several texts as one document that cloud-init reads.

Decides the document's form. Loaded by entry point.

Source: docs/reference/resource-groups.rst, "Software configuration".
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
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import config_text
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.template.parameters.constraints import AllowedValues

Json = Any
_MULTIPART = "multipart"


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


class MultipartMime(StoredConfig):
    """A configuration that is a MIME message of several parts."""

    name = "OS::Heat::MultipartMime"
    schema = TypeSchema(
        description="A collection of software configurations as a multi-part MIME message.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": _text(
                "Namespace of the tool that applies it on a server.",
                default="Heat::Ungrouped",
                support_status=SupportStatus(version="14.0.0"),
            ),
            "parts": PropertySchema(
                type=PropertyType.LIST,
                description="Parts of the message, in order.",
                default=[],
                item=PropertySchema(
                    type=PropertyType.MAP,
                    description="Part of the message.",
                    schema={
                        CONFIG: _text(
                            "Text of the part, or ID of a configuration with it.", required=True
                        ),
                        "filename": _text("File name of the part."),
                        "type": _text(
                            "Whether the text is a single part, or a multi-part message whose"
                            " parts are added.",
                            default="text",
                            constraints=(AllowedValues(("text", _MULTIPART)),),
                        ),
                        "subtype": _text("Subtype of the media type text."),
                    },
                ),
            ),
        },
        attributes={CONFIG: AttributeSchema(PropertyType.STRING, "The stored configuration.")},
    )

    def build_content(self, context: ResourceContext) -> Json:
        """Return the message; its boundary follows from its parts."""
        parts = [
            part
            for item in context.properties.get("parts") or ()
            for part in _parts(item, config_text(context, item[CONFIG]))
        ]
        text = "".join(part.as_string() for part in parts)
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        message = MIMEMultipart(boundary=f"==============={digest[:19]}==", _subparts=parts)
        return message.as_string()


def _parts(item: Mapping[str, Json], text: str) -> Iterator[Message]:
    if item.get("type") != _MULTIPART:
        yield _part(text, item.get("subtype"), item.get("filename"))
        return
    for found in email.message_from_string(text).walk():
        if not found.is_multipart():
            yield _part(_body(found), found.get_content_subtype(), found.get_filename())


def _body(found: Message) -> str:
    body = found.get_payload(decode=True)
    charset = found.get_content_charset("utf-8")
    return body.decode(charset, "replace") if isinstance(body, bytes) else str(body)


def _part(text: str, subtype: str | None, filename: str | None) -> Message:
    """Return one part; without a subtype it is the file's name without its extension."""
    text_subtype = subtype or os.path.splitext(filename or "")[0] or "plain"
    part = MIMEText(text, text_subtype, "us-ascii" if text.isascii() else "utf-8")
    if filename:
        part.add_header("Content-Disposition", "attachment", filename=filename)
    return part
