"""``OS::Heat::SwiftSignalHandle`` and ``OS::Heat::SwiftSignal``: signals by Object Storage alone.

Decides what the signals result in. They are read as long as the resource waits, and kept nowhere.

Source: docs/reference/resource-groups.rst, "Signals and waiting".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.builtin.signals.signal_objects import (
    SignalObjects,
    parse_signals,
)
from heat_convergence.resources.builtin.signals.signal_responder import SIGNED_URL
from heat_convergence.resources.builtin.signals.wait_conditions import (
    MAX_TIMEOUT_S,
    SignalSource,
    signalled_result,
)
from heat_convergence.resources.driver.request_cloud import check_service
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.transports.stored_objects import SERVICE
from heat_convergence.template.parameters.constraints import Range

Json = Any


def _attribute(description: str) -> AttributeSchema:
    return AttributeSchema(PropertyType.STRING, description, cache_mode=CacheMode.NONE)


class SwiftSignalHandle(ResourceType):
    """An object whose URL takes signals without credentials."""

    name = "OS::Heat::SwiftSignalHandle"
    service = SERVICE
    secret_data: ClassVar[frozenset[str]] = frozenset({SIGNED_URL})
    secret_attributes: ClassVar[frozenset[str]] = frozenset({"endpoint", "curl_cli"})
    schema = TypeSchema(
        description="A handle that receives signals as objects of the object storage.",
        support_status=SupportStatus(version="2014.2"),
        attributes={
            "token": _attribute("An empty text: the URL needs no token."),
            "endpoint": _attribute("The URL to store signals at."),
            "curl_cli": _attribute("curl command to append a signal to."),
        },
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the object, and sign its URL."""
        objects = SignalObjects(context)
        objects.create_container(versioned=True)
        objects.create_object()
        data = {SIGNED_URL: objects.signed_url()}
        return VerbResult(ObservedState.READY, context.physical_name, data=data)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create what is missing."""
        return self.create(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the object's name if it exists."""
        return context.physical_name if SignalObjects(context).exists() else None

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY: there are no properties."""
        return VerbResult(ObservedState.READY, context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the object with its versions."""
        if context.physical_id is not None:
            SignalObjects(context).delete()
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY, or ABSENT for a resource being deleted."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, context.physical_id)

    def handover_obstacle(self, context: ResourceContext) -> str:
        """Return that its objects are in a container of the stack."""
        return "its signals are stored in a container of the stack"

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the object storage."""
        check_service(SERVICE, "swift", self.name)

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the URL."""
        return context.data.get(SIGNED_URL) or super().reference_id(context)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the URL, or how to use it."""
        url = context.data.get(SIGNED_URL)
        if name == "token":
            return ""
        if name == "curl_cli":
            return None if url is None else f"curl -i -X PUT '{url}'"
        return url if name == "endpoint" else super().attribute(context, name)


class SwiftSignal(LocalType):
    """A resource that waits until its handle's object has received enough signals."""

    name = "OS::Heat::SwiftSignal"
    local: ClassVar[bool] = False
    service = SERVICE
    schema = TypeSchema(
        description="A resource that is ready when its handle has received enough signals.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            "handle": PropertySchema(
                type=PropertyType.STRING,
                description="URL of the handle.",
                required=True,
            ),
            "timeout": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds to wait for the signals before the resource fails.",
                required=True,
                constraints=(Range(min=1, max=MAX_TIMEOUT_S),),
            ),
            "count": PropertySchema(
                type=PropertyType.INTEGER,
                description="Number of success signals to wait for.",
                default=1,
                constraints=(Range(min=1, max=1000),),
            ),
        },
        attributes={
            "data": AttributeSchema(
                PropertyType.STRING, "JSON document with the data of the signals by their ids."
            ),
        },
    )

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """Return the state that the stored signals and the timeout result in."""
        if context.action is not Action.CREATE:
            return VerbResult(ObservedState.READY, physical_id)
        name = _object_name(context, str(properties["handle"]))
        if name is None:
            reason = "handle is no URL of an OS::Heat::SwiftSignalHandle of this stack"
            return VerbResult(ObservedState.FAILED, physical_id, reason=reason)
        signals, mistake = parse_signals(SignalObjects(context, name).texts())
        if mistake:
            return VerbResult(ObservedState.FAILED, physical_id, reason=mistake)
        source = SignalSource(signals, is_polled=True)
        limits = int(properties["count"]), float(properties["timeout"])
        return signalled_result(context, source, limits, physical_id=physical_id)

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the object storage."""
        check_service(SERVICE, "swift", self.name)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the form of a known handle.

        Raises:
            StackValidationFailed: It is no URL of an object.
        """
        handle = properties.get("handle")
        if handle is not None and len(_path_of(str(handle))) < _PATH_PARTS:
            raise StackValidationFailed("a URL of an object is needed", path="handle")


_PATH_PARTS = 4  # version, account, container and object


def _path_of(url: str) -> list[str]:
    return [part for part in urlsplit(url).path.split("/") if part]


def _object_name(context: ResourceContext, url: str) -> str | None:
    """Return the name of the object at a URL, if its container is the stack's.

    RULE 12: the URL is not requested, so that it leads to no other account.
    """
    parts = _path_of(url)
    if len(parts) < _PATH_PARTS or unquote(parts[-2]) != context.stack_id:
        return None
    return unquote(parts[-1])
