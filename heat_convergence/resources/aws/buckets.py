"""``AWS::S3::Bucket``: a container of the object storage.

Decides its headers. Its verbs are those of ``OS::Swift::Container``.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.aws.tags import tags_as_map
from heat_convergence.resources.aws.translated_type import TranslatedType

Json = Any
_EVERYBODY = ".r:*"
_READ, _WRITE = "X-Container-Read", "X-Container-Write"


class Bucket(TranslatedType):
    """A container that its project alone may use, unless it says otherwise."""

    name = "AWS::S3::Bucket"
    target = "OS::Swift::Container"
    schema_group = "storage"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the container."""
        access: dict[str, dict[str, str]] = {
            "PublicRead": {_READ: _EVERYBODY},
            "PublicReadWrite": {_READ: _EVERYBODY, _WRITE: _EVERYBODY},
            "AuthenticatedRead": {_READ: project_id},
        }
        website = properties.get("WebsiteConfiguration") or {}
        pages = {
            "Web-Index": website.get("IndexDocument"),
            "Web-Error": website.get("ErrorDocument"),
        }
        tags = tags_as_map(properties.get("Tags"))
        metadata = {
            **{name: page for name, page in pages.items() if page},
            **{f"S3-Tag-{key}": value for key, value in tags.items()},
        }
        return {
            **access.get(properties.get("AccessControl") or "", {}),
            "X-Container-Meta": metadata,
        }
