"""Messages between a sandbox and its child: a length, then so many bytes.

Used by both sides; knows nothing of what the messages say.
"""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("!Q")
_CHUNK_BYTES = 1 << 20


def send_frame(connection: socket.socket, payload: bytes) -> None:
    """Send one message."""
    connection.sendall(_LENGTH.pack(len(payload)) + payload)


def receive_frame(connection: socket.socket, max_bytes: int | None = None) -> bytes | None:
    """Return the next message.

    Returns:
        None when the other side has closed the connection.

    Raises:
        ValueError: The message is longer than ``max_bytes``.
    """
    header = _receive(connection, _LENGTH.size)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    if max_bytes is not None and length > max_bytes:
        raise ValueError(f"a message of {length} bytes; at most {max_bytes} are accepted")
    return _receive(connection, length)


def _receive(connection: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        chunk = connection.recv(min(length - len(parts), _CHUNK_BYTES))
        if not chunk:
            return None
        parts += chunk
    return bytes(parts)
