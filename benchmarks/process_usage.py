"""Processor time and peak memory by group of processes, from /proc.

Knows which processes are the service's, the database's and the broker's on this
machine; empty where there is no /proc.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SERVERS = {
    "mariadbd": "database",
    "mysqld": "database",
    "postgres": "database",
    "beam.smp": "broker",
}


def cpu_seconds_by_component(groups: Mapping[int, str]) -> Counter[str]:
    """Processor seconds so far; ``groups`` is process group → the part's name."""
    found: Counter[str] = Counter()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # it has just ended
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        part = groups.get(int(fields[2])) or _SERVERS.get(name)
        if part is not None:
            found[part] += (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return found


def peak_memory_mb_by_component(groups: Mapping[int, str]) -> dict[str, float]:
    """Of each group's largest process, the resident memory at its highest, in MB."""
    found: dict[str, float] = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
            part = groups.get(os.getpgid(int(fields["Pid"])))
        except OSError:
            continue  # it has just ended
        if part is not None and "VmHWM" in fields:
            peak_mb = round(int(fields["VmHWM"].split()[0]) / 1000, 1)
            found[part] = max(found.get(part, 0.0), peak_mb)
    return found
