"""Values in Heat's rows: JSON texts, naive times, encrypted texts and physical names.

Used by all other modules of the package; must not read the database.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from heat_convergence.common.errors import Invalid

Json = Any
INTERRUPTED = "was in progress in Heat when the stack was imported"
"""The end of the reason of a stack or snapshot whose action Heat had not ended."""
FERNET_METHOD = "cryptography_decrypt_v1"
_KEY_LENGTHS = (16, 24, 32)
_SHORT_NAME_BITS = (12, 16, 32)


class HeatValueUnreadable(Exception):
    """Raised for a stored value that cannot be read; the text names it and shows no secret."""


def parse_json(text: Any, purpose: str) -> Json:
    """Return the value of a JSON text; None for NULL and for the word ``null``.

    Args:
        text: the text of a row.
        purpose: what the text is, for the error.

    Raises:
        HeatValueUnreadable: it is no JSON.
    """
    if text is None or text == "":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeatValueUnreadable(f"{purpose} is no valid JSON") from error


def parse_map(text: Any, purpose: str) -> dict[str, Json]:
    """Return the map of a JSON text, empty for an absent one.

    Raises:
        HeatValueUnreadable: it is no map.
    """
    found = parse_json(text, purpose)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise HeatValueUnreadable(f"{purpose} is no map")
    return found


def to_utc(value: datetime | None) -> datetime | None:
    """Return a time of a row, which has no zone, as a UTC time."""
    return None if value is None else value.replace(tzinfo=UTC)


def parse_files(text: Any, purpose: str) -> dict[str, str]:
    """Return the contents of files by name, of a JSON text.

    Raises:
        HeatValueUnreadable: it is no map of texts.
    """
    found = parse_map(text, purpose)
    for name, content in found.items():
        if not isinstance(content, str):
            raise HeatValueUnreadable(f"{purpose}: {name} is no text")
    return found


def parse_uuid(text: Any, purpose: str) -> uuid.UUID:
    """Return a UUID.

    Raises:
        HeatValueUnreadable: it is none.
    """
    try:
        return uuid.UUID(text)
    except (AttributeError, TypeError, ValueError) as error:
        raise HeatValueUnreadable(f"{purpose} is no UUID") from error


def physical_name(stack_name: str, resource_name: str, identifier: str) -> str:
    """Return the name under which Heat created a physical resource.

    The last part has 60 bits of the version 4 UUID, its time fields from the high end on, in
    base32.

    Raises:
        HeatValueUnreadable: the identifier is no UUID.
    """
    fields = parse_uuid(identifier, f"the id of resource {resource_name}").fields
    parts = (fields[2] & 0xFFF, fields[1], fields[0])
    bits = 0
    for part, width in zip(parts, _SHORT_NAME_BITS, strict=True):
        bits = bits << width | part
    short = base64.b32encode((bits << 4).to_bytes(8, "big"))[:12].decode().lower()
    return f"{stack_name.rstrip('*')}-{resource_name}-{short}"


@dataclass(frozen=True)
class HeatCipher:
    """The decryption of Heat's values with its ``auth_encryption_key``."""

    key: str

    def __post_init__(self) -> None:
        if len(self.key) not in _KEY_LENGTHS or not self.key.isascii():
            raise Invalid(
                "Heat's auth_encryption_key has 16, 24 or 32 ASCII characters;"
                f" the given one has {len(self.key)}"
            )

    def __repr__(self) -> str:
        return "HeatCipher()"

    @cached_property
    def _fernet(self) -> Fernet:
        full = (self.key + self.key)[:32]
        return Fernet(base64.b64encode(full.encode("ascii")))

    def decrypt(self, method: str | None, text: str | None, purpose: str) -> str:
        """Return the plain text.

        Args:
            method: the method that the row names.
            text: the stored text.
            purpose: what the value is, for the error.

        Raises:
            HeatValueUnreadable: there is no text, the key is wrong, or the method is none of
                Heat's last releases.
        """
        if not text:
            raise HeatValueUnreadable(f"{purpose} is empty")
        if method != FERNET_METHOD:
            raise HeatValueUnreadable(f"{purpose} is encrypted with the unsupported {method}")
        try:
            return self._fernet.decrypt(text.encode()).decode()
        except (InvalidToken, ValueError) as error:
            raise HeatValueUnreadable(
                f"{purpose} cannot be decrypted: the key is another one"
            ) from error

    def decrypt_each(self, values: Mapping[str, Json], purpose: str) -> dict[str, Json]:
        """Return properties or attributes whose values were encrypted one by one."""
        return {
            name: parse_json(
                self.decrypt(value[0], value[1], f"{purpose} {name}"), f"{purpose} {name}"
            )
            if _is_encrypted(value)
            else value
            for name, value in values.items()
        }

    def decrypt_parameters(self, environment: Mapping[str, Json]) -> dict[str, Json]:
        """Return the environment with clear parameters and no list of encrypted ones."""
        parameters = dict(environment.get("parameters") or {})
        for name in environment.get("encrypted_param_names") or ():
            if _is_encrypted(parameters.get(name)):
                method, text = parameters[name]
                parameters[name] = self.decrypt(method, text, f"parameter {name}")
        kept = {key: item for key, item in environment.items() if key != "encrypted_param_names"}
        return {**kept, "parameters": parameters}


def _is_encrypted(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[0] == FERNET_METHOD
