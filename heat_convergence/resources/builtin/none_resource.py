"""``OS::Heat::None``: a placeholder for any resource type, which does nothing.

Decides nothing: it takes every property, evaluates none, and has every attribute, as null.
Loaded by entry point. It must never request a replacement.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import SupportStatus, TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class NoneResource(LocalType):
    """A placeholder that accepts every property."""

    name = "OS::Heat::None"
    schema = TypeSchema(
        description="A placeholder for any resource type, which does nothing.",
        support_status=SupportStatus(version="5.0.0"),
        accepts_any_property=True,
        accepts_any_attribute=True,
        ignores_properties=True,
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Return READY with a random physical id."""
        physical_id = uuid.UUID(int=context.random.getrandbits(128), version=4)
        return VerbResult(ObservedState.READY, physical_id=str(physical_id))

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY; every change happens in place."""
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return null for every attribute."""
        return None
