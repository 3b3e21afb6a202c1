"""The drift policy that applies to a resource and to each of its properties.

Decides which of several policies counts: the environment's for a property, the environment's for
the resource, the stack's, that of the operator for the resource type, then the operator's default.
Called by the watch, by repairs and by engines. Must read nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from heat_convergence.template.environment.drift_policies import DriftPolicy, from_words

_NEVER_RESTORED = frozenset({DriftPolicy.IGNORE, DriftPolicy.OBSERVE_ONLY})
_BY_STRENGTH = (DriftPolicy.REPAIR, DriftPolicy.REPORT, DriftPolicy.OBSERVE_ONLY)
AUTOMATIC_REPAIR = "automatic-repair="
"""Prefix among a row's hooks: the service repairs it in this traversal, with this policy."""
RESTORE_ONLY = "automatic-repair-in-place"
"""Mark among a row's hooks: the budget of its repair does not allow to replace the resource."""


def is_mark(word: str) -> bool:
    """Return whether a word among a row's hooks marks a repair, and ends with its traversal."""
    return word == RESTORE_ONLY or word.startswith(AUTOMATIC_REPAIR)


def is_repaired(words: Iterable[str]) -> bool:
    """Return whether the newest traversal of a row with these words repairs its resource."""
    return any(word.startswith(AUTOMATIC_REPAIR) for word in words)


@dataclass(frozen=True, slots=True)
class OperatorPolicies:
    """The operator's policies.

    Attributes:
        default: the policy of types without one.
        by_type: pairs of a resource type, or a pattern of types, and its policy.
    """

    default: DriftPolicy = DriftPolicy.REPORT
    by_type: tuple[tuple[str, DriftPolicy], ...] = ()

    def of_type(self, type_name: str) -> DriftPolicy:
        """Return the policy of a resource type: the longest pattern that matches counts."""
        matching = [each for each in self.by_type if fnmatchcase(type_name, each[0])]
        best = max(matching, key=lambda each: (each[0] == type_name, len(each[0])), default=None)
        return self.default if best is None else best[1]


@dataclass(frozen=True, slots=True)
class ResourcePolicy:
    """The policies of one resource.

    Attributes:
        of_resource: the policy of the resource, missing or in error too.
        by_property: the policies of properties that have one of their own.
    """

    of_resource: DriftPolicy = DriftPolicy.REPORT
    by_property: Mapping[str, DriftPolicy] = field(default_factory=dict)

    @property
    def is_ignored(self) -> bool:
        """True if the resource is not read."""
        return self.of_resource is DriftPolicy.IGNORE

    @property
    def repairs_anything(self) -> bool:
        """True if the service restores the resource, or one of its properties."""
        return DriftPolicy.REPAIR in (self.of_resource, *map(self.of_property, self.by_property))

    def of_property(self, name: str) -> DriftPolicy:
        """Return the policy of a property; nothing of an observed resource is restored."""
        found = self.by_property.get(name, self.of_resource)
        restricted = self.of_resource is DriftPolicy.OBSERVE_ONLY
        return found if not restricted or found is DriftPolicy.IGNORE else self.of_resource

    def of_difference(self, property_names: Collection[str]) -> DriftPolicy:
        """Return the policy of an observed difference.

        Args:
            property_names: the properties that differ; none if the resource itself does.
        """
        policies = {self.of_property(name) for name in property_names} or {self.of_resource}
        return next((each for each in _BY_STRENGTH if each in policies), DriftPolicy.IGNORE)


def resolve_policy(
    words: Iterable[str],
    of_stack: DriftPolicy | None,
    type_name: str,
    operator: OperatorPolicies,
) -> ResourcePolicy:
    """Return the policies of a resource.

    Args:
        words: the hooks and restrictions of the resource's row.
        of_stack: the policy of its stack, if that has one.
        type_name: the type that the template names.
        operator: the operator's policies.
    """
    found = from_words(words)
    of_resource = found.pop("", None) or of_stack or operator.of_type(type_name)
    return ResourcePolicy(of_resource, found)


def demands_reads(words: Iterable[str]) -> bool:
    """Return whether the environment has a policy that needs reads of the resource."""
    found = from_words(words)
    ignored = found.get("") is DriftPolicy.IGNORE
    return not ignored and any(each is not DriftPolicy.IGNORE for each in found.values())


def is_restored(words: Iterable[str]) -> bool:
    """Return whether the environment lets a traversal restore the resource."""
    return from_words(words).get("") not in _NEVER_RESTORED


def select_restorable(words: Collection[str], names: Iterable[str]) -> frozenset[str]:
    """Return the changed properties that a traversal restores.

    A repair by the service restores those with the policy ``repair``; a user's update or repair
    restores all that are not to be left alone.

    Args:
        words: the hooks and restrictions of the resource's row.
        names: the properties that others have changed.
    """
    found = from_words(words)
    if not is_restored(words):
        return frozenset()
    automatic = next((each for each in words if each.startswith(AUTOMATIC_REPAIR)), None)
    if automatic is None:
        return frozenset(n for n in names if found.get(n) not in _NEVER_RESTORED)
    default = DriftPolicy(automatic.removeprefix(AUTOMATIC_REPAIR))
    return frozenset(n for n in names if found.get(n, default) is DriftPolicy.REPAIR)
