"""Secrets at rest: values of sensitive rows are encrypted as they are stored.

Called by the column types, ``JsonText`` for values that statements wrap in
``SensitiveValue``.  Which rows are sensitive is decided elsewhere: by hidden parameters
and by resource types that keep secrets.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from sqlalchemy.engine import Dialect, Engine

from heat_convergence.common.failures import InvalidEncryptionKey

ENCRYPTED_PREFIX = "sealed:"  # no JSON text starts with it
_KEYRING = "heat_convergence_keyring"
_COMPRESSED = b"\xff"  # no UTF-8 text starts with it
_COMPRESSED_FROM = 1 << 15  # characters: of shorter texts the copies take little
_PIECE = 1 << 16
_FASTEST = 1


@dataclass(frozen=True, slots=True)
class SensitiveValue:
    """A value that is to be encrypted when it is stored."""

    value: Any


class Keyring:
    """Keys, the newest first: that one encrypts, any of them decrypts."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Use texts of any length as keys; empty ones are ignored."""
        self._keys = tuple(_fernet_key(key) for key in keys if key)
        self._fernets = [Fernet(key) for key in self._keys]
        self._all = MultiFernet(self._fernets) if self._fernets else None

    def __bool__(self) -> bool:
        """Return whether there is a key."""
        return self._all is not None

    def __eq__(self, other: object) -> bool:
        """Return whether the other one has the same keys in the same order."""
        return isinstance(other, Keyring) and self._keys == other._keys

    def __hash__(self) -> int:
        """Return the hash of the keys."""
        return hash(self._keys)

    def is_encrypted_with_newest_key(self, token: str) -> bool:
        """Return whether the newest key has encrypted the token."""
        try:
            self._fernets[0].decrypt(token.encode())
        except (InvalidToken, IndexError):
            return False
        return True

    def encrypt(self, text: str) -> str:
        """Return a token of the text.

        Raises:
            InvalidEncryptionKey: there is no key.
        """
        return self._ring().encrypt(_to_bytes(text)).decode("ascii")

    def decrypt(self, token: str) -> str:
        """Return the text of a token.

        Raises:
            InvalidEncryptionKey: none of the keys has encrypted it.
        """
        try:
            return _to_text(self._ring().decrypt(token.encode()))
        except InvalidToken as error:
            raise InvalidEncryptionKey(
                "Stored secrets were encrypted with another auth_encryption_key."
            ) from error

    def _ring(self) -> MultiFernet:
        if self._all is None:
            raise InvalidEncryptionKey(
                "auth_encryption_key is not set: hidden values can't be stored."
            )
        return self._all


def _to_bytes(text: str) -> bytes:
    """Return the bytes to encrypt, those of a long text compressed.

    There are half a dozen copies of them on their way to the database.
    """
    if len(text) < _COMPRESSED_FROM:
        return text.encode()
    compressor = zlib.compressobj(_FASTEST)
    pieces = (text[at : at + _PIECE].encode() for at in range(0, len(text), _PIECE))
    return b"".join([_COMPRESSED, *map(compressor.compress, pieces), compressor.flush()])


def _to_text(plain: bytes) -> str:
    if plain.startswith(_COMPRESSED):
        plain = zlib.decompress(plain[len(_COMPRESSED) :])
    return plain.decode()


def _fernet_key(key: str) -> bytes:
    """Return the 32 bytes that Fernet needs, made of any text."""
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest())


_NO_KEYS = Keyring(())


def attach_keyring(engine: Engine, keyring: Keyring) -> None:
    """Give the keys to all connections of the engine."""
    setattr(engine.dialect, _KEYRING, keyring)


def get_keyring(dialect: Dialect) -> Keyring:
    """Return the keys of the engine that uses the dialect; an empty keyring by default."""
    return getattr(dialect, _KEYRING, None) or _NO_KEYS
