"""Sanitization of text from other services, so that every database can store it.

Called by the stores for status reasons and error causes. Must not be used for values that have
to be returned unchanged.
"""

from __future__ import annotations

MAX_REASON_CHARACTERS = 262_144


def sanitize_text(text: str, *, max_characters: int = MAX_REASON_CHARACTERS) -> str:
    """Return the text without NUL and lone surrogates, shortened to the limit.

    A longer text keeps its beginning and its end, where errors name their cause.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= max_characters:
        return text
    note = f" … ({len(text) - max_characters} characters left out) … "
    head = (max_characters - len(note)) // 2
    return text[:head] + note + text[len(text) - (max_characters - len(note) - head) :]
