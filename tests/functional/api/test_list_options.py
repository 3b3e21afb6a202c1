"""Every option of the lists of stacks, on every database, and what long lists cost.

Rows are put into the store as they are, so that each option has something to tell
apart.  Sizes are judged by statements, never by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from webob import Request

from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.services import ApiOptions
from heat_convergence.api.views import stacks as stack_view
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.testing.sample_rows import (
    goal_row,
    resource_row,
)
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.api.list_samples import ask, fill, names, stack, uid
from tests.functional.harness import LocalService

Json = Any
SIZES = (10, 10_000)


@pytest.fixture(scope="module")
def service(any_database_url: str) -> Iterator[LocalService]:
    options = ApiOptions(hidden_stack_tags=("hide",), max_resources_per_stack=-1)
    service = LocalService(any_database_url, options)
    fill(service)
    yield service
    service.close()


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
    ("query", "expected_type"),
    [
        ("limit=-1", "HTTPBadRequest"),
        ("limit=x", "HTTPBadRequest"),
        ("sort_dir=up", "ValueError"),
        ("timeout_mins=x", "HTTPBadRequest"),
        *((f"{name}={word}", "HTTPBadRequest")
          for name in ("show_deleted", "show_nested", "show_hidden", "with_count",
                       "global_tenant")
          for word in ("1", "0", "yes")),
    ],
)  # fmt: skip
def test_malformed_query_is_refused(service: LocalService, query: str, expected_type: str) -> None:
    answer = service.send("GET", f"/stacks?{query}")
    assert (answer.status_int, answer.json["error"]["type"]) == (400, expected_type)


def test_list_shows_a_stack_as_it_has_become_since_the_list_before(service: LocalService) -> None:
    before = _listed_stack(service, "b")
    changes: dict[str, Json] = {"status_reason": "mended", "status": Status.COMPLETE}
    with service.services.store.transaction() as tx:
        tx.stacks.update(uid(2), **changes, tags=("red", "new"))
    after = _listed_stack(service, "b")
    with service.services.store.transaction() as tx:
        tx.stacks.update(uid(2), status_reason="broken", status=Status.FAILED, tags=("red",))
    assert after == {
        **before,
        "stack_status": "CREATE_COMPLETE",
        "stack_status_reason": "mended",
        "tags": ["red", "new"],
    }
    assert _listed_stack(service, "b") == before


def test_links_of_a_list_are_those_of_the_request(service: LocalService) -> None:
    for host in ("one.example", "two.example", "one.example"):
        request = Request.blank(f"http://{host}/v1/p/stacks")
        answer = request.get_response(service.app)
        links = {link["href"] for each in answer.json["stacks"] for link in each["links"]}
        assert {urlsplit(link).netloc for link in links} == {host}


def test_only_administrators_see_the_projects_of_a_list(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for admin in (True, False, True):
        monkeypatch.setattr(PolicyEnforcer, "is_cloud_admin", lambda *_, admin=admin: admin)
        assert ("project" in _listed_stack(service, "a")) is admin


def test_stacks_that_stay_the_same_are_encoded_once(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.send("GET", "/stacks")
    encoded: list[str] = []
    format_summary = stack_view.format_stack_summary

    def note(summary: Any, *args: Any, **options: Any) -> Any:
        encoded.append(summary.name)
        return format_summary(summary, *args, **options)

    monkeypatch.setattr(stack_view, "format_stack_summary", note)
    assert len(service.send("GET", "/stacks").json["stacks"]) == 4
    assert encoded == []
    with service.services.store.transaction() as tx:
        tx.stacks.update(uid(2), status_reason="long" * 1000)
    service.send("GET", "/stacks")
    assert _listed_stack(service, "b")["stack_status_reason"] == "long" * 1000
    assert encoded == ["b", "b"]  # so that what is kept has a limit
    with service.services.store.transaction() as tx:
        tx.stacks.update(uid(2), status_reason="broken")


def _listed_stack(service: LocalService, name: str) -> dict[str, Json]:
    stacks = service.send("GET", "/stacks").json["stacks"]
    (found,) = [each for each in stacks if each["stack_name"] == name]
    return dict(found)


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
    tx.resources.insert([
        resource_row(
            uid(number * 100_000 + at_), stack_id=made.id, name=f"r{at_:05d}",
            implementation="OS::Heat::None", action=Action.CREATE, status=Status.COMPLETE,
            physical_id=f"p{at_}", requires=(f"r{at_ - 1:05d}",) if at_ else (),
        )
        for at_ in range(size)
    ])  # fmt: skip
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
