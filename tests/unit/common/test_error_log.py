"""The log of unexpected errors: one traceback in an interval, with the number of repetitions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heat_convergence.common.error_log import LOG_INTERVAL, ErrorLog, ErrorSubject

SUBJECT = ErrorSubject("stack", "resource")
SECRET = "a text that may be a secret"


def error_at_one_place() -> Exception:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        return error


def test_error_is_logged_once_in_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    errors = ErrorLog(lambda: now)
    ids = {errors.report(error_at_one_place(), SUBJECT, "job") for _ in range(5)}
    assert len(ids) == len(caplog.records) == 1

    now += LOG_INTERVAL
    ids.add(errors.report(error_at_one_place(), SUBJECT, "job"))
    assert len(ids) == 1
    assert [record.args["repeated"] for record in caplog.records] == [0, 4]
    assert ids.pop() in caplog.text
    assert "error_at_one_place" in caplog.text
    assert SECRET not in caplog.text


def test_errors_of_other_types_have_other_ids(caplog: pytest.LogCaptureFixture) -> None:
    errors = ErrorLog(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert errors.report(KeyError(), SUBJECT, "job") != errors.report(ValueError(), SUBJECT, "job")
    assert len(caplog.records) == 2
