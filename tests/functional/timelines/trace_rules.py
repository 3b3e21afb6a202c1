"""The rules by which Perfetto imports traces in JSON; what breaks one is dropped or misplaced.

Sources: Trace Event Format, "Complete Events" and "Metadata Events"; the importer for JSON in
Perfetto's trace processor (src/trace_processor/importers/json).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Json = Any
_UINT32, _INT64 = 2**32, 2**63
_NANOSECONDS = 1000  # of a microsecond: times are stored as such
_METADATA = frozenset({"process_name", "thread_name"})


def find_mistakes(trace: Json) -> list[str]:
    """Return what the importer would drop, misplace or not name."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["there is no list of events"]
    found = [] if trace.get("displayTimeUnit", "ms") in ("ms", "ns") else ["a wrong time unit"]
    events = trace["traceEvents"]
    for number, event in enumerate(events):
        found += [f"event {number}: {each}" for each in _mistakes_of(event)]
    return found or [*_overlaps(events), *_misnamed(events)]


def _mistakes_of(event: Json) -> Iterator[str]:
    for key in ("name", "ph"):
        if not isinstance(event.get(key), str) or not event[key]:
            yield f"{key} is no text"
    for key in ("pid", "tid"):
        if not _is_int(event.get(key)) or not 0 <= event[key] < _UINT32:
            yield f"{key} is no number of 32 bits"
    if not isinstance(event.get("args", {}), dict):
        yield "args is no map"
    elif event.get("ph") == "M":
        yield from _mistakes_of_metadata(event)
    elif event.get("ph") == "X":
        yield from _mistakes_of_slice(event)
    else:
        yield f"a phase that this service does not write: {event.get('ph')}"


def _mistakes_of_metadata(event: Json) -> Iterator[str]:
    name = event.get("args", {}).get("name")
    if event.get("name") not in _METADATA or not isinstance(name, str) or not name:
        yield "metadata that names nothing"


def _mistakes_of_slice(event: Json) -> Iterator[str]:
    for key in ("ts", "dur"):
        value = event.get(key)
        if not _is_int(value) or not 0 <= value * _NANOSECONDS < _INT64:
            yield f"{key} is no time"
    if not isinstance(event.get("cat", ""), str):
        yield "cat is no text"


def _overlaps(events: Json) -> Iterator[str]:
    """Yield events of one thread that overlap without one being inside the other."""
    threads: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"])
            threads.setdefault((event["pid"], event["tid"]), []).append(span)
    for thread, spans in threads.items():
        for (_, end), (start, later_end) in pairwise(sorted(spans)):
            if start < end < later_end:
                yield f"thread {thread}: events overlap at {start}"


def _misnamed(events: Json) -> Iterator[str]:
    """Yield threads and processes without a name of their own."""
    slices = [each for each in events if each["ph"] == "X"]
    named: dict[str, dict[int, set[str]]] = {"process_name": {}, "thread_name": {}}
    for event in events:
        if event["ph"] == "M":
            number = event["pid" if event["name"] == "process_name" else "tid"]
            named[event["name"]].setdefault(number, set()).add(event["args"]["name"])
    for key, name in (("pid", "process_name"), ("tid", "thread_name")):
        for number in sorted({each[key] for each in slices}):
            if len(named[name].get(number, ())) != 1:
                yield f"{key} {number} has the names {sorted(named[name].get(number, ()))}"
    # The thread whose number is that of a process is its main thread, in whichever process.
    for number in sorted({each["tid"] for each in slices} & {each["pid"] for each in slices}):
        yield f"tid {number} is a pid, too"


def _is_int(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
