"""Every option of every list, on every database.

Rows are put into the store as they are, so that each option has something to tell
apart.  Sizes are judged by statements, never by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.testing.sample_rows import (
    START_TIME,
    event_row,
    goal_row,
    resource_row,
    stack_row,
    time_at,
)
from heat_convergence.testing.statement_counter import count_statements
from tests.conftest import MARIADB, POSTGRESQL, fresh_database
from tests.functional.harness import LocalService

Json = Any
SIZES = (10, 10_000)


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def stack(number: int, name: str, action: Action, status: Status, **values: Json) -> Stack:
    settings: dict[str, Json] = {
        "name": name, "project_id": "p", "goal_id": uid(1000 + number), "action": action,
        "status": status, "created_at": time_at(number), "status_reason": "r",
        "username": "ursula",
    }  # fmt: skip
    return stack_row(uid(number), **{**settings, **values})


# The nested stack is of "a"; "gone" is deleted; "far" is another project's.
STACKS = (
    stack(1, "a", Action.CREATE, Status.COMPLETE, tags=("red", "blue"), timeout_mins=5),
    stack(2, "b", Action.CREATE, Status.FAILED, tags=("red",), updated_at=time_at(50),
          status_reason="broken"),
    stack(3, "c", Action.UPDATE, Status.COMPLETE, tags=("green",), updated_at=time_at(40),
          disable_rollback=False),
    stack(4, "d", Action.UPDATE, Status.FAILED, username="vera", timeout_mins=7),
    stack(5, "secret", Action.CREATE, Status.COMPLETE, tags=("hide",)),
    stack(6, "gone", Action.DELETE, Status.COMPLETE, deleted_at=time_at(60), updated_at=time_at(60)),  # noqa: E501
    stack(7, "a-inner", Action.CREATE, Status.COMPLETE, owner_id=uid(1), root_id=uid(1),
          depth=1, parent_resource="n"),
    stack(8, "far", Action.CREATE, Status.COMPLETE, project_id="q"),
)  # fmt: skip
RESOURCES = (
    ("n", uid(1), "My::Nested", Action.CREATE, Status.COMPLETE, uid(7)),
    ("x", uid(1), "OS::Nova::Server", Action.CREATE, Status.COMPLETE, "server-x"),
    ("y", uid(1), "OS::Nova::Keypair", Action.UPDATE, Status.FAILED, "key-y"),
    ("z", uid(7), "OS::Nova::Server", Action.CREATE, Status.IN_PROGRESS, "server-z"),
)


def fill(service: LocalService) -> None:
    with service.services.store.transaction() as tx:
        for each in STACKS:
            goal = goal_row(each.goal_id, stack_id=each.id, template_hash="0" * 64)
            tx.stacks.insert(each)
            tx.goals.insert(goal)
        tx.resources.insert(
            resource_row(
                uid(100 + number), stack_id=stack_id, name=name, type=kind,
                implementation="OS::Heat::None", action=action, status=status,
                physical_id=physical, definition={"type": kind, "description": f"the {name}"},
                requires=("x",) if name == "y" else (),
            )
            for number, (name, stack_id, kind, action, status, physical) in enumerate(RESOURCES)
        )  # fmt: skip
        tx.events.insert(tuple(_events()))


def _events() -> Iterator[Any]:
    """Nine of "a": three rounds over its resources, and two of the nested stack."""
    number = 0
    for round_ in range(3):
        for name, kind in (("n", "My::Nested"), ("x", "OS::Nova::Server"), ("y", "K")):
            number += 1
            yield event_row(
                uid(200 + number), stack_id=uid(1), resource_name=name, resource_type=kind,
                action=Action.UPDATE if round_ == 2 else Action.CREATE,
                status=Status.FAILED if name == "y" else Status.COMPLETE,
                created_at=START_TIME + timedelta(seconds=round_),
            )  # fmt: skip
    for number in (20, 21):
        yield event_row(uid(200 + number), stack_id=uid(7), resource_name="z",
                        resource_type="OS::Nova::Server",
                        created_at=START_TIME + timedelta(seconds=number))  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalService]:
    if request.param == "sqlite":
        urls: Iterator[str] = iter([f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite"])
    elif request.param == "mariadb":
        urls = fresh_database(MARIADB, "MariaDB")
    else:
        urls = fresh_database(POSTGRESQL, "PostgreSQL")
    for url in urls:
        options = ApiOptions(hidden_stack_tags=("hide",), max_resources_per_stack=-1)
        service = LocalService(url, options)
        fill(service)
        yield service
        service.close()


def ask(service: LocalService, path: str) -> Json:
    answer = service.send("GET", path, leave_pending=True)
    assert answer.status_int == 200, answer.text
    return answer.json


def names(service: LocalService, path: str) -> list[str]:
    found = ask(service, path)
    if "stacks" in found:
        return [each["stack_name"] for each in found["stacks"]]
    if "resources" in found:
        return [each["resource_name"] for each in found["resources"]]
    return [each["id"][-3:].lstrip("2").lstrip("0") for each in found["events"]]


STACK_LISTS = [
    ("", "dcba"),
    ("sort_keys=stack_name", "abcd"),
    ("sort_keys=stack_name&sort_dir=desc", "dcba"),
    ("sort_keys=stack_status", "abcd"),
    ("sort_keys=stack_status&sort_keys=stack_name&sort_dir=desc", "dcba"),
    ("sort_keys=creation_time", "abcd"),
    ("sort_keys=updated_time", "adcb"),
    ("sort_keys=updated_time&sort_dir=desc", "bcda"),
    ("sort_keys=colour", "dcba"),
    ("sort_keys=colour&sort_keys=stack_name", "abcd"),
    ("sort_key=stack_name", "abcd"),
    ("sort_dir=asc", "abcd"),
    ("limit=0", ""),
    ("limit=2", "dc"),
    (f"limit=2&marker={uid(3)}", "ba"),
    (f"marker={uid(1)}", ""),
    (f"marker={uid(99)}&limit=1", "d"),
    (f"marker={uid(8)}&limit=1", "d"),
    ("limit=", "dcba"),
    ("tags=red", "ba"),
    ("tags=red,blue", "a"),
    ("tags=red,none", ""),
    ("tags_any=blue,green", "ca"),
    ("not_tags=red,blue", "dcb"),
    ("not_tags=red", "dc"),
    ("not_tags_any=blue,green", "db"),
    ("tags=red&not_tags_any=blue", "b"),
    ("name=a", "a"),
    ("name=a&name=c", "ca"),
    ("stack_name=b", "b"),
    (f"id={uid(2)}", "b"),
    ("action=UPDATE", "dc"),
    ("stack_action=CREATE", "ba"),
    ("status=FAILED", "db"),
    ("status=CREATE_FAILED", "b"),
    ("stack_status=UPDATE_COMPLETE", "c"),
    ("status=CREATE_FAILED&status=UPDATE_COMPLETE", "dcba"),
    ("action=CREATE&status=FAILED", "b"),
    ("stack_status_reason=broken", "b"),
    ("username=vera", "d"),
    ("stack_owner=ursula", "cba"),
    ("timeout_mins=5", "a"),
    ("timeout_mins=5&timeout_mins=7", "da"),
    ("disable_rollback=false", "c"),
    ("disable_rollback=True", "dba"),
    ("tenant=p", "dcba"),
    ("tenant=q", ""),
    ("stack_user_project_id=x", ""),
    ("colour=blue", "dcba"),
    ("name=nobody", ""),
]  # fmt: skip
LONGER = [
    ("show_hidden=true", ["secret", "d", "c", "b", "a"]),
    ("tags=hide&show_hidden=true", ["secret"]),
    ("tags=hide", []),
    ("show_deleted=TRUE", ["gone", "d", "c", "b", "a"]),
    ("show_deleted=true&name=gone", ["gone"]),
    ("show_nested=true", ["a-inner", "d", "c", "b", "a"]),
    (f"owner_id={uid(1)}", ["a-inner"]),
    (f"parent={uid(1)}", ["a-inner"]),
    (f"show_nested=true&limit=1&marker={uid(7)}", ["d"]),
    ("show_nested=true&show_deleted=true&show_hidden=true",
     ["a-inner", "gone", "secret", "d", "c", "b", "a"]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), [*STACK_LISTS, *LONGER])
def test_stacks(service: LocalService, query: str, expected: str | list[str]) -> None:
    assert names(service, f"/stacks?{query}") == list(expected)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("limit=-1", "HTTPBadRequest"),
        ("limit=x", "HTTPBadRequest"),
        ("sort_dir=up", "ValueError"),
        ("timeout_mins=x", "HTTPBadRequest"),
        *((f"{name}={word}", "ValueError")
          for name in ("show_deleted", "show_nested", "show_hidden", "with_count",
                       "global_tenant")
          for word in ("1", "0", "yes")),
    ],
)  # fmt: skip
def test_wrong_words(service: LocalService, query: str, kind: str) -> None:
    answer = service.send("GET", f"/stacks?{query}")
    assert (answer.status_int, answer.json["error"]["type"]) == (400, kind)


def test_policy_decides_who_lists_all_projects(service: LocalService) -> None:
    assert service.send("GET", "/stacks?global_tenant=true").status_int == 403


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 4), ("limit=1", 4), (f"marker={uid(1)}", 4), ("tags_any=red,green", 3),
     ("show_nested=true&show_deleted=true", 6)],
)  # fmt: skip
def test_count(service: LocalService, query: str, count: int) -> None:
    assert ask(service, f"/stacks?with_count=true&{query}")["count"] == count
    assert "count" not in ask(service, f"/stacks?with_count=false&{query}")


@pytest.mark.parametrize(
    "keys",
    [(), ("stack_status",), ("updated_time",), ("stack_status", "updated_time"), ("stack_name",)],
)
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_make_the_whole(
    service: LocalService, keys: tuple[str, ...], direction: str, limit: int
) -> None:
    query = urlencode(
        [
            *(("sort_keys", key) for key in keys),
            ("sort_dir", direction),
            ("show_nested", "true"),
            ("show_deleted", "true"),
        ]
    )
    whole = names(service, f"/stacks?{query}")
    assert len(whole) == 6
    path: str | None = f"/stacks?{query}&limit={limit}"
    walked = []
    while path is not None:
        page = ask(service, path)
        walked += [each["stack_name"] for each in page["stacks"]]
        path = _next(page)
    assert walked == whole


def _next(page: Json) -> str | None:
    """The link as a path below the project; a full page has one."""
    for each in page.get("links", ()):
        if each["rel"] == "next":
            url = urlsplit(each["href"])
            return f"{url.path.removeprefix('/v1/p')}?{url.query}"
    return None


def test_detail_takes_no_options(service: LocalService) -> None:
    assert names(service, "/stacks/detail?limit=1&name=a") == list("dcba")


# -- resources -------------------------------------------------------------------------

A = f"/stacks/a/{uid(1)}"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "nxy"),
        ("nested_depth=0", "nxy"),
        ("nested_depth=1", "nxyz"),
        ("nested_depth=99", "nxyz"),
        ("name=x", "x"),
        ("name=x&name=y", "xy"),
        ("name=z", ""),
        ("name=z&nested_depth=1", "z"),
        ("status=COMPLETE", "nx"),
        ("status=COMPLETE&status=FAILED", "nxy"),
        ("action=UPDATE", "y"),
        ("type=Nova", "xy"),
        ("type=Server", "x"),
        ("type=%25", ""),
        ("physical_resource_id=server-x", "x"),
        (f"id={uid(102)}", "y"),
        ("type=Server&nested_depth=1&status=IN_PROGRESS", "z"),
    ],
)
def test_resources(service: LocalService, query: str, expected: str) -> None:
    assert names(service, f"{A}/resources?{query}") == list(expected)


@pytest.mark.parametrize(
    "query", ["limit=1", f"marker={uid(1)}", "colour=blue", "nested_depth=x", "with_detail=1"]
)
def test_resources_refuse(service: LocalService, query: str) -> None:
    assert service.send("GET", f"{A}/resources?{query}").status_int == 400


def test_resources_in_detail(service: LocalService) -> None:
    plain = ask(service, f"{A}/resources")["resources"]
    assert "attributes" not in plain[0]
    detailed = ask(service, f"{A}/resources?with_detail=true&nested_depth=2")["resources"]
    assert [each["description"] for each in detailed] == ["the n", "the x", "the y", "the z"]
    assert [each["required_by"] for each in detailed] == [[], ["y"], [], []]
    assert [each.get("parent_resource") for each in detailed] == [None, None, None, "n"]
    assert all(isinstance(each["attributes"], dict) for each in detailed)


def test_requested_attributes_are_shown(service: LocalService) -> None:
    shown = ask(service, f"{A}/resources/x?with_attr=one&with_attr=two")["resource"]
    assert {"one", "two"} <= shown["attributes"].keys()


def test_outputs_may_be_left_out(service: LocalService) -> None:
    assert ask(service, A)["stack"]["outputs"] == []
    assert "outputs" not in ask(service, f"{A}?resolve_outputs=false")["stack"]
    assert service.send("GET", f"{A}?resolve_outputs=no").status_int == 400


# -- events ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "987654321"),
        ("sort_dir=asc", "123456789"),
        ("sort_dir=asc&limit=2", "12"),
        (f"sort_dir=asc&limit=2&marker={uid(202)}", "34"),
        (f"marker={uid(203)}", "21"),
        (f"marker={uid(999)}&limit=1", "9"),
        ("marker=&sort_dir=asc&limit=1", "1"),
        ("limit=0", ""),
        ("resource_name=x", "852"),
        ("resource_name=x&resource_name=y&limit=3", "986"),
        ("resource_status=FAILED", "963"),
        ("resource_action=UPDATE", "987"),
        ("resource_type=K", "963"),
        ("sort_keys=resource_type", "369147258"),
        ("sort_keys=resource_type&sort_dir=desc", "852741963"),
        ("sort_keys=event_time", "123456789"),
        (f"sort_keys=resource_type&marker={uid(209)}", "147258"),
        ("colour=blue", "987654321"),
    ],
)
def test_events(service: LocalService, query: str, expected: str) -> None:
    assert names(service, f"{A}/events?{query}") == list(expected)


def test_events_of_a_tree(service: LocalService) -> None:
    path = f"{A}/events?nested_depth=1&sort_dir=asc"
    found = ask(service, path)["events"]
    assert [each["resource_name"] for each in found] == [*"nxynxynxyzz"]
    assert all({"root_stack"} <= {each["rel"] for each in one["links"]} for one in found)
    last = found[8]["id"]
    assert len(ask(service, f"{path}&marker={last}&limit=1")["events"]) == 1
    plain = ask(service, f"{A}/events")["events"]
    assert "root_stack" not in {each["rel"] for each in plain[0]["links"]}


def test_events_of_a_resource(service: LocalService) -> None:
    assert names(service, f"{A}/resources/x/events") == list("852")
    assert names(service, f"{A}/resources/x/events?sort_dir=asc&limit=1") == ["2"]
    assert service.send("GET", f"{A}/resources/nobody/events").status_int == 404


# -- size ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sizes(service: LocalService) -> list[str]:
    """Paths of stacks that differ in nothing but the number of their resources."""
    with service.services.store.transaction() as tx:
        return [_stack_of(tx, number, size) for number, size in enumerate(SIZES, 500)]


def _stack_of(tx: Any, number: int, size: int) -> str:
    made = stack(number, f"s{size}", Action.CREATE, Status.COMPLETE, tags=("hide",))
    tx.stacks.insert(made)
    tx.goals.insert(goal_row(made.goal_id, stack_id=made.id))
    tx.resources.insert(
        resource_row(
            uid(number * 100_000 + at_), stack_id=made.id, name=f"r{at_:05d}",
            implementation="OS::Heat::None", action=Action.CREATE, status=Status.COMPLETE,
            physical_id=f"p{at_}", requires=(f"r{at_ - 1:05d}",) if at_ else (),
        )
        for at_ in range(size)
    )  # fmt: skip
    return f"/stacks/{made.name}/{made.id}"


@pytest.mark.parametrize(
    "subpath",
    ["", "/resources", "/resources?with_detail=true", "/resources?nested_depth=5",
     "/resources?name=r00003", "/resources/r00003", "/events", "/outputs",
     "/resources/r00003/metadata"],
)  # fmt: skip
def test_ten_thousand_resources(service: LocalService, sizes: list[str], subpath: str) -> None:
    counts = []
    for path in sizes:
        with count_statements(service.database.engine) as count:
            found = ask(service, path + subpath)
        counts.append(count.total)
    assert counts[0] == counts[1] <= 8
    if subpath == "/resources":
        assert len(found["resources"]) == SIZES[1]
