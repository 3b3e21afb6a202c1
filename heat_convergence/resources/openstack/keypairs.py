"""``OS::Nova::KeyPair``: the private half is told once, by the answer to the create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.convergence.model import Observed
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.plugin import Look, View

Json = Any
PRIVATE = "private_key"
PUBLIC = "public_key"


class KeyPair(DeclaredType):
    secret_data: ClassVar[frozenset[str]] = frozenset({PRIVATE})

    def create(self, view: View) -> Look:
        body = self.calls(view).create(self.create_arguments(view))
        return self._made(view, body)

    def _made(self, view: View, body: Mapping[str, Json]) -> Look:
        private = body.get(PRIVATE)
        kept = {name: value for name, value in body.items() if name != PRIVATE}
        saved = bool(view.properties.get("save_private_key")) and private
        data = {**view.data, PRIVATE: private} if saved else None
        return Look(Observed.READY, body["name"], {"show": kept}, data=data)

    def found(self, view: View) -> Look:
        """A private key whose telling was lost can't be had again: a new pair, then."""
        if view.properties.get("save_private_key") and not view.properties.get(PUBLIC):
            self.calls(view).delete(str(view.physical_id))
            return self.create(replace(view, physical_id=None))
        return self.observe(view)

    def find(self, view: View) -> str | None:
        """By name; one with another public key is someone else's."""
        name = view.properties.get("name")
        if name is None:
            return None
        for pair in self.calls(view).list():
            if pair["name"] == name:
                wanted = view.properties.get(PUBLIC)
                if wanted and wanted.split()[:2] != pair[PUBLIC].split()[:2]:
                    raise ResourceFailure(f"there is another key pair called {name}")
                return str(name)
        return None

    def observe_many(self, views: Any) -> Mapping[str, Look]:
        return {view.resource_id: self.observe(view) for view in views}

    def attribute(self, view: View, name: str) -> Json:
        if name == PRIVATE:
            return view.data.get(PRIVATE, "")
        return super().attribute(view, name)
