"""Documents of responses as XML or JSON.

Decides the encoding alone. XML has no declaration and no namespace, because agents in servers
cannot read them; a value that is not set has no element.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree  # nosec B405  # builds documents, and reads none

import webob

Json = Any
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class EmbeddedJson:
    """A document that is JSON text in XML, and itself in JSON."""

    def __init__(self, document: Json) -> None:
        """Keep the document."""
        self.document = document


def render(document: Mapping[str, Json], *, as_json: bool, status: int = 200) -> webob.Response:
    """Return the response with a document that has one key at its top."""
    if as_json:
        text = json.dumps(_native(document), ensure_ascii=False).encode()
        return webob.Response(text, status, content_type="application/json", charset="UTF-8")
    ((name, value),) = document.items()
    root = ElementTree.Element(name)
    _fill(root, value)
    return webob.Response(
        ElementTree.tostring(root), status, content_type="application/xml", charset="UTF-8"
    )


def _fill(element: ElementTree.Element, value: Json) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if item is not None:
                _fill(ElementTree.SubElement(element, name), item)
    elif isinstance(value, list | tuple):
        for item in value:
            _fill(ElementTree.SubElement(element, "member"), item)
    else:
        element.text = _ILLEGAL.sub("\ufffd", _as_text(value)) or None


def _as_text(value: Json) -> str:
    if isinstance(value, EmbeddedJson):
        if isinstance(value.document, str):
            return value.document
        return json.dumps(value.document, ensure_ascii=False) if value.document else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _native(value: Json) -> Json:
    if isinstance(value, EmbeddedJson):
        return value.document
    if isinstance(value, Mapping):
        return {name: _native(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_native(item) for item in value]
    return value
