"""Processor time and memory of this process and of its descendants, as Linux reports them."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def processor_seconds() -> float:
    """Return the processor time taken so far, with that of descendants that are alive."""
    return time.process_time() + sum(_seconds_of(pid) for pid in _descendants())


def resident_mib(process_id: int | str = "self") -> float:
    """Return the memory of a process in MiB."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * _PAGE_BYTES / 2**20


def _descendants(pid: str = "self") -> list[str]:
    children: list[str] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children += (task / "children").read_text().split()
        except OSError:  # the thread has ended
            continue
    return [found for child in children for found in (child, *_descendants(child))]


def _seconds_of(pid: str) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S  # utime and stime
