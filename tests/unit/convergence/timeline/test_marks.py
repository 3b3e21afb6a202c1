"""Marks: what is written is read, and what is not known is left out."""

from __future__ import annotations

from heat_convergence.convergence.timeline.marks import (
    MarkType,
    TimelineMark,
    for_event,
    format_call,
    format_mark,
    format_retry,
    parse_marks,
    parse_time,
)
from heat_convergence.testing.sample_rows import time_at


def test_every_type_is_read_as_it_was_written() -> None:
    types = [each for each in MarkType if each is not MarkType.JOB]
    text = "".join(format_mark(each, time_at(n), f"d{n}") for n, each in enumerate(types))
    assert parse_marks(text) == (
        None,
        tuple(TimelineMark(each, time_at(n), f"d{n}") for n, each in enumerate(types)),
    )


def test_a_call_has_both_times_and_a_retry_has_its_end() -> None:
    text = format_call(time_at(1), time_at(2), "BUSY") + format_retry(time_at(2), time_at(9))
    _, (start, end, retry) = parse_marks(text)
    assert (start.at, end.at, end.detail) == (time_at(1), time_at(2), "BUSY")
    assert (retry.type, parse_time(retry.detail)) == (MarkType.RETRIED, time_at(9))


def test_events_keep_the_id_of_the_resource() -> None:
    marks = format_mark(MarkType.POSTED, time_at(1))
    resource_id, found = parse_marks(for_event("some-id", marks))
    assert resource_id == "some-id"
    assert [mark.type for mark in found] == [MarkType.POSTED]
    assert for_event("some-id", None) is None


def test_what_this_release_does_not_know_is_left_out() -> None:
    text = "Z123;p;p12x;;p" + "9" * 30 + ";"
    assert parse_marks(text + format_mark(MarkType.POSTED, time_at(1)))[1] == (
        TimelineMark(MarkType.POSTED, time_at(1)),
    )
    assert parse_marks(None) == (None, ())
