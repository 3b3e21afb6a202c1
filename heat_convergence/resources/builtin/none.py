"""``OS::Heat::None``: stands in for any type and does nothing.

Decides nothing: takes every property, has every attribute, as null.  Found by
entry point.  Must never ask for a replacement.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model import Observed
from heat_convergence.resources.builtin.local import LocalType
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.schema import SupportStatus, TypeSchema

Json = Any


class NoneResource(LocalType):
    name = "OS::Heat::None"
    schema = TypeSchema(
        description="Takes the place of any resource type and does nothing.",
        support_status=SupportStatus(version="5.0.0"),
        accepts_any_property=True,
        accepts_any_attribute=True,
    )

    def create(self, view: View) -> Look:
        made = uuid.UUID(int=view.random.getrandbits(128), version=4)
        return Look(Observed.READY, physical_id=str(made))

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        return Look(Observed.READY, physical_id=view.physical_id)

    def attribute(self, view: View, name: str) -> Json:
        return None
