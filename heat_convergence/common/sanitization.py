"""Text from anywhere, made fit for every database.

Called by the stores for reasons and causes, which hold what services and libraries
said.  Must not be used for what has to come back as it was given.
"""

from __future__ import annotations

MAX_REASON_CHARACTERS = 262_144


def sanitize_text(text: str, *, max_characters: int = MAX_REASON_CHARACTERS) -> str:
    """Without NUL and halves of surrogate pairs, which databases refuse; a longer
    text keeps its beginning and its end, where errors say what went wrong."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= max_characters:
        return text
    note = f" … ({len(text) - max_characters} characters left out) … "
    head = (max_characters - len(note)) // 2
    return text[:head] + note + text[len(text) - (max_characters - len(note) - head) :]
