"""The cloud as the owners of imported stacks see it, before their credentials are stored.

Called by ``importer``. Logs in with each tree's trust, which shows whether Keystone still
accepts it, and reads the attributes that Heat had not cached. Changes nothing in the cloud.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_context import (
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.stacks.services import StackServices

Json = Any
ObservedAttributes = Mapping[str, Mapping[str, Json]]


def observe_nothing(stack: Stack, rows: Sequence[Resource]) -> ObservedAttributes:
    """Return no attributes: the import uses those that Heat had cached."""
    return {}


@dataclass(slots=True)
class CloudAccess:
    """The clouds of trees that are being imported."""

    settings: ClientSettings
    service_auth: ServiceAuth
    services: StackServices
    reads_attributes: bool = True
    _credentials: dict[str, Credential] = field(default_factory=dict)

    def log_in(self, tree_id: str, credential: Credential) -> None:
        """Log in with the credential of a tree, which is used from now on.

        Raises:
            AuthorizationFailure: Keystone does not accept it.
            TemporaryFailure: Keystone does not answer.
        """
        self._credentials = {tree_id: credential}
        self._clouds().get(tree_id).reauthenticate()

    def heat_url(self, tree_id: str) -> str | None:
        """Return the address of the REST API, as guests know it; None if it is not known."""
        try:
            return self._clouds().get(tree_id).heat_base_url
        except Error:
            return None

    def waitcondition_url(self, tree_id: str) -> str | None:
        """Return the base of signed URLs of a Heat without an option for it.

        It is the CloudFormation endpoint of the catalog; None if there is none.
        """
        settings = replace(self.settings, metadata_url=None)  # that is this service's
        cloud = StackCloudCache(settings, self.service_auth, self._credentials.get).get(tree_id)
        try:
            found = cloud.metadata_url
        except Error:
            return None
        return None if found is None else f"{found}waitcondition"

    def observe(self, stack: Stack, rows: Sequence[Resource]) -> ObservedAttributes:
        """Return the attributes of resources of cloud services, by row id."""
        if not self.reads_attributes or stack.tree_id not in self._credentials:
            return {}
        cloud, now = self._clouds().get(stack.tree_id), self.services.clock()
        by_type: dict[str, list[ResourceContext]] = defaultdict(list)
        for row in rows:
            resource_type = self.services.registry.find(row.desired.implementation)
            if resource_type is None or not _is_observed(resource_type, row):
                continue
            # The action of reads that change nothing, and that expect an old object.
            context = build_context(row, stack, Action.CHECK, now, VerbInputs(cloud=cloud))
            by_type[row.desired.implementation].append(
                with_name_limit(context, resource_type.physical_name_limit)
            )
        found: dict[str, Mapping[str, Json]] = {}
        for name, contexts in by_type.items():
            for row_id, result in self._observe_type(name, contexts, stack).items():
                if result.attributes is not None:
                    found[row_id] = result.attributes
        return found

    def _observe_type(
        self, name: str, contexts: Sequence[ResourceContext], stack: Stack
    ) -> Mapping[str, VerbResult]:
        # RULE 11: a type that raises leaves its resources with what Heat had cached.
        return ErrorBoundary(BoundaryName.RESOURCE_TYPE, self.services.errors).run(
            partial(_observe_or_none, self.services.registry.get(name), contexts),
            lambda _error, _error_id: {},
            ErrorSubject(stack.id, contexts[0].name),
        )

    def _clouds(self) -> StackCloudCache:
        return StackCloudCache(self.settings, self.service_auth, self._credentials.get)


def _observe_or_none(
    resource_type: ResourceType, contexts: Sequence[ResourceContext]
) -> Mapping[str, VerbResult]:
    try:
        return resource_type.observe_many(contexts)
    except Error:
        return {}


def _is_observed(resource_type: ResourceType, row: Resource) -> bool:
    """Return whether the row has a physical resource at rest in a service of the cloud."""
    at_rest = row.state.status is Status.COMPLETE and row.physical.id is not None
    return resource_type.service is not None and not resource_type.has_nested_stack and at_rest
