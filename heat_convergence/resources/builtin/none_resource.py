"""``OS::Heat::None``: stands in for any type and does nothing.

Decides nothing: takes every property, has every attribute, as null.  Found by
entry point.  Must never ask for a replacement.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult
from heat_convergence.resources.protocol.schema import SupportStatus, TypeSchema

Json = Any


class NoneResource(LocalType):
    name = "OS::Heat::None"
    schema = TypeSchema(
        description="Takes the place of any resource type and does nothing.",
        support_status=SupportStatus(version="5.0.0"),
        accepts_any_property=True,
        accepts_any_attribute=True,
    )

    def create(self, context: ResourceContext) -> VerbResult:
        made = uuid.UUID(int=context.random.getrandbits(128), version=4)
        return VerbResult(ObservedState.READY, physical_id=str(made))

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        return None
