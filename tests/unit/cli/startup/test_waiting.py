"""Workers wait for what heals by itself, and end for what does not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from amqp.exceptions import AccessRefused

from heat_convergence.cli.startup import waiting
from heat_convergence.cli.startup.startup_state import EXIT_REFUSED, StartupState
from heat_convergence.cli.startup.waiting import start_listening, wait_for_database
from heat_convergence.common import failures


class ImpatientEvent(threading.Event):
    """An event whose waits end at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        return self.is_set()


def raising(*found: Exception) -> Callable[[], None]:
    """Return a function that raises one error a call, then succeeds."""
    pending = list(found)

    def call() -> None:
        if pending:
            raise pending.pop(0)

    return call


@pytest.fixture
def startup() -> StartupState:
    return StartupState()


@pytest.fixture
def stop_event() -> ImpatientEvent:
    return ImpatientEvent()


def test_database_that_is_down_is_waited_for(
    startup: StartupState, stop_event: ImpatientEvent
) -> None:
    check = raising(failures.Unavailable("down"), failures.Unavailable("down"))
    assert wait_for_database(check, startup, stop_event)
    assert stop_event.pauses == [0.5, 1.0]


def test_broker_that_does_not_answer_is_named_while_the_library_waits_for_it(
    startup: StartupState,
    stop_event: ImpatientEvent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "_REPORT_AFTER_S", 0.0)
    answered = threading.Event()
    monkeypatch.setattr(waiting.LOG, "warning", lambda *_args: answered.set())
    assert start_listening(lambda: assert_set(answered), startup, stop_event)
    assert answered.is_set()
    monkeypatch.setattr(waiting, "_REPORT_AFTER_S", 60.0)
    answered.clear()
    assert start_listening(lambda: None, startup, stop_event)
    assert not answered.is_set()


def assert_set(event: threading.Event) -> None:
    assert event.wait(30)


def test_refused_login_to_the_database_ends_the_start(
    startup: StartupState, stop_event: ImpatientEvent, caplog: pytest.LogCaptureFixture
) -> None:
    check = raising(failures.AccessRefused("no answer", detail="Access denied for user 'x'"))
    assert not wait_for_database(check, startup, stop_event)
    assert startup.exit_code == EXIT_REFUSED
    assert "[database] connection" in caplog.text
    assert "Access denied for user 'x'" in caplog.text


def test_login_that_is_refused_later_is_waited_for(
    startup: StartupState, stop_event: ImpatientEvent
) -> None:
    startup.mark_ready()
    assert wait_for_database(raising(failures.AccessRefused("rotated")), startup, stop_event)
    assert start_listening(raising(AccessRefused("rotated")), startup, stop_event)
    assert startup.exit_code == 0


def test_refused_login_to_the_broker_ends_the_start(
    startup: StartupState, stop_event: ImpatientEvent, caplog: pytest.LogCaptureFixture
) -> None:
    assert not start_listening(raising(AccessRefused("Login was refused")), startup, stop_event)
    assert startup.exit_code == EXIT_REFUSED
    assert "transport_url" in caplog.text


def test_listener_that_fails_is_started_again(
    startup: StartupState, stop_event: ImpatientEvent, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [RuntimeError(f"defect {number}\nsecond line") for number in range(7)]
    assert start_listening(raising(*failures), startup, stop_event)
    assert stop_event.pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert caplog.text.count("waiting for the broker") == 7
    assert "second line" not in caplog.text
    assert startup.was_ready


def test_stopping_ends_the_wait(startup: StartupState, stop_event: ImpatientEvent) -> None:
    stop_event.set()
    assert not start_listening(raising(), startup, stop_event)
    assert not wait_for_database(raising(), startup, stop_event)
