"""Templates by the hash of their text: each is parsed once per process.

Asked by whoever makes or checks nested stacks, in any thread.  Bounded; what falls
out is read and parsed again.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.problems import nearest
from heat_convergence.template.template import Template

Json = Any
Load = Callable[[Collection[str]], Mapping[str, str]]  # hashes → texts
_MAX_CHARACTERS = 64_000_000


@dataclass(frozen=True, slots=True)
class _Entry:
    text: str
    template: Template | None = None
    strings: frozenset[str] = frozenset()


def hash_of(text: str) -> str:
    """SHA-256 in hex, as the content store has it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Parsed:
    """Texts and templates, those used last kept within a bound of characters."""

    def __init__(
        self, limits: Limits = DEFAULT, *, max_characters: int = _MAX_CHARACTERS
    ) -> None:
        self.limits = limits
        self.parses = 0  # counted for tests
        self._max = max_characters
        self._size = 0
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def text(self, key: str, load: Load) -> str:
        return self._entry(key, load).text

    def template(self, key: str, load: Load) -> Template:
        """Raises what ``Template.parse`` does."""
        found = self._with_template(key, load).template
        assert found is not None
        return found

    def strings(self, key: str, load: Load) -> frozenset[str]:
        """All strings in the template."""
        return self._with_template(key, load).strings

    def _with_template(self, key: str, load: Load) -> _Entry:
        entry = self._entry(key, load)
        if entry.template is None:
            template = Template.parse(entry.text, limits=self.limits)
            entry = _Entry(entry.text, template, frozenset(strings_in(template.raw)))
            with self._lock:
                self.parses += 1
                if key in self._entries:
                    self._entries[key] = entry
        return entry

    def _entry(self, key: str, load: Load) -> _Entry:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                return found
        texts = load([key])
        if key not in texts:
            raise LookupError(f"there is no content {key}")
        entry = _Entry(texts[key])
        with self._lock:
            if key not in self._entries:
                self._entries[key] = entry
                self._size += len(entry.text)
            while self._size > self._max and len(self._entries) > 1:
                _key, dropped = self._entries.popitem(last=False)
                self._size -= len(dropped.text)
        return entry


def strings_in(value: Json) -> Iterator[str]:
    """Every string of a document, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)


class Files(Mapping[str, str]):
    """The files of a goal by name; texts are loaded when they are asked for."""

    def __init__(self, hashes: Mapping[str, str], parsed: Parsed, load: Load) -> None:
        self.hashes = hashes
        self._parsed = parsed
        self._load = load

    @classmethod
    def of_texts(cls, texts: Mapping[str, str], parsed: Parsed) -> Files:
        """Of texts that came with a request."""
        hashes = {name: hash_of(text) for name, text in texts.items()}
        by_hash = {hashes[name]: text for name, text in texts.items()}
        return cls(hashes, parsed, lambda wanted: {key: by_hash[key] for key in wanted})

    def __getitem__(self, name: str) -> str:
        return self._parsed.text(self.hashes[name], self._load)

    def __iter__(self) -> Iterator[str]:
        return iter(self.hashes)

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, name: object) -> bool:
        return name in self.hashes

    def template(self, name: str) -> Template:
        """Raises ``StackValidationFailed`` where there is no such file, and what
        ``Template.parse`` does."""
        if name not in self.hashes:
            raise StackValidationFailed(
                f'There is no template "{name}" among the files{nearest(name, self.hashes)}'
            )
        return self._parsed.template(self.hashes[name], self._load)

    def strings(self, name: str) -> frozenset[str]:
        """All strings in the template of that name."""
        return self._parsed.strings(self.hashes[name], self._load)
