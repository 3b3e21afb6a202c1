"""Tasks that pause at chosen points, one running at a time.

Each task is a greenlet: the code under test runs unchanged, and the environment decides
which task continues or is killed.  Nothing here knows what the task does.
"""

from __future__ import annotations

from collections.abc import Callable

from greenlet import getcurrent, greenlet


class ProcessTerminated(BaseException):
    """The process that runs this code was killed; the code must not continue."""


class GreenletTask:
    """A piece of work that runs only inside ``resume``."""

    def __init__(self, work: Callable[[], None], label: str) -> None:
        self.label = label
        self.error: BaseException | None = None
        self.done = False
        self._work = work
        self._killed = False
        self._greenlet = greenlet(self._run)

    def resume(self) -> float | None:
        """Run to the next pause.

        Returns:
            The length of the pause in seconds, or None if the work is done or has
            failed (then ``error`` is set).
        """
        self._greenlet.parent = getcurrent()
        pause_s: float | None = self._greenlet.switch()
        return None if self.done else pause_s

    def kill(self) -> None:
        """End the paused work at the point where it stands."""
        if not self._greenlet or self.done:
            self.done = True
            return
        self._killed = True
        self.resume()

    def pause(self, seconds: float) -> None:
        """Return control to the environment; called by the work itself."""
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
            # The environment raises it at its own level.
            self.error = error
        finally:
            self.done = True
