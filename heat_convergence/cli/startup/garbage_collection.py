"""The garbage collector of a process that serves requests.

Called while a daemon loads its modules, and once a worker has started.  A large template is a
million objects, none of which is garbage: with Python's own settings the collector visits them
and everything that was loaded at the start a dozen times, which takes as long as the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 5_000  # between two collections of the youngest objects; 700 by default


@contextmanager
def collections_paused() -> Iterator[None]:
    """Load modules without collections, and leave out what they define.

    Almost nothing of it is garbage. The pause makes a start a seventh faster, and spares each
    worker, a fork of this process, a visit to all of it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def settle_garbage_collection() -> None:
    """Leave out what is loaded, which stays until the process ends, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
