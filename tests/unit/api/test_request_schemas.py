"""Accepted and refused bodies and query strings, with the type of the error."""

from __future__ import annotations

from typing import Any

import pytest
from webob.multidict import MultiDict

from heat_convergence.api.requests import actions, list_queries, params, stack_body
from heat_convergence.api.requests.stack_body import BodyPurpose
from heat_convergence.common import errors

TEMPLATE = {"heat_template_version": "2016-10-14"}


def query(*pairs: tuple[str, str]) -> params.QueryParams:
    return params.QueryParams(MultiDict(pairs))


def body(use: BodyPurpose = BodyPurpose.CREATE, /, **fields: Any) -> stack_body.StackBody:
    return stack_body.parse_stack_body({"stack_name": "a", "template": TEMPLATE, **fields}, use)


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
def test_boolean_is_case_insensitive(text: str) -> None:
    assert query(("show_deleted", text)).boolean("show_deleted") is True


@pytest.mark.parametrize("text", ["1", "0", "yes", "on", " true"])
def test_other_boolean_values_are_refused(text: str) -> None:
    with pytest.raises(errors.HTTPBadRequest, match="show_deleted"):
        query(("show_deleted", text)).boolean("show_deleted")


def test_empty_parameters_are_ignored() -> None:
    assert query(("limit", ""), ("marker", "")).names == frozenset()


@pytest.mark.parametrize("text", ["-1", "x", "1.5"])
def test_invalid_limit_is_refused(text: str) -> None:
    with pytest.raises(errors.HTTPBadRequest, match="limit"):
        query(("limit", text)).non_negative_int("limit")


def test_status_filter_accepts_both_forms() -> None:
    requested = list_queries.parse_stack_list_query(
        query(("status", "CREATE_FAILED"), ("status", "COMPLETE")), "p", ()
    )
    assert requested.filters.matches == {"status": ("FAILED", "COMPLETE"), "action": ("CREATE",)}


def test_status_in_progress_has_no_action() -> None:
    requested = list_queries.parse_stack_list_query(query(("status", "IN_PROGRESS")), "p", ())
    assert requested.filters.matches == {"status": ("IN_PROGRESS",)}


def test_stacks_with_hidden_tags_are_excluded_by_default() -> None:
    assert list_queries.parse_stack_list_query(query(), "p", ("h",)).filters.not_tags_any == ("h",)
    shown = list_queries.parse_stack_list_query(query(("show_hidden", "true")), "p", ("h",))
    assert shown.filters.not_tags_any == ()


def test_unknown_sort_key_is_ignored_and_direction_is_checked() -> None:
    requested = list_queries.parse_stack_list_query(
        query(("sort_keys", "x"), ("sort_dir", "asc")), "p", ()
    )
    assert (requested.page.sort_keys, requested.page.descending) == ((), False)
    with pytest.raises(errors.InvalidRequestValue, match="sort_dir"):
        list_queries.parse_stack_list_query(query(("sort_dir", "up")), "p", ())


def test_resource_list_refuses_unknown_parameters() -> None:
    with pytest.raises(errors.HTTPBadRequest, match="'limit'"):
        list_queries.parse_resource_list_query(query(("limit", "1")), 5)


def test_nested_depth_is_limited() -> None:
    assert (
        list_queries.parse_resource_list_query(query(("nested_depth", "50")), 5).nested_depth == 5
    )


@pytest.mark.parametrize(
    ("fields", "error_type", "message"),
    [
        ({"stack_name": None}, "HTTPBadRequest", "stack name"),
        ({"stack_name": 5}, "StackValidationFailed", "stack name"),
        ({"template": None}, "HTTPBadRequest", "template"),
        ({"template": []}, "HTTPBadRequest", "template"),
        ({"timeout_mins": "soon"}, "HTTPBadRequest", "timeout_mins"),
        ({"timeout_mins": -1}, "HTTPBadRequest", "timeout_mins"),
        ({"timeout_mins": True}, "HTTPBadRequest", "timeout_mins"),
        ({"disable_rollback": "no"}, "ValueError", "disable_rollback"),
        ({"converge": True}, "HTTPBadRequest", "converge"),
        ({"tags": ["a"]}, "AttributeError", "tags"),
        ({"tags": "x" * 81}, "HTTPBadRequest", "80"),
        ({"files": []}, "ValueError", "files"),
        ({"files": {"f": 1}}, "ValueError", '"f"'),
        ({"environment": []}, "HTTPBadRequest", "environment"),
        ({"environment_files": "e"}, "ValueError", "environment_files"),
        ({"parameters": []}, "HTTPBadRequest", "parameters"),
        ({"adopt_stack_data": []}, "HTTPBadRequest", "adopt_stack_data"),
    ],
)
def test_invalid_stack_body_is_refused(
    fields: dict[str, Any], error_type: str, message: str
) -> None:
    with pytest.raises(errors.Error, match=message) as refused:
        body(**fields)
    assert refused.value.shown_type == error_type
    assert refused.value.http_status == 400


def test_timeout_of_zero_minutes_is_the_default() -> None:
    assert body(timeout_mins=0).timeout_mins is None
    assert body(timeout_mins="5").timeout_mins == 5


def test_absent_tags_differ_from_empty_tags() -> None:
    assert body().tags is None
    assert body(tags="").tags == ()
    assert body(tags="a, b").tags == ("a", "b")


def test_only_a_patch_may_have_no_body() -> None:
    assert stack_body.parse_stack_body(None, BodyPurpose.PATCH).is_empty_patch
    assert not stack_body.parse_stack_body({"timeout_mins": 3}, BodyPurpose.PATCH).is_empty_patch
    with pytest.raises(errors.HTTPBadRequest, match="no body"):
        stack_body.parse_stack_body(None, BodyPurpose.UPDATE)


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "No action"), ({"a": 1, "b": 1}, "Multiple"), ({"reboot": None}, "reboot")],
)
def test_invalid_action_body_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.HTTPBadRequest, match=message):
        actions.parse_action_name(values)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"mark_unhealthy": 1},
        {"mark_unhealthy": True, "x": 1},
        {"mark_unhealthy": True, "resource_status_reason": 5},
    ],
)
def test_invalid_health_body_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(errors.HTTPBadRequest):
        actions.parse_health_body(values)
