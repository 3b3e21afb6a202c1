"""Equal parts of JSON values as one object.

Called for values of which a process has many at once, or keeps them for long: the templates of one
cloud, and the members of a group, repeat a few maps very often.  Nobody may change such a value in
place.
"""

from __future__ import annotations

from typing import Any

Json = Any
_PARTS = frozenset({str, dict, list})


class EqualParts:
    """Strings, maps and lists of which each is kept once for all values that have it.

    Maps are equal here if their members have the same order, too.  Numbers are left alone, as 1
    equals true.
    """

    def __init__(self) -> None:
        self._strings: dict[str, str] = {}  # those of sys.intern live forever in some Pythons
        # By the ids of members that are shared already: equal members have the same id.
        self._known: dict[tuple[type, tuple[int, ...]], Json] = {}

    def share(self, value: Json) -> Json:
        """Return an equal value of shared parts; one that is nested too deeply as it is."""
        try:
            return self._share(value)
        except RecursionError:
            return value

    def _share(self, value: Json) -> Json:
        part = type(value)
        if part is str:
            return self._strings.setdefault(value, value)
        if part is dict:
            keep = self._strings.setdefault
            members = {
                keep(key, key): self._share(member) if type(member) in _PARTS else member
                for key, member in value.items()
            }
            ids = (*map(id, members), *map(id, members.values()))
            return self._known.setdefault((dict, ids), members)
        if part is list:
            items = [self._share(item) if type(item) in _PARTS else item for item in value]
            return self._known.setdefault((list, tuple(map(id, items))), items)
        return value
