"""Values as responses have them: times, states and JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from heat_convergence.api.http import stream_list_response
from heat_convergence.api.views.formats import format_status, format_time
from heat_convergence.api.views.links import stack_path_url
from heat_convergence.convergence.model.action import Action, Status


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 28, 9, 5, 7, 999_999, tzinfo=UTC), "2026-11-28T09:05:07Z"),
        (datetime.min.replace(tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59Z"),
    ],
)
def test_times_have_whole_seconds(at: datetime, text: str) -> None:
    assert format_time(at) == text


def test_no_time_is_null() -> None:
    assert format_time(None) is None


def test_state_is_one_word() -> None:
    assert format_status(Action.CREATE, Status.IN_PROGRESS) == "CREATE_IN_PROGRESS"


def test_urls_are_quoted_and_differ_by_project_and_base() -> None:
    url = stack_path_url("http://a", "p/1", "n m", "i")
    assert url == "http://a/v1/p%2F1/stacks/n%20m/i"
    assert stack_path_url("http://b", "p/1", "n", "i") == "http://b/v1/p%2F1/stacks/n/i"
    assert stack_path_url("http://a", "p2", "n", "i") == "http://a/v1/p2/stacks/n/i"


def test_streamed_list_is_one_document() -> None:
    document = {"text": 'é "\n', "integer": 2**70}
    streamed = b"".join(stream_list_response("items", [document] * 450).app_iter)
    assert json.loads(streamed) == {"items": [document] * 450}
