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
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.loader import Document, load
from heat_convergence.template.parameters import ParameterSchema, parse_schemas
from heat_convergence.template.patterns import patience
from heat_convergence.template.problems import Phase, Problems, nearest
from heat_convergence.template.versions import (
    BY_NAME,
    EMPTY_TEMPLATE,
    VERSION_KEYS,
    VERSIONS,
    Version,
)

Json = Any
NO_DESCRIPTION = "No description"


@dataclass(frozen=True, slots=True)
class Template:
    """``raw`` is the document as plain JSON; ``version`` what its key names."""

    document: Document
    version: Version
    limits: Limits = DEFAULT

    @classmethod
    def parse(
        cls,
        source: str | bytes | Mapping[str, Json],
        *,
        limits: Limits = DEFAULT,
        section_error: Callable[[str], Error] | None = StackValidationFailed,
    ) -> Template:
        """Raises ``HTTPBadRequest`` (unreadable, not a map, no version key),
        ``RequestLimitExceeded``, ``InvalidTemplateVersion``, and ``section_error``
        for sections that the version does not have; None: ``check_sections`` will."""
        document = load(source, limits=limits)
        if not isinstance(document.data, dict):
            raise HTTPBadRequest(
                f"The template is not a map but a {_json_type(document.data)}."
            )
        version = _version(document.data)
        template = cls(document, version, limits)
        if section_error is not None:
            template.check_sections(section_error)
        return template

    @classmethod
    def empty(cls, *, limits: Limits = DEFAULT) -> Template:
        """The template of a stack that has none."""
        raw = {EMPTY_TEMPLATE.key: EMPTY_TEMPLATE.date}
        return cls(Document(raw), EMPTY_TEMPLATE, limits)

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
        return str(self.raw.get(self.version.dialect.description) or NO_DESCRIPTION)

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
        """The declared parameters; raises what ``parse_schemas`` finds wrong."""
        problems = self.problems()
        schemas = self.schemas(problems)
        problems.raise_any()
        return schemas

    def section(self, name: str) -> Json:
        """A section's content; an absent or null one is an empty map."""
        content = self.raw.get(name)
        return {} if content is None else content

    def schemas(self, problems: Problems) -> dict[str, ParameterSchema]:
        """The declared parameters; mistakes go to ``problems``."""
        name = self.version.dialect.parameters
        with patience(self.limits):
            return parse_schemas(self.section(name), self.version, problems)

    def problems(self) -> Problems:
        """An empty collection that knows where things stand in this text."""
        return Problems(self.document.position, limit=self.limits.max_problems)

    def check_sections(
        self, section_error: Callable[[str], Error] = StackValidationFailed
    ) -> None:
        """Raises the error for sections that the version does not have."""
        problems = self.problems()
        for name in self.raw:
            if name not in self.version.sections:
                hint = nearest(name, self.version.sections)
                message = f'The template section is invalid: "{name}"{hint}'
                problems.add(Phase.TEMPLATE, section_error(message), (name,))
        problems.raise_any()


def _version(raw: Mapping[str, Json]) -> Version:
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
    version = BY_NAME.get((key, given))
    if version is None:
        known = sorted(name for known_key, name in BY_NAME if known_key == key)
        raise InvalidTemplateVersion(
            f'The template version is invalid: "{key}: {given}".'
            f' "{key}" should be one of: {", ".join(known)}{nearest(given, known)}'
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


def version_named(name: str) -> Version | None:
    """The version that the API calls ``<key>.<date>``; an alias serves too."""
    key, _, date = name.partition(".")
    return VERSIONS.get(name) or BY_NAME.get((key, date))
