"""Pieces of work that can be stopped at given points, one running at a time.

Each task is a greenlet: the code under test runs unchanged, and which task goes on,
or dies, is the world's decision.  Nothing here knows what the work is.
"""

from __future__ import annotations

from collections.abc import Callable

from greenlet import getcurrent, greenlet


class ProcessTerminated(BaseException):
    """The process that runs this code is gone; nothing of it goes on."""


class GreenletTask:
    """One piece of work, which runs only inside ``resume``."""

    def __init__(self, work: Callable[[], None], label: str) -> None:
        self.label = label
        self.error: BaseException | None = None
        self.done = False
        self._work = work
        self._killed = False
        self._greenlet = greenlet(self._run)

    def resume(self) -> float | None:
        """Runs to the next pause, and returns how long that is to last, in seconds;
        None when the work is done or has failed (``error``)."""
        self._greenlet.parent = getcurrent()
        pause_s: float | None = self._greenlet.switch()
        return None if self.done else pause_s

    def kill(self) -> None:
        """Ends the paused work where it stands."""
        if not self._greenlet or self.done:
            self.done = True
            return
        self._killed = True
        self.resume()

    def pause(self, seconds: float) -> None:
        """Called by the work itself: lets the world go on."""
        if not self._killed:
            parent = self._greenlet.parent
            assert parent is not None
            parent.switch(seconds)
        if self._killed:
            raise ProcessTerminated

    def _run(self) -> None:
        try:
            self._work()
        except ProcessTerminated:
            pass
        except BaseException as error:  # noqa: BLE001
            # Handed to the world, which raises it at its own level.
            self.error = error
        finally:
            self.done = True
