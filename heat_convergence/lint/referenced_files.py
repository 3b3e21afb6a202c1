"""The files that templates and environments name, read from disk.

Names in a document are relative to its own folder. As clients do before a request, they are
replaced by ``file://`` URLs, so that the same name in two folders means two files. Must not read
anything over a network: what is remote counts as existing, with unknown content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.template.diagnostics import SourcePath
from heat_convergence.template.environment.resource_registry import is_template_name
from heat_convergence.template.limits import DEFAULT_LIMITS
from heat_convergence.template.parsing.document_loader import load_document

Json = Any
ACCEPTS_EVERYTHING = "OS::Heat::None"
"""The type that stands for a template that cannot be read: it takes any property."""
_MAX_FILES = 1000
_GET_FILE, _TYPE = "get_file", "type"
_CFN_TYPE, _CFN_STACK = "Type", "AWS::CloudFormation::Stack"


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A reference to a file that cannot be read.

    Attributes:
        path: The place of the reference in the document that was resolved.
        message: The name and the reason.
    """

    path: SourcePath
    message: str


class FileError(Exception):
    """The file cannot be read; the text is the reason."""


class NotText(FileError):
    """The file can be read, and is no text or too long to be a template."""


def read_text(path: Path) -> str:
    """Return the text of a file of at most the size of a template.

    Raises:
        FileError: It cannot be read.
        NotText: It is no text or too long.
    """
    try:
        with path.open("rb") as file:
            content = file.read(4 * DEFAULT_LIMITS.max_template_size + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise FileError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise NotText(f"it is no text in UTF-8: {error.reason} at byte {error.start}") from error
    if len(text) > DEFAULT_LIMITS.max_template_size:
        raise NotText(f"it has more than {DEFAULT_LIMITS.max_template_size} characters")
    return text


@dataclass(slots=True)
class ReferencedFiles:
    """The texts of all files that documents name, by URL.

    Attributes:
        texts: URL to text; nested templates have their own references resolved.
        unreadable: The references that were not found, of the documents resolved so far.
        rewritten: The URLs of nested templates whose texts are not as in their files.
    """

    texts: dict[str, str] = field(default_factory=dict)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    rewritten: set[str] = field(default_factory=set)

    def resolve_template(self, data: Json, folder: Path, path: SourcePath = ()) -> Json:
        """Return a template's data with the names of files replaced by URLs."""
        if isinstance(data, dict):
            if data.get(_CFN_TYPE) == _CFN_STACK:
                data = {**data, _CFN_TYPE: ACCEPTS_EVERYTHING}  # of a template at a URL
            return {
                key: self._resolve_entry(key, value, folder, (*path, key))
                for key, value in data.items()
            }
        if isinstance(data, list):
            return [
                self.resolve_template(item, folder, (*path, index))
                for index, item in enumerate(data)
            ]
        return data

    def resolve_registry(self, entries: Json, folder: Path, path: SourcePath) -> Json:
        """Return the entries of a resource registry with the names of templates replaced."""
        if isinstance(entries, Mapping):
            return {
                key: self.resolve_registry(value, folder, (*path, key))
                for key, value in entries.items()
            }
        if isinstance(entries, str) and is_template_name(entries):
            return self._template_url(entries, folder, path)
        return entries

    def _resolve_entry(self, key: str, value: Json, folder: Path, path: SourcePath) -> Json:
        if isinstance(value, str):
            if key == _GET_FILE:
                return self._file_url(value, folder, path)
            if key == _TYPE and is_template_name(value):
                return self._template_url(value, folder, path)
        return self.resolve_template(value, folder, path)

    def _file_url(self, name: str, folder: Path, path: SourcePath) -> str:
        """Return the URL of a file whose text is used as it is."""
        if _is_remote(name):
            self.texts.setdefault(name, "")
            return name
        target = _target(name, folder)
        if target.as_uri() not in self.texts:
            self.texts[target.as_uri()] = self._read(target, name, path) or ""
        return target.as_uri()

    def _template_url(self, name: str, folder: Path, path: SourcePath) -> str:
        """Return the URL of a nested template, or a type in place of one that is not here."""
        if _is_remote(name):
            return ACCEPTS_EVERYTHING
        target = _target(name, folder)
        url = target.as_uri()
        if url in self.texts:
            return url
        text = self._read(target, name, path)
        if text is None:
            return ACCEPTS_EVERYTHING
        self.texts[url] = text  # before its own references, one of which may be to itself
        self._resolve_nested(url, text, target)
        return url

    def _resolve_nested(self, url: str, text: str, target: Path) -> None:
        try:
            data = load_document(text).data
        except Error:
            return  # reported where the template is used
        known = len(self.unreadable)
        resolved = self.resolve_template(data, target.parent)
        del self.unreadable[known:]  # reported when the nested template itself is checked
        if resolved != data:
            self.texts[url] = json.dumps(resolved)
            self.rewritten.add(url)

    def _read(self, target: Path, name: str, path: SourcePath) -> str | None:
        if len(self.texts) >= _MAX_FILES:
            message = f'"{name}" is not read: more than {_MAX_FILES} files are named'
            self.unreadable.append(UnreadableFile(path, message))
            return None
        try:
            return read_text(target)
        except FileError as error:
            self.unreadable.append(UnreadableFile(path, f'"{name}" cannot be read: {error}'))
            return None


def _is_remote(name: str) -> bool:
    return "://" in name and not name.startswith("file://")


def _target(name: str, folder: Path) -> Path:
    return (folder / name.removeprefix("file://")).resolve()
