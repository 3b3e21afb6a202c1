"""Snapshots as clients read them; source: docs/reference/rest-api.rst, Views.

Pure functions of rows. The document of a snapshot is masked here, and stored whole: what a restore
or a deletion needs is never read from the masked one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import SENSITIVE_KEY
from heat_convergence.convergence.lifecycle.snapshots.stack_export import is_stack_entry
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parameters.hidden_parameters import (
    hidden_parameters,
    hidden_parameters_of_texts,
)
from heat_convergence.template.text_redaction import MASK, mask_values

Json = Any
_VALUE_SECTIONS = ("parameters", "parameter_defaults")


def format_snapshot(
    snapshot: Snapshot, registry: ResourceTypeRegistry, limits: TemplateLimits
) -> dict[str, Json]:
    """Return a snapshot as lists show it and alone, without secrets."""
    data = snapshot.data
    if data is not None:
        data = _DocumentMask(
            registry, _find_hidden_names(data, limits), is_sensitive=snapshot.sensitive
        ).mask(data)
    return {
        "id": snapshot.id,
        "name": snapshot.name,
        "action": str(snapshot.action),
        "status": str(snapshot.status),
        "status_reason": snapshot.status_reason or None,
        "data": data,
        "creation_time": format_time(snapshot.created_at),
    }


class _DocumentMask:
    """The mask over the secrets in the document of a stack and of its nested stacks.

    A sensitive resource may hold a secret anywhere: all values of its data and metadata are
    masked. Of other resources, only what their types declare as secret is. Entries that do not
    say which they are, as those of adopted documents, count as the whole document does.
    """

    def __init__(
        self, registry: ResourceTypeRegistry, hidden: Container[str], *, is_sensitive: bool
    ) -> None:
        self._registry = registry
        self._is_sensitive = is_sensitive
        self._hidden = hidden

    def mask(self, document: Mapping[str, Json]) -> dict[str, Json]:
        """Return the document of a stack, masked."""
        masked = dict(document)
        for name, change in (
            ("environment", self._mask_environment),
            ("resources", self._mask_resources),
            ("resource_data", self._mask_nested_data),
            ("in_flight", self._mask_in_flight),
        ):
            if masked.get(name):
                masked[name] = change(masked[name])
        return masked

    def _mask_environment(self, environment: Mapping[str, Json]) -> dict[str, Json]:
        masked = dict(environment)
        for section in _VALUE_SECTIONS:
            if masked.get(section):
                masked[section] = {
                    name: MASK if name in self._hidden else value
                    for name, value in masked[section].items()
                }
        return masked

    def _mask_resources(self, entries: Mapping[str, Json]) -> dict[str, Json]:
        return {
            name: self.mask(entry) if is_stack_entry(entry) else self._mask_entry(entry)
            for name, entry in entries.items()
        }

    def _mask_entry(self, entry: Mapping[str, Json]) -> dict[str, Json]:
        masked = dict(entry)
        sensitive = masked.pop(SENSITIVE_KEY, self._is_sensitive)
        data = masked.get("resource_data") or {}
        if sensitive:
            return masked | {
                "metadata": mask_values(masked.get("metadata")),
                "resource_data": mask_values(data),
            }
        resource_type = self._registry.find(entry.get("implementation") or entry.get("type") or "")
        secret = data.keys() if resource_type is None else resource_type.secret_data
        masked["resource_data"] = {
            name: mask_values(each) if name in secret else each for name, each in data.items()
        }
        return masked

    def _mask_nested_data(self, data: Mapping[str, Json]) -> Json:
        return mask_values(data) if self._is_sensitive else data

    def _mask_in_flight(self, entries: list[Mapping[str, Json]]) -> list[Json]:
        return [
            {**entry, "nested": self.mask(entry["nested"])} if "nested" in entry else entry
            for entry in entries
        ]


def _find_hidden_names(document: Mapping[str, Json], limits: TemplateLimits) -> Container[str]:
    """Return the names that a template of the document, or one of its files, hides."""
    hidden: set[str] = set()
    files: set[str] = set()  # the documents of a tree have the same files
    for each in _iterate_documents(document):
        hidden |= hidden_parameters(each.get("template"))
        hidden.update((each.get("environment") or {}).get("encrypted_param_names") or ())
        files.update((each.get("files") or {}).values())
    return hidden_parameters_of_texts(files, limits, hidden)


def _iterate_documents(document: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    yield document
    for entry in (document.get("resources") or {}).values():
        if is_stack_entry(entry):
            yield from _iterate_documents(entry)
    for entry in document.get("in_flight") or ():
        if "nested" in entry:
            yield from _iterate_documents(entry["nested"])
