"""The files of the console, read once and kept in memory.

A request names a key of a table, never a path of this machine, so that no name leads out of the
folder. Used by ``console``.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import webob

_PACKAGE = "heat_convergence.console"
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent.

    Attributes:
        body: Its bytes.
        compressed: The same, compressed by gzip.
        content_type: Its media type, without the character set, which is UTF-8.
        digest: Changes with its bytes.
    """

    body: bytes
    compressed: bytes
    content_type: str
    digest: str


def load_static_files() -> Mapping[str, StaticFile]:
    """Return the files of the console by their path below ``static``."""
    return dict(_load_folder(files(_PACKAGE) / "static", ""))


def _load_folder(folder: Traversable, prefix: str) -> Iterator[tuple[str, StaticFile]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _load_folder(entry, f"{prefix}{entry.name}/")
            continue
        content_type = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if content_type is not None:
            yield prefix + entry.name, _to_static_file(entry.read_bytes(), content_type)


def _to_static_file(body: bytes, content_type: str) -> StaticFile:
    digest = hashlib.sha256(body).hexdigest()[:32]
    return StaticFile(body, gzip.compress(body, mtime=0), content_type, digest)


def static_response(file: StaticFile, request: webob.Request) -> webob.Response:
    """Return a file, or 304 to a browser that has it.

    Browsers ask each time, because the names of files do not change with a release.
    """
    # Without the header webob assumes that every encoding is accepted.
    compress = "Accept-Encoding" in request.headers and "gzip" in request.accept_encoding
    response = webob.Response(
        body=file.compressed if compress else file.body,
        content_type=file.content_type,
        charset="UTF-8",
        conditional_response=True,
    )
    if compress:
        response.content_encoding = "gzip"
    response.etag = f"{file.digest}-gzip" if compress else file.digest
    response.vary = ["Accept-Encoding"]
    response.headers["Cache-Control"] = "no-cache"
    return response
