"""Repair windows: what they may be, and when they are open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.repair_window import (
    RepairWindow,
    from_text,
    parse_window,
    window_from_words,
    window_word,
)
from heat_convergence.template.environment.resource_registry import ResourceRegistry

NIGHT = RepairWindow("0 2 * * *", 3600)


def at(hour, minute=0, second=0, day=10):
    return datetime(2026, 3, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "start"),
    [
        (at(1, 59, 59), at(2)),
        (at(2), at(2)),
        (at(2, 59, 59), at(2, 59, 59)),
        (at(3), at(2, day=11)),
        (at(23), at(2, day=11)),
    ],
)
def test_window_is_open_from_its_start_for_its_duration(now, start):
    assert NIGHT.find_start(now) == start


def test_window_may_last_longer_than_the_time_between_its_openings():
    window = RepairWindow("0 * * * *", 7200)
    assert all(window.find_start(at(hour, 30)) == at(hour, 30) for hour in range(24))


def test_window_that_is_always_open():
    window = parse_window({"cron": "* * * * *", "duration": 60}, "x")
    times = [at(5) + timedelta(seconds=n / 3) for n in range(400)]
    assert [window.find_start(each) for each in times] == times


def test_window_opens_at_the_time_of_its_zone():
    window = RepairWindow("0 2 * * *", 3600, "Europe/Berlin")
    assert window.find_start(at(0, day=28)) == at(1, day=28)
    assert window.find_start(at(2, day=29)) == datetime(2026, 3, 30, 0, tzinfo=UTC)


def test_window_in_an_hour_that_a_change_of_the_clock_skips_opens_at_the_next_one():
    window = RepairWindow("30 2 * * *", 600, "Europe/Berlin")
    assert window.find_start(at(0, day=29)) == at(1, day=29)


def test_window_is_stored_and_read():
    window = RepairWindow("*/5 2,3 1-7 jan,feb mon#1", 60, "America/New_York")
    assert parse_window(window.as_document(), "x") == window
    assert window_from_words(["pre-create", "drift=repair", window_word(window)]) == window
    assert window_from_words(["drift=repair"]) is None
    assert from_text(window.to_text()) == window


def test_shorthand_and_spaces():
    assert parse_window("  0   2 * * * ", "x") == NIGHT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0 2 * *", '"0 2 \\* \\*" is not a cron expression of five fields'),
        ("@daily", "is not a cron expression"),
        ("0 2 * * * 30", "is not a cron expression"),
        ("60 * * * *", "is not a cron expression"),
        ("R 2 * * *", "is not a cron expression"),
        ("H 2 * * *", "is not a cron expression"),
        ("1," * 200 + "1 * * * *", "is not a cron expression"),
        ("0 0 30 2 *", "names no date"),
        ({"cron": 7}, "is not a cron expression"),
        ({}, '"None" is not a cron expression'),
        ({"cron": "0 2 * * *", "duration": 59}, '"59" is not a duration in seconds, from 60'),
        ({"cron": "0 2 * * *", "duration": 604801}, "is not a duration"),
        ({"cron": "0 2 * * *", "duration": True}, "is not a duration"),
        ({"cron": "0 2 * * *", "duration": "1h"}, "is not a duration"),
        ({"cron": "0 2 * * *", "duration": None}, "is not a duration"),
        ({"cron": "0 2 * * *", "timezone": "Mars/Olympus"}, '"Mars/Olympus" is not a time zone'),
        ({"cron": "0 2 * * *", "timezone": "../../etc/passwd"}, "is not a time zone"),
        ({"cron": "0 2 * * *", "timezone": ""}, "is not a time zone"),
        ({"cron": "0 2 * * *", "zone": "UTC"}, 'unknown key "zone"'),
        (["0 2 * * *"], "must be a cron expression, or a map with cron, duration, timezone"),
        (True, "must be a cron expression"),
    ],
)
def test_mistake_in_an_environment_is_refused_with_its_place(value, text):
    place = r"resource_registry\.resources\.web\*\.drift\.repair_window"
    with pytest.raises(HTTPBadRequest, match=f"{place}.*{text}"):
        ResourceRegistry.parse({"resources": {"web*": {"drift": {"repair_window": value}}}})


@pytest.mark.parametrize("text", ["", "0 2 * * *", "0 2 * * *;x;UTC", "0 2 * * *;60;Nowhere"])
def test_stored_text_that_is_no_window(text):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        from_text(text)
    assert str(raised.value)


def test_window_of_a_resource_has_the_precedence_of_its_policy():
    def registry(resources, base=None):
        return ResourceRegistry.parse({"resources": resources}, base)

    operator = registry({"*": {"drift": {"repair_window": "0 1 * * *"}}})
    found = registry(
        {"web": {"drift": {"repair_window": "0 2 * * *"}}, "w*": {"drift": "repair"}}, operator
    )
    assert found.repair_window("web") == NIGHT
    assert found.repair_window("wide") == RepairWindow("0 1 * * *")
    assert window_word(NIGHT) in found.hooks_and_restrictions("web")
    assert registry({}).repair_window("web") is None
