"""A service with types that complain, for the tests of validation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heat_convergence.api.services import ApiOptions
from heat_convergence.common import errors
from heat_convergence.common.failures import OverQuota
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from tests.functional.fake_server import FakeServer
from tests.functional.harness import LocalService

Json = Any
SVF = "StackValidationFailed"

ERRORS: dict[str, type[errors.Error]] = {
    each.__name__: each
    for each in (
        errors.NotSupported,
        errors.PropertyUnspecifiedError,
        errors.ResourcePropertyConflict,
        errors.ResourcePropertyDependency,
        errors.ResourcePropertyValueDependency,
        OverQuota,
    )
}


class SelfValidatingType(LocalType):
    """A type whose own validation raises the error named by ``complaint``."""

    name = "Test::SelfValidating"
    schema = TypeSchema(
        properties={
            "complaint": PropertySchema(type=PropertyType.STRING),
            "fixed": PropertySchema(type=PropertyType.STRING, immutable=True),
            "replacing": PropertySchema(type=PropertyType.STRING),
        }
    )

    def validate(self, properties: Json, timeout_s: float | None) -> None:
        complaint = properties.get("complaint")
        if complaint:
            raise ERRORS[complaint]("it will not do")


class UnavailableServiceType(SelfValidatingType):
    """A type of a service that the cloud's catalog does not have."""

    name = "Test::UnavailableService"

    def check_available(self) -> None:
        raise errors.ResourceTypeUnavailable("HEAT-E99001 Service elsewhere is not there.")


class AcceptingConstraints(dict[str, Any]):
    """Custom constraints that accept every value."""

    def get(self, name: str, default: Json = None) -> Json:
        return self[name]

    def __missing__(self, name: str) -> Json:
        return lambda *_arguments: None


@contextmanager
def running(folder: Any, **options: Json) -> Iterator[LocalService]:
    service = LocalService(
        f"sqlite:///{folder}/hc.sqlite",
        ApiOptions(**options),
        (SelfValidatingType(), UnavailableServiceType(), FakeServer()),
        custom_constraints=AcceptingConstraints(),
    )
    yield service
    service.close()


def create(service: LocalService, template: Json, name: str = "bad", **body: Json) -> Any:
    return service.send("POST", "/stacks", {"stack_name": name, "template": template, **body})
