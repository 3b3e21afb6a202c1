"""The garbage collector and the allocator of a process that serves requests.

Called while a daemon loads its modules, and once a worker has started.  A large template is a
million objects, none of which is garbage: with Python's own settings the collector visits them
and everything that was loaded at the start a dozen times, which takes as long as the work itself.
Its texts are blocks of megabytes, which would not return to the system by themselves.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 5_000  # between two collections of the youngest objects; 700 by default
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
_LARGE_BLOCK = 1024 * 1024  # bytes


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


def settle_memory() -> None:
    """Leave out what is loaded, which stays until the process ends, and collect less often.

    Large blocks of memory are given back to the system from now on.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    _give_back_large_blocks()


def _give_back_large_blocks() -> None:
    """Have the C library map each large block by itself, and unmap it when it is freed.

    By its own rule glibc does so for larger and larger blocks only, each time that it frees one.
    Texts of that size then leave holes between others, which Python's small objects cannot use.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # musl has none
        mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
