"""Cache of templates by the hash of their text: each is parsed once per process.

Called where stacks are built, validated and read, in any thread.  Bounded in bytes of memory,
measured for each template; templates that were dropped are read and parsed again.  A user's
text may be as long as a template may be; the templates that groups generate may be longer.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.common.stored_values import ContentMap
from heat_convergence.common.values.value_size import SizedCache, value_bytes
from heat_convergence.resources.nested.template_references import (
    TemplateReferences,
    find_references,
)
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parsing.document_loader import check_document_size
from heat_convergence.template.template import Template

Json = Any
ContentLoader = Callable[[Collection[str]], Mapping[str, str]]
"""Returns texts by their hashes."""
FileFinder = Callable[[str], str | None]
"""Returns the text of a name, None where there is nothing to find."""
MAX_CACHE_BYTES = 10 * 2**20
_NAMES_BYTES = 2**20
_ENTRY_BYTES = 640  # of an entry without its text and its values, measured with small ones


@dataclass(frozen=True, slots=True)
class _Entry:
    text: str
    template: Template | None = None
    references: TemplateReferences | None = None
    parsed_bytes: int = 0  # of the template and its references

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return _ENTRY_BYTES + sys.getsizeof(self.text) + self.parsed_bytes


def content_hash(text: str) -> str:
    """Return the key of a text in the content store: SHA-256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TemplateCache:
    """A bounded cache of texts and templates that drops the least recently used."""

    def __init__(
        self, limits: TemplateLimits = DEFAULT_LIMITS, *, max_bytes: int = MAX_CACHE_BYTES
    ) -> None:
        self.limits = limits
        self._generated = replace(limits, max_template_size=limits.max_expanded_size)
        self.parse_count = 0  # counted for tests
        self.size_bytes = 0  # approximate
        self._max = max_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._names = SizedCache[tuple[str, ...]](_NAMES_BYTES)
        self._lock = threading.Lock()

    def text(self, key: str, load: ContentLoader) -> str:
        """Return the text with this hash."""
        return self._entry(key, load).text

    def template(self, key: str, load: ContentLoader) -> Template:
        """Return the template with this hash.

        Raises:
            Error: as ``Template.parse``.
        """
        found = self._with_template(key, load).template
        assert found is not None
        return found

    def resource_names(self, key: str, load: ContentLoader) -> tuple[str, ...]:
        """Return the names of the template's resources; a template read for them is not kept.

        The template of a group is another one after each batch of its members.

        Raises:
            Error: as ``Template.parse``.
        """
        names = self._names.get(key)
        if names is None:
            with self._lock:
                kept = self._entries.get(key)
            template = None if kept is None else kept.template
            if template is None:
                template = self._parse(ContentMap(load([key]))[key])
            names = template.resource_names
            self._names.put(key, names, value_bytes(names))
        return names

    def references(self, key: str, load: ContentLoader) -> TemplateReferences:
        """Return what the template refers to; nothing of a text that is not a template."""
        entry = self._entry(key, load)
        if entry.references is None:
            try:
                return self._with_template(key, load).references or TemplateReferences()
            except Error:  # reported when it is used
                self._keep(key, replace(entry, references=TemplateReferences()))
                return TemplateReferences()
        return entry.references

    def _with_template(self, key: str, load: ContentLoader) -> _Entry:
        entry = self._entry(key, load)
        if entry.template is None:
            template = self._parse(entry.text).compact()
            references = find_references(template)
            parsed_bytes = value_bytes(template.raw) + references.size_bytes
            entry = _Entry(entry.text, template, references, parsed_bytes)
            entry = self._keep(key, entry)
        return entry

    def _parse(self, text: str) -> Template:
        template = Template.parse(text, limits=self._generated)
        with self._lock:
            self.parse_count += 1
        return template

    def _entry(self, key: str, load: ContentLoader) -> _Entry:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                return found
        texts = ContentMap(load([key]))
        return self._keep(key, _Entry(texts[key]))

    def prefetch(self, keys: Iterable[str], load: ContentLoader) -> None:
        """Load the missing ones among texts that are about to be used, with one call."""
        with self._lock:
            missing = sorted(set(keys) - self._entries.keys())
        if len(missing) > 1:
            for key, text in load(missing).items():
                self._keep(key, _Entry(text))

    def _keep(self, key: str, entry: _Entry) -> _Entry:
        with self._lock:
            known = self._entries.get(key)
            if known is not None and known.template is not None:
                return known  # another thread was faster
            self._entries[key] = entry
            self._entries.move_to_end(key)
            self.size_bytes += entry.size - (0 if known is None else known.size)
            while self.size_bytes > self._max and len(self._entries) > 1:
                _key, dropped = self._entries.popitem(last=False)
                self.size_bytes -= dropped.size
        return entry


