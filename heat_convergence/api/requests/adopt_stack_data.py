"""The document of an abandoned stack, as the body of a new one.

Called by the controllers that create and preview stacks.  Checks the document's shape and merges
its template, files and environment into the body; what its resources adopt is decided by
``stacks.adoption``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.api.requests.stack_body import StackBody
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.snapshots.stack_export import is_stack_entry
from heat_convergence.template.environment.environment import parse_environment_sections
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document

Json = Any
_FIELD = "adopt_stack_data"
_MEMBERS_VERSION = "2015-04-30"
_MERGED = ("parameters", "parameter_defaults", "resource_registry")


def merge_adopt_stack_data(
    body: StackBody, limits: TemplateLimits, *, enabled: bool
) -> tuple[StackBody, dict[str, dict[str, Json]] | None]:
    """Merge the document beneath what the body itself says.

    Args:
        body: the body of a create.
        limits: of the environment's sections.
        enabled: whether the operator allows adoption.

    Returns:
        The merged body and the entries of the resources to adopt, None for a body without a
        document.

    Raises:
        NotSupported: adoption is not enabled.
        HTTPBadRequest: the document cannot be read or has no template.
    """
    if body.adopt_stack_data is None:
        return body, None
    if not enabled:
        raise errors.NotSupported("Stack Adopt is not enabled (enable_stack_adopt).")
    # The body's size bounds the document; its template is bounded as any.
    document = load_document(
        body.adopt_stack_data, limits=_without_size(limits), document_type=_FIELD
    ).data
    if not isinstance(document, dict):
        raise errors.HTTPBadRequest(f"{_FIELD} is not a map.")
    template = document.get("template")
    if not isinstance(template, dict | str) or not template:
        raise errors.HTTPBadRequest(f"{_FIELD} has no template.")
    document_sections = parse_environment_sections(_map(document, "environment"), limits=limits)
    merged = replace(
        body,
        template=template,
        template_url=None,
        files={**_files(document), **body.files},
        environment=_environment(document_sections, body, limits),
        parameters={**_remaining_parameters(document_sections, body), **body.parameters},
    )
    return merged, _resources(document)


def _without_size(limits: TemplateLimits) -> TemplateLimits:
    return replace(limits, max_template_size=2**31)


def _remaining_parameters(
    document_sections: Mapping[str, Json], body: StackBody
) -> Mapping[str, Json]:
    """Return the parameters that remain where environment_files replace the environment."""
    return document_sections.get("parameters", {}) if body.environment_files else {}


def _environment(
    document_sections: Mapping[str, Json], body: StackBody, limits: TemplateLimits
) -> Json:
    """Return the document's sections with the body's own over them."""
    own_sections = parse_environment_sections(body.environment, limits=limits)
    merged = {**document_sections, **own_sections}
    for name in _MERGED:
        if name in document_sections and name in own_sections:
            merged[name] = {**document_sections[name], **own_sections[name]}
    return merged


def _files(document: Mapping[str, Json], path: str = _FIELD) -> dict[str, str]:
    files = _map(document, "files", path)
    for name, content in files.items():
        if not isinstance(content, str):
            raise errors.HTTPBadRequest(f'{path}: files: "{name}" must be a string.')
    return files


def _resources(document: Mapping[str, Json], path: str = _FIELD) -> dict[str, dict[str, Json]]:
    entries = _map(document, "resources", path)
    return {
        name: _checked_entry(f"{path}: resources.{name}", entry) for name, entry in entries.items()
    }


def _checked_entry(where: str, entry: Json) -> dict[str, Json]:
    """Return the entry of a resource; that of a nested stack has a template."""
    if not isinstance(entry, dict):
        raise errors.HTTPBadRequest(f"{where} must be a map.")
    if is_stack_entry(entry):
        return _checked_nested(entry, where)
    if entry.get("resources") is not None:
        return _checked_nested({**entry, "template": _template_of_entries(entry, where)}, where)
    if not isinstance(entry.get("resource_id"), str | None):
        raise errors.HTTPBadRequest(f"{where}.resource_id must be a string.")
    if not isinstance(entry.get("resource_data"), dict | None):
        raise errors.HTTPBadRequest(f"{where}.resource_data must be a map.")
    return entry


def _template_of_entries(entry: Mapping[str, Json], where: str) -> dict[str, Json]:
    """Return the template of a nested stack whose document has only its resources."""
    types = {}
    for name, each in _map(entry, "resources", where).items():
        types[name] = each.get("type") if isinstance(each, dict) else None
        if not isinstance(types[name], str):
            raise errors.HTTPBadRequest(f"{where}: resources.{name}.type must be a string.")
    resources = {name: {"type": type_name} for name, type_name in types.items()}
    return {"heat_template_version": _MEMBERS_VERSION, "resources": resources}


def _checked_nested(document: Mapping[str, Json], where: str) -> dict[str, Json]:
    if not isinstance(document["template"], dict | str) or not document["template"]:
        raise errors.HTTPBadRequest(f"{where} has no template.")
    _map(document, "environment", where)
    _files(document, where)
    return {**document, "resources": _resources(document, where)}


def _map(document: Mapping[str, Json], name: str, path: str = _FIELD) -> dict[str, Json]:
    value = document.get(name)
    if value is not None and not isinstance(value, dict):
        raise errors.HTTPBadRequest(f"{path}: {name} must be a map.")
    return value or {}
