"""The errors and retries of the declarative driver on the emulation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.clients import error_mapping
from heat_convergence.common import errors
from heat_convergence.common.failures import (
    Conflict,
    OverQuota,
    ResourceFailure,
    ResourceGone,
    ServiceRejection,
    TemporaryFailure,
    Throttled,
)
from tests.functional.openstack_types.driver_bench import DriverBench, server


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


class TestFailures:
    @pytest.mark.parametrize(
        ("method", "path", "status", "body", "expected"),
        [
            ("GET", "/x", 404, "", ResourceGone),
            ("DELETE", "/networks/1", 409, "", Conflict),
            ("POST", "/servers/1/action", 409, "", Conflict),
            ("POST", "/networks", 409, "", ServiceRejection),
            (
                "POST",
                "/ports",
                409,
                '{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded"}}',
                OverQuota,
            ),
            (
                "POST",
                "/servers",
                403,
                '{"forbidden": {"message": "Quota exceeded for cores"}}',
                OverQuota,
            ),
            (
                "POST",
                "/volumes",
                413,
                '{"overLimit": {"message": "VolumeLimitExceeded: exceeds allowed quota"}}',
                OverQuota,
            ),
            ("POST", "/servers", 403, '{"forbidden": {"message": "no"}}', errors.Forbidden),
            ("GET", "/x", 429, "", Throttled),
            ("GET", "/x", 503, "", TemporaryFailure),
            ("POST", "/x", 400, '{"badRequest": {"message": "wrong"}}', ServiceRejection),
        ],
    )
    def test_responses_map_to_errors(
        self, method: str, path: str, status: int, body: str, expected: type[errors.Error]
    ) -> None:
        error = error_mapping.error_from_response(
            error_mapping.ErrorResponse(method, path, status, text=body)
        )
        assert type(error) is expected

    def test_retry_after_header_is_kept(self, bench: DriverBench) -> None:
        bench.emulation.inject_failure("POST", "/networks$", 429, Retry_After="7")
        with pytest.raises(Throttled) as caught:
            bench.create(bench.context("OS::Neutron::Net", {}))
        assert caught.value.retry_after_s == 7.0

    def test_missing_service_is_named(self) -> None:
        bench = DriverBench(missing_services=frozenset({"load_balancer", "network"}))
        with pytest.raises(errors.ResourceTypeUnavailable, match=r"HEAT-E99001.*network"):
            bench.create(bench.context("OS::Neutron::Net", {}))
        assert not bench.cloud.has_service("network")

    def test_unknown_name_is_reported_with_its_path(self, bench: DriverBench) -> None:
        with pytest.raises(errors.EntityNotFound) as caught:
            bench.create(server(bench, flavor="m9.none"))
        assert str(caught.value) == (
            "resources.it.properties.flavor: The flavor (m9.none) could not be found."
        )

    def test_ambiguous_name_is_rejected(self, bench: DriverBench) -> None:
        for _ in range(2):
            bench.emulation.add("neutron.network", name="twin")
        with pytest.raises(errors.PhysicalResourceNameAmbiguity):
            bench.create(bench.context("OS::Neutron::Port", {"network": "twin"}))

    def test_create_without_cloud_fails(self, bench: DriverBench) -> None:
        context = replace(bench.context("OS::Neutron::Net", {}), cloud=None)
        with pytest.raises(ResourceFailure, match="no cloud"):
            bench.registry.get(context.type).create(context)