class TemplateFiles(Mapping[str, str]):
    """The files of a goal by name, whose texts are loaded when they are used.

    Attributes:
        hashes: name to content hash.
        fetched: texts of files that were found elsewhere, by name.
    """

    def __init__(
        self, hashes: Mapping[str, str], parsed: TemplateCache, load: ContentLoader
    ) -> None:
        self.hashes = hashes
        self.fetched: dict[str, str] = {}
        self._parsed = parsed
        self._load = load
        self._find: FileFinder = lambda _name: None

    @classmethod
    def from_texts(
        cls, texts: Mapping[str, str], parsed: TemplateCache, find: FileFinder = lambda _name: None
    ) -> TemplateFiles:
        """Return the files of a request.

        Args:
            texts: name to text.
            parsed: the cache of templates.
            find: called once for a template that is not among the texts; one that it
                returns is added to ``fetched``.
        """
        hashes = {name: content_hash(text) for name, text in texts.items()}
        by_hash = {hashes[name]: text for name, text in texts.items()}
        files = cls(hashes, parsed, lambda keys: {key: by_hash[key] for key in keys})

        def find_and_keep(name: str) -> str | None:
            text = find(name)
            if text is not None:
                hashes[name] = content_hash(text)
                by_hash[hashes[name]] = files.fetched[name] = text
            return text

        files._find = find_and_keep
        return files

    def with_texts(self, texts: Mapping[str, str]) -> TemplateFiles:
        """Return these files with the texts over them."""
        known = {content_hash(text): text for text in texts.values()}

        def load_missing(keys: Collection[str]) -> Mapping[str, str]:
            missing = [key for key in keys if key not in known]
            found = self._load(missing) if missing else {}
            return {**found, **{key: known[key] for key in keys if key in known}}

        hashes = {name: content_hash(text) for name, text in texts.items()}
        return TemplateFiles({**self.hashes, **hashes}, self._parsed, load_missing)

    def with_loader(self, load: ContentLoader) -> TemplateFiles:
        """Return the same files with another loader of texts."""
        return TemplateFiles(self.hashes, self._parsed, load)

    def __getitem__(self, name: str) -> str:
        """Return the text of a file."""
        return self._parsed.text(self.hashes[name], self._load)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the files."""
        return iter(self.hashes)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self.hashes)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a file of that name, without loading it."""
        return name in self.hashes

    def template(self, name: str) -> Template:
        """Return the template of that name.

        Raises:
            StackValidationFailed: there is no such file.
            Error: as ``Template.parse``.
        """
        if name not in self.hashes and self._find(name) is None:
            raise StackValidationFailed(
                f'There is no template "{name}" among the files{did_you_mean(name, self.hashes)}'
            )
        check_document_size(self[name], self._parsed.limits)
        return self._parsed.template(self.hashes[name], self._load)

    def references(self, names: Collection[str]) -> dict[str, TemplateReferences]:
        """Return what files refer to, by name; nothing for those that are no templates."""
        templates = {name: self.hashes[name] for name in names if is_template_name(name)}
        self._parsed.prefetch(templates.values(), self._load)
        found = dict.fromkeys(names, TemplateReferences())
        for name, key in templates.items():
            found[name] = self._parsed.references(key, self._load)
        return found
