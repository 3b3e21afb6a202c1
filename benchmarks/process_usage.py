"""Processor time and peak memory by component, read from /proc.

Knows the processes of the service, the database and the broker on this machine.  Returns
nothing where there is no /proc.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SERVERS = {
    "mariadbd": "database",
    "mysqld": "database",
    "postgres": "database",
    "beam.smp": "broker",
}


def cpu_seconds_by_component(groups: Mapping[int, str]) -> defaultdict[str, float]:
    """Return the processor seconds so far; ``groups`` maps process groups to components."""
    usage: defaultdict[str, float] = defaultdict(float)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # The process has just ended.
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        component = groups.get(int(fields[2])) or _SERVERS.get(name)
        if component is not None:
            usage[component] += (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return usage


def peak_memory_mb_by_component(groups: Mapping[int, str]) -> dict[str, float]:
    """Return the peak resident memory, in MB, of the largest process of each component."""
    usage: dict[str, float] = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
            component = groups.get(os.getpgid(int(fields["Pid"])))
        except OSError:
            continue  # The process has just ended.
        if component is not None and "VmHWM" in fields:
            peak_mb = round(int(fields["VmHWM"].split()[0]) / 1000, 1)
            usage[component] = max(usage.get(component, 0.0), peak_mb)
    return usage
