"""Lists of stacks as JSON, in which a stack is encoded once as long as its row is the same.

Called by the controllers that list stacks.  A list may have ten thousand, most of which have not
changed since the list before: an encoded stack is found by its row, tags and what the request
decides, in a quarter of the time that encoding takes.  Whatever changes what is shown is part of
the key, so that nothing needs to be dropped when a stack changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import orjson

from heat_convergence.api.http import ApiRequest
from heat_convergence.api.views import stacks as view
from heat_convergence.common.strict_json import encode_json
from heat_convergence.db.reads.stack_summaries import StackSummary, decode_row, list_converted
from heat_convergence.db.reads.stacks import Pagination, StackFilter

_KEPT_STACKS = 16384  # most take one kilobyte each; the next line bounds the rest
_KEPT_CHARACTERS, _KEPT_TAGS = 1024, 16  # of URL and reason; a stack with more is not kept


class EncodedStack(NamedTuple):
    """A stack as lists show it, in JSON."""

    id: str
    json: bytes


def list_encoded(
    conn: Any, request: ApiRequest, stack_filter: StackFilter, page: Pagination | None = None
) -> list[EncodedStack]:
    """Return a page of stacks as the request's caller may see them."""
    shown_to = (request.base_url, request.caller.is_cloud_admin)
    return list_converted(
        conn, stack_filter, page, partial(_encode_row, *shown_to), partial(_encode, *shown_to)
    )


def join_encoded(stacks: Sequence[EncodedStack]) -> orjson.Fragment:
    """Return the list of the stacks, as a part of a document that is encoded."""
    return orjson.Fragment(b"[" + b",".join([each.json for each in stacks]) + b"]")


def _encode_row(base_url: str, with_project: bool, *row: Any) -> EncodedStack | None:
    reason, tags = row[-2:]
    is_long = len(base_url) + len(reason) > _KEPT_CHARACTERS or len(tags) > _KEPT_TAGS
    encode = _encode_new if is_long else _encode_kept
    return encode(base_url, with_project, *row)


def _encode_new(base_url: str, with_project: bool, *row: Any) -> EncodedStack | None:
    summary = decode_row(*row)
    return None if summary is None else _encode(base_url, with_project, summary)


_encode_kept = lru_cache(maxsize=_KEPT_STACKS)(_encode_new)


def _encode(base_url: str, with_project: bool, summary: StackSummary) -> EncodedStack:
    item = view.format_stack_summary(summary, base_url, with_project=with_project)
    return EncodedStack(summary.id, encode_json(item))
