"""Pieces of work that can be stopped at given points, one running at a time.

Each task has a thread, but the baton passes explicitly: the code under test runs
unchanged, and which task goes on, or dies, is the world's decision.  Nothing here
knows what the work is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Crash(BaseException):
    """The process that runs this code is gone; nothing of it goes on."""


class Task:
    """One piece of work in its own thread, which runs only inside ``resume``."""

    def __init__(self, work: Callable[[], None], label: str) -> None:
        self.label = label
        self.error: BaseException | None = None
        self.done = False
        self._work = work
        self._killed = False
        self._pause_s = 0.0
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def resume(self) -> float | None:
        """Runs to the next pause, and returns how long that is to last, in seconds;
        None when the work is done or has failed (``error``)."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name=self.label)
            self._thread.start()
        self._go.release()
        self._stopped.acquire()
        if self.done:
            self._thread.join()
            return None
        return self._pause_s

    def kill(self) -> None:
        """Ends the paused work where it stands."""
        if self._thread is None or self.done:
            self.done = True
            return
        self._killed = True
        self.resume()

    def pause(self, seconds: float) -> None:
        """Called by the work itself: gives the baton back."""
        if self._killed:
            raise Crash
        self._pause_s = seconds
        self._stopped.release()
        self._go.acquire()
        if self._killed:
            raise Crash

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._work()
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001
            # Handed to the world, which raises it in its own thread.
            self.error = error
        finally:
            self.done = True
            self._stopped.release()
