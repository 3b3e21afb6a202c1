"""The rows of docs/reference/validation.rst on quotas, sizes, times and names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional import validation_cases as table
from tests.functional.fake_server import assert_refused, create_stack, get_body
from tests.functional.harness import LocalService
from tests.functional.templates.validation_service import create, running

Json = Any


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    with running(tmp_path_factory.mktemp("db")) as found:
        yield found


@pytest.fixture
def stack(service: LocalService) -> Iterator[str]:
    path = create_stack(
        service, stack_name="kept", template=table.template_with_resource(table.value_resource(1))
    )
    yield path
    assert service.send("DELETE", path).status_int == 204


# -- limits ----------------------------------------------------------------------------


class TestLimits:
    EMPTY = table.hot_template()

    def make(self, service: LocalService, *names: str) -> None:
        for name in names:
            assert create(service, self.EMPTY, name).status_int == 201

    def test_number_of_stacks_is_limited_per_project(self, tmp_path: Any) -> None:
        with running(tmp_path, max_stacks_per_tenant=2) as service:
            self.make(service, "one", "two")
            answer = create(service, self.EMPTY, "three")
            assert "2" in assert_refused(answer, 400, "RequestLimitExceeded")
            preview = {"stack_name": "three", "template": self.EMPTY}
            answer = service.send("POST", "/stacks/preview", preview)
            assert_refused(answer, 400, "RequestLimitExceeded")
            other = service.send("POST", "/stacks", preview, project="q")
            assert other.status_int == 201  # a quota is each project's own

    def test_deleted_and_nested_stacks_do_not_count(self, tmp_path: Any) -> None:
        with running(tmp_path, max_stacks_per_tenant=1) as service:
            nested = table.template_with_resource({"type": "child.yaml"})
            files = {
                "child.yaml": json.dumps(table.template_with_resource(table.value_resource(1)))
            }
            path = create_stack(service, stack_name="one", template=nested, files=files)
            assert service.send("DELETE", path).status_int == 204
            self.make(service, "two")

    @pytest.mark.parametrize("most", [-1, -7])
    def test_negative_limit_is_no_limit(self, tmp_path: Any, most: int) -> None:
        with running(tmp_path, max_stacks_per_tenant=most) as service:
            self.make(service, "one", "two", "three")

    def test_number_of_resources_is_limited_in_create_and_update(self, tmp_path: Any) -> None:
        with running(tmp_path, max_resources_per_stack=1) as service:
            two = table.hot_template(resources={name: table.value_resource(1) for name in "ab"})
            assert_refused(create(service, two), 400, "RequestLimitExceeded")
            path = create_stack(
                service,
                stack_name="one",
                template=table.template_with_resource(table.value_resource(1)),
            )
            assert_refused(
                service.send("PUT", path, {"template": two}), 400, "RequestLimitExceeded"
            )
            assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"

    def test_number_of_resources_can_be_unlimited(self, tmp_path: Any) -> None:
        with running(tmp_path, max_resources_per_stack=-1) as service:
            template = table.hot_template(
                resources={f"r{i}": table.value_resource(1) for i in range(1001)}
            )
            assert (
                service.send(
                    "POST", "/stacks/preview", {"stack_name": "s", "template": template}
                ).status_int
                == 200
            )

    def test_number_of_software_configs_and_deployments_is_limited(self, tmp_path: Any) -> None:
        limits = {"max_software_configs_per_tenant": 1, "max_software_deployments_per_tenant": 1}
        with running(tmp_path, **limits) as service:
            answer = service.send("POST", "/software_configs", {"name": "one"})
            config = answer.json["software_config"]["id"]
            body = {"config_id": config, "server_id": "s"}
            assert service.send("POST", "/software_deployments", body).status_int == 200
            for path, request_body in (
                ("/software_configs", {"name": "two"}),
                ("/software_deployments", {**body, "server_id": "t"}),
            ):
                assert_refused(
                    service.send("POST", path, request_body), 400, "RequestLimitExceeded"
                )

    def test_length_of_a_stack_user_project_id_is_limited(self, service: LocalService) -> None:
        answer = service.send("POST", "/software_configs", {"name": "one"})
        body = {
            "config_id": answer.json["software_config"]["id"],
            "server_id": "s",
            "stack_user_project_id": "x" * 65,
        }
        message = assert_refused(
            service.send("POST", "/software_deployments", body), 400, "Invalid"
        )
        assert "64" in message
        body["stack_user_project_id"] = "x" * 64  # no project of theirs, but short enough
        assert service.send("POST", "/software_deployments", body).status_int == 404

    def test_size_of_a_nested_template_is_limited(self, service: LocalService) -> None:
        files = {"child.yaml": "#" * 524_289}
        answer = create(service, table.template_with_resource({"type": "child.yaml"}), files=files)
        assert "524288" in assert_refused(answer, 400, "RequestLimitExceeded")


# -- names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "state"), [(None, "CREATE_FAILED"), (0, "CREATE_FAILED"), (80, "CREATE_COMPLETE")]
)
def test_action_times_out_after_an_hour_by_default(
    service: LocalService, minutes: Json, state: str
) -> None:
    """The resource takes longer than the default and shorter than the longest time."""
    slow = {
        "type": "OS::Heat::TestResource",
        "properties": {"action_wait_secs": {"create": 4_000}},
    }
    path = create_stack(
        service,
        stack_name="slow",
        template=table.template_with_resource(slow),
        timeout_mins=minutes,
    )
    response = get_body(service, path)
    assert response["stack_status"] == state
    assert ("Timed out" in response["stack_status_reason"]) is state.endswith("FAILED")
    service.send("DELETE", path)


def test_name_of_a_live_stack_is_refused(service: LocalService, stack: str) -> None:
    assert_refused(create(service, table.hot_template(), "kept"), 409, "StackExists")
    preview = {"stack_name": "kept", "template": table.hot_template()}
    assert_refused(service.send("POST", "/stacks/preview", preview), 409, "StackExists")
    assert service.send("POST", "/stacks", preview, project="q").status_int == 201


def test_physical_names_are_at_most_255_characters(service: LocalService) -> None:
    long = "s" * 255
    path = create_stack(
        service, stack_name=long, template=table.template_with_resource(table.value_resource(1))
    )
    (row,) = get_body(service, path + "/resources")
    assert len(row["physical_resource_id"]) <= 255
    service.send("DELETE", path)
