"""The files that templates and environments name, read from disk or taken from a request.

On disk, names in a document are relative to its own folder. As clients do before a request, they
are replaced by ``file://`` URLs, so that the same name in two folders means two files. Must not
read anything over a network: what is remote counts as existing, with unknown content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

from heat_convergence.common.errors import Error
from heat_convergence.template.diagnostics import SourcePath
from heat_convergence.template.environment.type_mappings import is_template_name
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


class FileSource(Protocol):
    """The place where the files are that documents name."""

    def locate(self, name: str, folder: Path) -> str | None:
        """Return the URL of a file that a document in the folder names; None if it is remote."""

    def read(self, url: str) -> str:
        """Return the text of a file.

        Raises:
            FileError: It cannot be read.
        """

    def folder_of(self, url: str) -> Path:
        """Return the folder to which the names in a file are relative."""


class DiskFiles:
    """The files of this machine."""

    def locate(self, name: str, folder: Path) -> str | None:
        """Return the URL of a file that a document in the folder names; None if it is remote."""
        if "://" in name and not name.startswith("file://"):
            return None
        return (folder / name.removeprefix("file://")).resolve().as_uri()

    def read(self, url: str) -> str:
        """Return the text of a file."""
        return read_text(_path_of(url))

    def folder_of(self, url: str) -> Path:
        """Return the folder of a file."""
        return _path_of(url).parent


@dataclass(frozen=True, slots=True)
class RequestFiles:
    """The files of a request, which documents name as the request does.

    Attributes:
        files: The texts by name.
    """

    files: Mapping[str, str]

    def locate(self, name: str, folder: Path) -> str | None:
        """Return the name; None if it is the URL of a file that the request does not have."""
        if name not in self.files and name.startswith(("http://", "https://")):
            return None
        return name

    def read(self, url: str) -> str:
        """Return the text of a file."""
        if url not in self.files:
            raise FileError("it is not among the files of the request")
        return self.files[url]

    def folder_of(self, url: str) -> Path:
        """Return a folder that changes no name."""
        return Path()


@dataclass(slots=True)
class ReferencedFiles:
    """The texts of all files that documents name, by URL.

    Attributes:
        source: Where the files are.
        texts: URL to text; nested templates have their own references resolved.
        unreadable: The references that were not found, of the documents resolved so far.
        rewritten: The URLs of nested templates whose texts are not as in their files.
    """

    source: FileSource = field(default_factory=DiskFiles)
    texts: dict[str, str] = field(default_factory=dict)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    rewritten: set[str] = field(default_factory=set)

    def resolve_template(self, data: Json, folder: Path, path: SourcePath = ()) -> Json:
        """Return a template's data with the names of files replaced by URLs."""
        if isinstance(data, Mapping):
            for key in (_TYPE, _CFN_TYPE):
                if data.get(key) == _CFN_STACK:
                    data = {**data, key: ACCEPTS_EVERYTHING}  # of a template at a URL
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
        url = self.source.locate(name, folder)
        if url is None:
            self.texts.setdefault(name, "")
            return name
        if url not in self.texts:
            self.texts[url] = self._read(url, name, path) or ""
        return url

    def _template_url(self, name: str, folder: Path, path: SourcePath) -> str:
        """Return the URL of a nested template, or a type in place of one that is not here."""
        url = self.source.locate(name, folder)
        if url is None:
            return ACCEPTS_EVERYTHING
        if url in self.texts:
            return url
        text = self._read(url, name, path)
        if text is None:
            return ACCEPTS_EVERYTHING
        self.texts[url] = text  # before its own references, one of which may be to itself
        self._resolve_nested(url, text)
        return url

    def _resolve_nested(self, url: str, text: str) -> None:
        try:
            data = load_document(text).data
        except Error:
            return  # reported where the template is used
        known = len(self.unreadable)
        resolved = self.resolve_template(data, self.source.folder_of(url))
        del self.unreadable[known:]  # reported when the nested template itself is checked
        if resolved != data:
            self.texts[url] = json.dumps(resolved)
            self.rewritten.add(url)

    def _read(self, url: str, name: str, path: SourcePath) -> str | None:
        if len(self.texts) >= _MAX_FILES:
            message = f'"{name}" is not read: more than {_MAX_FILES} files are named'
            self.unreadable.append(UnreadableFile(path, message))
            return None
        try:
            return self.source.read(url)
        except FileError as error:
            self.unreadable.append(UnreadableFile(path, f'"{name}" cannot be read: {error}'))
            return None


def _path_of(url: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(url.removeprefix("file://"))))
