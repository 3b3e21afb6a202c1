"""``OS::Swift::Container``: Swift reads and shows everything in headers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import MAX_PAGES
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
PURGE_ON_DELETE = "PurgeOnDelete"
_ACCESS = ("X-Container-Read", "X-Container-Write")
_CONTAINER_METADATA = "X-Container-Meta"
_METADATA = {_CONTAINER_METADATA: "X-Container-Meta-", "X-Account-Meta": "X-Account-Meta-"}
_COUNTS = {"ObjectCount": "x-container-object-count", "BytesUsed": "x-container-bytes-used"}


class Container(DeclarativeType):
    """A container, identified by its name.

    Creating one that exists changes only its headers.
    """

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the container and set its headers and the account's."""
        client, name = self.client(context), self._name(context)
        account = _headers(context.properties, ("X-Account-Meta",))
        if account:
            client.send("POST", "/", headers=account)
        access = {key: context.properties[key] for key in _ACCESS if context.properties.get(key)}
        headers = {**access, **_headers(context.properties, (_CONTAINER_METADATA,))}
        client.send("PUT", _path(name), headers=headers)
        return self._result(context, name)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create the container again, which is harmless."""
        return self.create(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the name if there is such a container."""
        name = self._name(context)
        return name if self._head(context, name) is not None else None

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the container's headers."""
        return (
            VerbResult(ObservedState.ABSENT)
            if context.physical_id is None
            else (self._result(context, context.physical_id))
        )

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe each container; a list does not show their headers."""
        return {context.resource_id: self.observe(context) for context in contexts}

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the container, with its objects if ``PurgeOnDelete`` is set."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        client = self.client(context)
        if context.properties.get(PURGE_ON_DELETE):
            self._purge(context, context.physical_id)
        with contextlib.suppress(ResourceGone):
            client.send("DELETE", _path(context.physical_id))
        return VerbResult(ObservedState.ABSENT)

    def _purge(self, context: ResourceContext, name: str) -> None:
        """Delete the objects, page by page.

        A list still has objects that have just been deleted or have expired.
        """
        client = self.client(context)
        marker = ""
        for _ in range(MAX_PAGES):
            query = {"format": "json", "marker": marker}
            try:
                listed = client.send("GET", _path(name), query=query).body
            except ResourceGone:
                return
            if not listed:
                return
            marker = listed[-1]["name"]
            for item in listed:
                with contextlib.suppress(ResourceGone):
                    client.send("DELETE", f"{_path(name)}/{quote(item['name'], safe='')}")

    def _result(self, context: ResourceContext, name: str) -> VerbResult:
        shown = self._head(context, name)
        if shown is None:
            return VerbResult(ObservedState.ABSENT, reason="the container does not exist")
        if context.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=name)
        endpoint = self.cloud(context).endpoint_url(self.spec.rest_resource.service)
        url = f"{endpoint.rstrip('/')}{_path(name)}"
        return VerbResult(ObservedState.READY, name, {"show": shown, "url": url})

    def _head(self, context: ResourceContext, name: str) -> dict[str, str] | None:
        try:
            response = self.client(context).send("HEAD", _path(name))
        except ResourceGone:
            return None
        return {key.lower(): value for key, value in response.headers.items()}

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the access rules as lists, and the metadata whose keys the template sets."""
        shown = (result.attributes or {}).get("show") or {}
        found: dict[str, Json] = {
            name: _rules(shown.get(name.lower(), ""))
            for name in _ACCESS
            if context.properties.get(name)
        }
        metadata = context.properties.get(_CONTAINER_METADATA) or {}
        if metadata:
            headers = {key: f"{_METADATA[_CONTAINER_METADATA]}{key}".lower() for key in metadata}
            found[_CONTAINER_METADATA] = {
                key: shown[header] for key, header in headers.items() if header in shown
            }
        return found

    def applied_value(self, context: ResourceContext, name: str) -> Json:
        """Return a property in the form that it is compared in."""
        value = context.properties[name]
        return _rules(str(value)) if name in _ACCESS else value

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute, which comes from the headers or the URL."""
        shown, url = context.attributes.get("show"), context.attributes.get("url")
        if not shown or not url:
            return None
        if name in ("show", "HeadContainer"):
            return shown
        if name in _COUNTS:
            return int(shown.get(_COUNTS[name], 0))
        url_parts = urlsplit(url)
        return {
            "DomainName": url_parts.hostname,
            "WebsiteURL": url,
            "RootURL": f"{url_parts.scheme}://{url_parts.netloc}{url_parts.path.rpartition('/')[0]}",
        }.get(name)

    @staticmethod
    def _name(context: ResourceContext) -> str:
        return str(context.properties.get("name") or context.physical_name)


def _headers(properties: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, str]:
    return {
        f"{_METADATA[name]}{key}": str(value)
        for name in names
        for key, value in (properties.get(name) or {}).items()
    }


def _rules(access: str) -> list[str]:
    """Return the entries of an access list, whose spaces the service removes."""
    return [each.strip() for each in access.split(",") if each.strip()]


def _path(name: str) -> str:
    return "/" + quote(name, safe="")
