"""A template: its version, its sections, and nothing evaluated yet.

Decides whether a document is a template at all.  Called by the api when a request
arrives and by whoever reads a stored template.  Must not look into resources:
``evaluate`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from heat_convergence.common.errors import (
    Error,
    HTTPBadRequest,
    InvalidTemplateVersion,
    StackValidationFailed,
)
from heat_convergence.template.bounded_regex import regex_budget
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase, did_you_mean
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.parameter_schemas import (
    ParameterSchema,
    parse_parameter_schemas,
)
from heat_convergence.template.parsing.document_loader import Document, load_document
from heat_convergence.template.parsing.template_versions import (
    EMPTY_TEMPLATE_VERSION,
    TEMPLATE_VERSIONS,
    TEMPLATE_VERSIONS_BY_NAME,
    VERSION_KEYS,
    TemplateVersion,
)

Json = Any
DEFAULT_TEMPLATE_DESCRIPTION = "No description"


@dataclass(frozen=True, slots=True)
class Template:
    """``raw`` is the document as plain JSON; ``version`` what its key names."""

    document: Document
    version: TemplateVersion
    limits: TemplateLimits = DEFAULT_LIMITS

    @classmethod
    def parse(
        cls,
        source: str | bytes | Mapping[str, Json],
        *,
        limits: TemplateLimits = DEFAULT_LIMITS,
        section_error: Callable[[str], Error] | None = StackValidationFailed,
    ) -> Template:
        """Raises ``HTTPBadRequest`` (unreadable, not a map, no version key),
        ``RequestLimitExceeded``, ``InvalidTemplateVersion``, and ``section_error``
        for sections that the version does not have; None: ``check_sections`` will."""
        document = load_document(source, limits=limits)
        if not isinstance(document.data, dict):
            raise HTTPBadRequest(f"The template is not a map but a {_json_type(document.data)}.")
        version = _version(document.data)
        template = cls(document, version, limits)
        if section_error is not None:
            template.check_sections(section_error)
        return template

    @classmethod
    def empty(cls, *, limits: TemplateLimits = DEFAULT_LIMITS) -> Template:
        """The template of a stack that has none."""
        raw = {EMPTY_TEMPLATE_VERSION.key: EMPTY_TEMPLATE_VERSION.date}
        return cls(Document(raw), EMPTY_TEMPLATE_VERSION, limits)

    @property
    def raw(self) -> dict[str, Json]:
        data: dict[str, Json] = self.document.data
        return data

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections that are there, in the order of the document."""
        return tuple(self.raw)

    @property
    def description(self) -> str:
        return str(self.raw.get(self.version.dialect.description) or DEFAULT_TEMPLATE_DESCRIPTION)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """As declared, rightly or not."""
        section = self.section(self.version.dialect.parameters)
        return tuple(section) if isinstance(section, dict) else ()

    @property
    def resource_names(self) -> tuple[str, ...]:
        """All of them, those with a false condition too."""
        section = self.section(self.version.dialect.resources)
        return tuple(section) if isinstance(section, dict) else ()

    @property
    def parameters(self) -> Mapping[str, ParameterSchema]:
        """The declared parameters; raises what ``parse_parameter_schemas`` finds wrong."""
        problems = self.new_diagnostics()
        schemas = self.parameter_schemas(problems)
        problems.raise_if_any()
        return schemas

    def section(self, name: str) -> Json:
        """A section's content; an absent or null one is an empty map."""
        content = self.raw.get(name)
        return {} if content is None else content

    def parameter_schemas(self, problems: Diagnostics) -> dict[str, ParameterSchema]:
        """The declared parameters; mistakes go to ``problems``."""
        name = self.version.dialect.parameters
        with regex_budget(self.limits):
            return parse_parameter_schemas(self.section(name), self.version, problems)

    def new_diagnostics(self) -> Diagnostics:
        """An empty collection that knows where things stand in this text."""
        return Diagnostics(self.document.find_position, limit=self.limits.max_diagnostics)

    def check_sections(
        self, section_error: Callable[[str], Error] = StackValidationFailed
    ) -> None:
        """Raises the error for sections that the version does not have."""
        problems = self.new_diagnostics()
        for name in self.raw:
            if name not in self.version.sections:
                hint = did_you_mean(name, self.version.sections)
                message = f'The template section is invalid: "{name}"{hint}'
                problems.add(ValidationPhase.TEMPLATE, section_error(message), (name,))
        problems.raise_if_any()


def _version(raw: Mapping[str, Json]) -> TemplateVersion:
    present = [key for key in VERSION_KEYS if key in raw]
    if not present:
        raise HTTPBadRequest(
            "The template has no version key; one of"
            f" {', '.join(VERSION_KEYS)} is needed{_near_key(raw)}"
        )
    if len(present) > 1:
        raise InvalidTemplateVersion(
            f"Ambiguous template version: {' and '.join(present)} are both given."
        )
    (key,) = present
    given = raw[key]
    if not isinstance(given, str):
        raise InvalidTemplateVersion(
            f'The template version is invalid: "{key}: {given}" is a {_json_type(given)},'
            " not a string."
        )
    version = TEMPLATE_VERSIONS_BY_NAME.get((key, given))
    if version is None:
        known = sorted(name for known_key, name in TEMPLATE_VERSIONS_BY_NAME if known_key == key)
        raise InvalidTemplateVersion(
            f'The template version is invalid: "{key}: {given}".'
            f' "{key}" should be one of: {", ".join(known)}{did_you_mean(given, known)}'
        )
    return version


def _near_key(raw: Iterable[str]) -> str:
    for key in raw:
        near = get_close_matches(key, VERSION_KEYS, n=1, cutoff=0.8)
        if near:
            return f' ("{key}" is perhaps "{near[0]}").'
    return "."


def _json_type(value: Json) -> str:
    names = {dict: "map", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def find_template_version(name: str) -> TemplateVersion | None:
    """The version that the API calls ``<key>.<date>``; an alias serves too."""
    key, _, date = name.partition(".")
    return TEMPLATE_VERSIONS.get(name) or TEMPLATE_VERSIONS_BY_NAME.get((key, date))
