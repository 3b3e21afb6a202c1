"""Tasks that pause at chosen points, one running at a time.

Each task is a greenlet: the code under test runs unchanged, and the environment decides
which task continues or is killed.  Nothing here knows what the task does.  A greenlet
that has ended a task runs another, as a new greenlet costs more than most tasks do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context

from greenlet import GreenletExit, getcurrent, greenlet


class ProcessTerminated(BaseException):
    """The process that runs this code was killed; the code must not continue."""


class _IdleWorkers(threading.local):
    """The greenlets of a thread that have ended their tasks."""

    def __init__(self) -> None:
        self.greenlets: list[greenlet] = []


_IDLE_WORKERS = _IdleWorkers()


class GreenletTask:
    """A piece of work that runs only inside ``resume``."""

    def __init__(self, work: Callable[[], None], label: str) -> None:
        self.label = label
        self.error: BaseException | None = None
        self.done = False
        self._work = work
        self._killed = False
        self._worker: greenlet | None = None  # once the task has started

    def resume(self) -> float | None:
        """Run to the next pause.

        Returns:
            The length of the pause in seconds, or None if the work is done or has
            failed (then ``error`` is set).
        """
        worker = self._worker or _take_worker()
        arguments = (self._run,) if self._worker is None else ()
        self._worker, worker.parent = worker, getcurrent()
        pause_s: float | None = worker.switch(*arguments)
        return None if self.done else pause_s

    def kill(self) -> None:
        """End the paused work at the point where it stands."""
        if self._worker is None or self.done:
            self.done = True
            return
        self._killed = True
        self.resume()

    def pause(self, seconds: float) -> None:
        """Return control to the environment; called by the work itself."""
        if not self._killed:
            _return_to_environment(seconds)
        if self._killed:
            raise ProcessTerminated

    def _run(self) -> None:
        try:
            self._work()
        except ProcessTerminated:
            pass
        except GreenletExit:
            raise  # nobody refers to the task any more
        except BaseException as error:  # noqa: BLE001
            # The environment raises it at its own level.
            self.error = error
        finally:
            self.done = True


def _take_worker() -> greenlet:
    """Return a greenlet without a task, in which no context variable is set."""
    idle = _IDLE_WORKERS.greenlets
    worker = idle.pop() if idle else greenlet(_run_tasks)
    worker.gr_context = Context()
    return worker


def _run_tasks(run: Callable[[], None]) -> None:
    while True:
        run()
        _IDLE_WORKERS.greenlets.append(getcurrent())
        run = _return_to_environment(None)


def _return_to_environment(pause_s: float | None) -> Callable[[], None]:
    """Switch to the greenlet that has resumed this one; return what it switches back with."""
    parent = getcurrent().parent
    assert parent is not None
    next_run: Callable[[], None] = parent.switch(pause_s)
    return next_run
