"""Environments: parameter values, type mappings, hooks and event sinks.

Decides the meaning of an environment document.  Called when a request arrives, when a
goal is planned and when a nested stack is built.  Must not read files: documents arrive
as text or maps.

Source: docs/reference/events-and-states.rst.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.evaluation_budget import ENTRIES_PER_STEP, charge_if_bounded
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document

Json = Any

_MAPS = ("parameters", "parameter_defaults", "resource_registry")
_SENT_SECTIONS = ("parameter_defaults", "resource_registry", "event_sinks")
_LISTS = ("encrypted_param_names", "event_sinks")
MERGE_STRATEGIES_SECTION = "parameter_merge_strategies"
AVAILABILITY_ZONES = "availability_zones"  # stored with the sections; not part of the API
ENVIRONMENT_SECTIONS = (*_MAPS, *_LISTS, MERGE_STRATEGIES_SECTION)
_EMPTY_REGISTRY = ResourceRegistry({})


@dataclass(frozen=True, slots=True)
class Environment:
    """A parsed environment.

    Attributes:
        registry: The user's resource registry, on top of the operator's.
        availability_zones: The cloud's availability zones when the stack was created or
            last updated with a whole template; None if they were not fetched.
    """

    parameters: Mapping[str, Json] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Json] = field(default_factory=dict)
    registry: ResourceRegistry = _EMPTY_REGISTRY
    event_sinks: tuple[Mapping[str, Json], ...] = ()
    encrypted_param_names: tuple[str, ...] = ()
    availability_zones: tuple[str, ...] | None = None

    @classmethod
    def parse(
        cls,
        source: Mapping[str, Json] | str | bytes | None,
        *,
        base: Environment | None = None,
        limits: TemplateLimits = DEFAULT_LIMITS,
    ) -> Environment:
        """Parse an environment on top of ``base``, the operator's global environment.

        Raises:
            HTTPBadRequest: The document is not an environment.
            InvalidBreakPointHook: A hook has an unknown type.
            InvalidRestrictedAction: A restricted action is unknown.
        """
        sections = parse_environment_sections(source, limits=limits)
        base_registry = base.registry if base is not None else None
        defaults = dict(base.parameter_defaults) if base is not None else {}
        return cls(
            parameters=sections.get("parameters", {}),
            parameter_defaults={**defaults, **sections.get("parameter_defaults", {})},
            registry=ResourceRegistry.parse(sections.get("resource_registry", {}), base_registry),
            event_sinks=tuple(sections.get("event_sinks", ())),
            encrypted_param_names=tuple(sections.get("encrypted_param_names", ())),
        )

    @classmethod
    def from_stored(
        cls,
        stored: Mapping[str, Json],
        *,
        base: Environment | None = None,
        limits: TemplateLimits = DEFAULT_LIMITS,
    ) -> Environment:
        """Load an environment that ``to_stored`` dumped."""
        sections = {
            name: section for name, section in stored.items() if name != AVAILABILITY_ZONES
        }
        zones = stored.get(AVAILABILITY_ZONES)
        found = cls.parse(sections, base=base, limits=limits)
        return found if zones is None else replace(found, availability_zones=tuple(zones))

    def to_stored(self) -> dict[str, Json]:
        """Dump all that is needed to evaluate the template again with the same result."""
        zones = (
            {}
            if self.availability_zones is None
            else {AVAILABILITY_ZONES: list(self.availability_zones)}
        )
        return {**self.to_dict(), **zones}

    def to_dict(self) -> dict[str, Json]:
        """Return the environment as the API shows it."""
        return {
            "parameters": dict(self.parameters),
            "parameter_defaults": dict(self.parameter_defaults),
            "resource_registry": self.registry.to_dict(),
            "event_sinks": [dict(sink) for sink in self.event_sinks],
            "encrypted_param_names": list(self.encrypted_param_names),
        }

    def merged_with(
        self, other: Environment, clear_parameters: Collection[str] = ()
    ) -> Environment:
        """Return this environment overlaid by another, for an update by PATCH.

        Parameters named in ``clear_parameters`` return to their defaults.
        """
        kept = {k: v for k, v in self.parameters.items() if k not in clear_parameters}
        defaults = {k: v for k, v in self.parameter_defaults.items() if k not in clear_parameters}
        return replace(
            self,
            parameters={**kept, **other.parameters},
            parameter_defaults={**defaults, **other.parameter_defaults},
            registry=ResourceRegistry(
                _merged_registry(self.registry.entries, other.registry.entries),
                other.registry.base or self.registry.base,
            ),
            event_sinks=other.event_sinks or self.event_sinks,
            availability_zones=self.availability_zones or other.availability_zones,
        )

    def for_nested_stack(
        self,
        resource_name: str,
        parameters: Mapping[str, Json],
        replaced_type: str | None = None,
    ) -> Environment:
        """Return the environment of the nested stack of a resource.

        It has parameters of its own, all parameter defaults, and the part of the registry that
        applies to the resource.

        Args:
            resource_name: the resource.
            parameters: the parameters of the nested stack.
            replaced_type: a type that means itself inside.
        """
        return replace(
            self,
            parameters=dict(parameters),
            registry=self.registry.for_nested_stack(resource_name, replaced_type),
            encrypted_param_names=(),
        )

    def for_remote_stack(self, resource_name: str) -> dict[str, Json]:
        """Return the environment that a resource sends to another service, without parameters."""
        sections = self.for_nested_stack(resource_name, {}).to_dict()
        return {name: sections[name] for name in _SENT_SECTIONS if sections[name]}


def parse_environment_sections(
    source: Mapping[str, Json] | str | bytes | None, *, limits: TemplateLimits = DEFAULT_LIMITS
) -> dict[str, Json]:
    """Return the sections of an environment document, with their types checked."""
    if source is None or source in ("", b""):
        return {}
    data = load_document(source, limits=limits, document_type="environment").data
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise HTTPBadRequest(
            "Environment not in valid format:"
            " The environment is not a valid YAML mapping data type."
        )
    for name, content in data.items():
        if name not in ENVIRONMENT_SECTIONS:
            raise HTTPBadRequest(
                f'Environment not in valid format: environment has wrong section "{name}"'
                f"{did_you_mean(name, ENVIRONMENT_SECTIONS)}"
            )
        if content is None:
            raise HTTPBadRequest(
                f'Environment not in valid format: environment has empty section "{name}"'
            )
        expected, type_name = (list, "list") if name in _LISTS else (dict, "map")
        if not isinstance(content, expected):
            raise HTTPBadRequest(f'The section "{name}" of the environment is not a {type_name}.')
    if not all(isinstance(sink, dict) for sink in data.get("event_sinks", ())):
        raise HTTPBadRequest("Each of event_sinks in the environment must be a map.")
    return data


def _merged_registry(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """Merge two registries: null removes an entry, entries per resource are merged."""
    merged = dict(old)
    for name, entry in new.items():
        if name == "resources" and isinstance(entry, dict):
            before = merged.get("resources") or {}
            merged["resources"] = {
                **before,
                **{key: _merged_body(before.get(key), body) for key, body in entry.items()},
            }
        elif entry is None:
            for removed in _removed_by(name, merged):
                del merged[removed]
            merged[name] = None  # It still hides the operator's entry of that name.
        else:
            merged[name] = entry
    return merged


def _merged_body(before: Json, after: Json) -> Json:
    if isinstance(before, dict) and isinstance(after, dict):
        return {**before, **after}
    return after


def _removed_by(pattern: str, entries: Collection[str]) -> list[str]:
    if not pattern.endswith("*"):
        return [pattern] if pattern in entries else []
    charge_if_bounded(len(entries) // ENTRIES_PER_STEP)
    return [name for name in entries if name.startswith(pattern[:-1]) and name != "resources"]
