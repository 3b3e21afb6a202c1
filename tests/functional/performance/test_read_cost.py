"""The cost of reads in statements, which must not grow with the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.reads import resources
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService

SIZES = (5, 300)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    url = f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite"
    service = LocalService(url, ApiOptions(max_resources_per_stack=-1))
    yield service
    service.close()


@pytest.fixture(scope="module")
def stacks(service: LocalService) -> list[str]:
    """Paths of a small and a large stack, alike but for their size."""
    return [_create(service, size) for size in SIZES]


def _create(service: LocalService, size: int) -> str:
    value = {"type": "OS::Heat::Value", "properties": {"value": 1}}
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {f"r{i}": value for i in range(size)},
        "outputs": {f"o{i}": {"value": {"get_attr": [f"r{i}", "value"]}} for i in range(size)},
    }
    request = Request.blank("/v1/p/stacks", method="POST")
    request.json = {"stack_name": f"s{size}", "template": template}
    answer = request.get_response(service.app)
    assert answer.status_int == 201, answer.text
    return answer.location.removeprefix("http://localhost")


@pytest.mark.parametrize(
    "suffix",
    [
        "",
        "/resources",
        "/resources?with_detail=true",
        "/resources?name=r1",
        "/resources?nested_depth=5&name=r1",
        "/resources/r1",
        "/events",
        "/outputs",
        "/outputs/o1",
        "/template",
    ],
)
def test_statements_do_not_grow(service: LocalService, stacks: list[str], suffix: str) -> None:
    counts = []
    for path in stacks:
        with count_statements(service.database.engine) as count:
            answer: Any = Request.blank(path + suffix, headers={"X-Local-Hold": "1"}).get_response(
                service.app
            )
        assert answer.status_int == 200
        counts.append(count.total)
    assert counts[0] == counts[1] <= 7


def test_a_stack_is_read_with_its_tags(service: LocalService) -> None:
    value = {"type": "OS::Heat::Value", "properties": {"value": 1}}
    create = Request.blank("/v1/p/stacks", method="POST")
    template = {"heat_template_version": "2016-10-14", "resources": {"only": value}}
    create.json = {"stack_name": "tagged", "template": template, "tags": "second,first"}
    with count_statements(service.database.engine) as count:
        path = create.get_response(service.app).location
    assert count.by_statement["SELECT content.hash"] == 1  # all texts are stored together
    read = Request.blank(path, headers={"X-Local-Hold": "1"})
    with count_statements(service.database.engine) as count:
        shown = read.get_response(service.app).json["stack"]
    assert shown["tags"] == ["second", "first"]
    assert count.total == 3, count.by_statement  # the stack, its goal and its drift


def test_a_filtered_list_reads_the_rows_of_its_names_alone(
    service: LocalService, stacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = resources.list_by_stacks

    def counted(*arguments: Any, **options: Any) -> Any:
        rows = original(*arguments, **options)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(resources, "list_by_stacks", counted)
    for query in ("name=r1", "name=r1&name=r2", "status=COMPLETE", "name=unknown"):
        answer = Request.blank(f"{stacks[1]}/resources?{query}").get_response(service.app)
        assert len(answer.json["resources"]) == read[-1]
    assert read == [1, 2, SIZES[1], 0]


def test_an_update_without_lookups_reads_the_stack_in_its_transaction_alone(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = resources.list_planned

    def counted(conn: Any, stack_id: str) -> Any:
        read.append(stack_id)
        return original(conn, stack_id)

    monkeypatch.setattr(resources, "list_planned", counted)
    value = {"type": "OS::Heat::Value", "properties": {"value": 1}}
    template = {"heat_template_version": "2016-10-14", "resources": {"first": value}}
    create = Request.blank("/v1/p/stacks", method="POST")
    create.json = {"stack_name": "updated", "template": template}
    path = create.get_response(service.app).location
    update = Request.blank(path, method="PUT")
    update.json = {"template": {**template, "resources": {"first": value, "second": value}}}
    assert update.get_response(service.app).status_int == 202
    assert read == []  # before the transaction, which reads it


def test_a_filtered_list_shows_who_requires_its_resources(service: LocalService) -> None:
    first = {"type": "OS::Heat::Value", "properties": {"value": 1}}
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {
            "first": first,
            "b": {**first, "depends_on": "first"},
            "a": {**first, "depends_on": "first"},
            "First": {**first, "depends_on": "a"},
        },
    }
    request = Request.blank("/v1/p/stacks", method="POST")
    request.json = {"stack_name": "requirements", "template": template}
    path = request.get_response(service.app).location
    (item,) = _list(service, f"{path}/resources?name=first")
    (whole,) = [each for each in _list(service, f"{path}/resources")
                if each["resource_name"] == "first"]  # fmt: skip
    assert item == whole
    assert item["required_by"] == ["a", "b"]


def _list(service: LocalService, path: str) -> list[Any]:
    answer = Request.blank(path).get_response(service.app)
    found: list[Any] = answer.json["resources"]
    return found


def test_a_long_list_is_whole(service: LocalService, stacks: list[str]) -> None:
    answer = Request.blank(stacks[1] + "/resources").get_response(service.app)
    assert len(answer.json["resources"]) == SIZES[1]


def test_statements_of_a_stack_list_do_not_grow(service: LocalService, stacks: list[str]) -> None:
    def cost() -> int:
        with count_statements(service.database.engine) as count:
            Request.blank("/v1/p/stacks", headers={"X-Local-Hold": "1"}).get_response(service.app)
        return count.total

    before = cost()
    _create(service, 1)
    assert cost() == before <= 3
