"""The document of an abandoned stack, as the body of a new one.

Called by the controllers that create and preview stacks.  Decides what of the document
counts: template, files, environment and, of each resource, its physical id, its data and
whether it is suspended.
Source: heat-facts ``rest_api.md``, views abandon and adopt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api.requests.stack_body import StackBody
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.stack_export import is_suspended_entry
from heat_convergence.convergence.model.resource import ADOPTED_STACK
from heat_convergence.template.environment.environment import parse_environment_sections
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document

Json = Any
_WHAT = "adopt_stack_data"
_MERGED = ("parameters", "parameter_defaults", "resource_registry")


@dataclass(frozen=True, slots=True)
class AdoptedResourceBody:
    """One resource that exists already; ``data`` of one that a stack is behind hold
    that stack's document, as in ``traversal.AdoptedResource``."""

    physical_id: str | None
    data: Mapping[str, Json]
    suspended: bool = False


def merge_adopt_stack_data(
    body: StackBody, limits: TemplateLimits, *, enabled: bool
) -> tuple[StackBody, dict[str, AdoptedResourceBody] | None]:
    """The body with what the document says beneath what it says itself, and the
    resources that are handed over; None for a body that adopts nothing.

    Raises ``NotSupported`` where the operator does not allow it and ``HTTPBadRequest``
    for a document that can't be read or has no template.
    """
    if body.adopt_stack_data is None:
        return body, None
    if not enabled:
        raise errors.NotSupported("Stack Adopt is not enabled (enable_stack_adopt).")
    # What bounds the document is the size of the body; its template is bounded as any.
    document = load_document(
        body.adopt_stack_data, limits=_without_size(limits), document_type=_WHAT
    ).data
    if not isinstance(document, dict):
        raise errors.HTTPBadRequest(f"{_WHAT} is not a map.")
    template = document.get("template")
    if not isinstance(template, dict | str) or not template:
        raise errors.HTTPBadRequest(f"{_WHAT} has no template.")
    below = parse_environment_sections(_map(document, "environment"), limits=limits)
    merged = replace(
        body,
        template=template,
        template_url=None,
        files={**_files(document), **body.files},
        environment=_environment(below, body, limits),
        parameters={**_beside_files(below, body), **body.parameters},
    )
    return merged, _resources(document)


def _without_size(limits: TemplateLimits) -> TemplateLimits:
    return replace(limits, max_template_size=2**31)


def _beside_files(below: Mapping[str, Json], body: StackBody) -> Mapping[str, Json]:
    """Where environment_files take the environment's place, values remain."""
    return below.get("parameters", {}) if body.environment_files else {}


def _environment(below: Mapping[str, Json], body: StackBody, limits: TemplateLimits) -> Json:
    """Sections of the document's, with the request's own over them."""
    above = parse_environment_sections(body.environment, limits=limits)
    merged = {**below, **above}
    for name in _MERGED:
        if name in below and name in above:
            merged[name] = {**below[name], **above[name]}
    return merged


def _files(document: Mapping[str, Json], path: str = _WHAT) -> dict[str, str]:
    files = _map(document, "files", path)
    for name, content in files.items():
        if not isinstance(content, str):
            raise errors.HTTPBadRequest(f'{path}: files: "{name}" must be a string.')
    return files


def _resources(document: Mapping[str, Json], path: str = _WHAT) -> dict[str, AdoptedResourceBody]:
    entries = _map(document, "resources", path)
    return {name: _given(f"{path}: resources.{name}", entry) for name, entry in entries.items()}


def _given(where: str, entry: Json) -> AdoptedResourceBody:
    if not isinstance(entry, dict):
        raise errors.HTTPBadRequest(f"{where} must be a map.")
    if "template" in entry:
        _check_nested(entry, where)
        return AdoptedResourceBody(None, {ADOPTED_STACK: entry}, is_suspended_entry(entry))
    physical_id = entry.get("resource_id")
    if physical_id is not None and not isinstance(physical_id, str):
        raise errors.HTTPBadRequest(f"{where}.resource_id must be a string.")
    data = entry.get("resource_data")
    if data is not None and not isinstance(data, dict):
        raise errors.HTTPBadRequest(f"{where}.resource_data must be a map.")
    return AdoptedResourceBody(physical_id or None, data or {}, is_suspended_entry(entry))


def _check_nested(document: Mapping[str, Json], where: str) -> None:
    if not isinstance(document["template"], dict | str) or not document["template"]:
        raise errors.HTTPBadRequest(f"{where} has no template.")
    _map(document, "environment", where)
    _files(document, where)
    _resources(document, where)


def _map(document: Mapping[str, Json], name: str, path: str = _WHAT) -> dict[str, Json]:
    value = document.get(name)
    if value is not None and not isinstance(value, dict):
        raise errors.HTTPBadRequest(f"{path}: {name} must be a map.")
    return value or {}
