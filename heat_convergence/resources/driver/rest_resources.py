"""Declarations of REST resources: their paths, names and lists.

Decides nothing; the rows of ``catalog.rest_resources`` are made of this. A resource type creates
objects of one REST resource, its properties name objects of others, constraints look them up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heat_convergence.clients.sdk.loading import load

OWNER_METADATA_KEY = "heat_resource_id"  # in metadata, where that carries the mark


class BulkRead(StrEnum):
    """The way in which a service lists many objects at once."""

    BY_IDS = "ids"  # a list filtered by ids
    CHANGED_SINCE = "changed"  # a list of what has changed since a time
    ALL = "all"  # the project's whole list


class OwnershipMarkField(StrEnum):
    """The field that carries the resource's id when the physical name is not its own.

    ``NAME`` is for objects without another field, whose name can be changed later.
    """

    NONE = "none"
    NAME = "name"
    DESCRIPTION = "description"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestResource:
    """A collection of objects that a service manages.

    Attributes:
        entity: The name by which constraints refer to it, such as ``neutron.network``.
        sdk_class: The name of openstacksdk's class, which knows path, body keys and the method
            of updates, such as ``compute.v2.server.Server``; or a class with its attributes.
        entity_label: Its name in messages; the entity's last part by default.
        name_query: The query that filters by name, None where the service cannot.
        path: The path, where the class's own does not fit.
        list_path: The path of the list, where it differs.
        mark_filterable: The list can be filtered by the ownership mark.
        ids_are_uuids: Ids are always UUIDs, so that a UUID needs no lookup.
        ids_are_urls: Ids are URLs, of which paths have the last segment.
        headers: Headers of every request.
        commit_method: The HTTP method of an update, where it is not the class's own.
        updates_by_patch: An update is a JSON patch of the object (RFC 6902).
        paged_by_offset: Pages of a list are requested by their offset, not by a marker.
        list_query: Query parameters of every list request.
    """

    entity: str
    service: str
    sdk_class: str | type[Any]
    entity_label: str = ""
    name_key: str | None = "name"
    name_query: str | None = "name"
    id_key: str = "id"
    path: str | None = None
    list_path: str | None = None
    bulk_read: BulkRead = BulkRead.ALL
    ownership_mark_field: OwnershipMarkField = OwnershipMarkField.NONE
    mark_filterable: bool = False
    microversion: str | None = None
    ids_are_uuids: bool = True
    ids_are_urls: bool = False
    paged_by_offset: bool = False
    updates_by_patch: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    commit_method: str | None = None
    list_query: tuple[tuple[str, str], ...] = ()

    @property
    def _class(self) -> type[Any]:
        if isinstance(self.sdk_class, type):
            return self.sdk_class
        loaded: type[Any] = load(self.sdk_class)
        return loaded

    @property
    def path_template(self) -> str:
        """The path of the collection, perhaps with names such as ``%(pool_id)s``."""
        return self.path or str(self._class.base_path)

    @property
    def list_path_template(self) -> str:
        """The path of the list."""
        return self.list_path or self.path_template

    @property
    def item_key(self) -> str | None:
        """The key of one object in a body; None: the body is the object."""
        found = self._class.resource_key
        return None if found is None else str(found)

    @property
    def list_key(self) -> str | None:
        """The key of the list in a body, if any."""
        found = self._class.resources_key
        return None if found is None else str(found)

    @property
    def update_method(self) -> str:
        """The HTTP method of an update."""
        return str(self.commit_method or self._class.commit_method or "PUT")

    @property
    def label(self) -> str:
        """The entity's name in messages to users."""
        return self.entity_label or self.entity.rpartition(".")[2]


def by_entity(*rest_resources: RestResource) -> Mapping[str, RestResource]:
    """Return REST resources by the names of their entities."""
    return {rest_resource.entity: rest_resource for rest_resource in rest_resources}
