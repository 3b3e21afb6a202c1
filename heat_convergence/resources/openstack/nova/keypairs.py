"""``OS::Nova::KeyPair``: the private half is told once, by the answer to the create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
PRIVATE_KEY = "private_key"
PUBLIC_KEY = "public_key"


class KeyPair(DeclarativeType):
    secret_data: ClassVar[frozenset[str]] = frozenset({PRIVATE_KEY})

    def create(self, view: ResourceContext) -> VerbResult:
        body = self.client(view).create(self.create_arguments(view))
        return self._made(view, body)

    def _made(self, view: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        private = body.get(PRIVATE_KEY)
        kept = {name: value for name, value in body.items() if name != PRIVATE_KEY}
        saved = bool(view.properties.get("save_private_key")) and private
        data = {**view.data, PRIVATE_KEY: private} if saved else None
        return VerbResult(ObservedState.READY, body["name"], {"show": kept}, data=data)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        """A private key whose telling was lost can't be had again: a new pair, then."""
        if view.properties.get("save_private_key") and not view.properties.get(PUBLIC_KEY):
            self.client(view).delete(str(view.physical_id))
            return self.create(replace(view, physical_id=None))
        return self.observe(view)

    def find(self, view: ResourceContext) -> str | None:
        """By name; one with another public key is someone else's."""
        name = view.properties.get("name")
        if name is None:
            return None
        for pair in self.client(view).list():
            if pair["name"] == name:
                wanted = view.properties.get(PUBLIC_KEY)
                if wanted and wanted.split()[:2] != pair[PUBLIC_KEY].split()[:2]:
                    raise ResourceFailure(f"there is another key pair called {name}")
                return str(name)
        return None

    def observe_many(self, views: Any) -> Mapping[str, VerbResult]:
        return {view.resource_id: self.observe(view) for view in views}

    def attribute(self, view: ResourceContext, name: str) -> Json:
        if name == PRIVATE_KEY:
            return view.data.get(PRIVATE_KEY, "")
        return super().attribute(view, name)
