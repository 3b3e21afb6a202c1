"""The routes of stacks: the collection, the lookup by name, and one stack."""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.api.routes.route import STACK_PATH, Route

_REDIRECTED_GET = "resources|events|template|actions|environment|files"
_REDIRECTED_POST = "resources|events|template|actions"
_ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _lookups(path: str, methods: Sequence[str], handler: str) -> list[Route]:
    return [Route(m, path, handler, "stacks:lookup", 302, response_schema="text") for m in methods]


STACK_COLLECTION_ROUTES = [
    Route(
        "GET",
        "/stacks",
        "stack_reads.index",
        "stacks:index",
        query_schema="stacks",
        response_schema="stack_list",
    ),
    Route(
        "POST",
        "/stacks",
        "stack_writes.create",
        "stacks:create",
        201,
        body_schema="create",
        response_schema="stack_create",
    ),
    Route(
        "POST",
        "/stacks/preview",
        "previews.create",
        "stacks:preview",
        body_schema="create",
        query_schema="preview",
        response_schema="stack_preview",
    ),
    Route(
        "GET",
        "/stacks/detail",
        "stack_reads.detail",
        "stacks:detail",
        response_schema="stack_detail",
    ),
]

STACK_LOOKUP_ROUTES = [
    *_lookups("/stacks/{arn:arn:.*}", _ALL_METHODS, "stack_lookup.by_arn"),
    *_lookups("/stacks/{stack_name}", _ALL_METHODS, "stack_lookup.by_name"),
    *_lookups(
        "/stacks/{stack_name}/{subpath:" + _REDIRECTED_POST + "}",
        ("GET", "POST"),
        "stack_lookup.by_name_with_subpath",
    ),
    *_lookups(
        "/stacks/{stack_name}/{subpath:" + _REDIRECTED_GET + "}",
        ("GET",),
        "stack_lookup.by_name_with_subpath",
    ),
]

STACK_ROUTES = [
    Route(
        "GET",
        STACK_PATH,
        "stack_reads.show",
        "stacks:show",
        query_schema="show",
        response_schema="stack_show",
    ),
    Route(
        "PUT",
        STACK_PATH,
        "stack_writes.update",
        "stacks:update",
        202,
        body_schema="update",
        response_schema="text",
    ),
    Route(
        "PATCH",
        STACK_PATH,
        "stack_writes.patch",
        None,
        202,
        body_schema="patch",
        response_schema="text",
    ),
    Route(
        "DELETE",
        STACK_PATH,
        "stack_writes.delete",
        "stacks:delete",
        204,
        query_schema="delete",
        response_schema="empty",
    ),
    Route(
        "GET",
        STACK_PATH + "/template",
        "stack_reads.template",
        "stacks:template",
        response_schema="map",
    ),
    Route(
        "GET",
        STACK_PATH + "/environment",
        "stack_reads.environment",
        "stacks:environment",
        response_schema="environment",
    ),
    Route(
        "GET", STACK_PATH + "/files", "stack_reads.files", "stacks:files", response_schema="map"
    ),
    Route(
        "PUT",
        STACK_PATH + "/preview",
        "previews.update",
        "stacks:preview_update",
        query_schema="preview_update",
        body_schema="update",
        response_schema="update_preview",
    ),
    Route(
        "PATCH",
        STACK_PATH + "/preview",
        "previews.patch",
        "stacks:preview_update_patch",
        query_schema="preview_update",
        body_schema="patch",
        response_schema="update_preview",
    ),
    Route(
        "DELETE",
        STACK_PATH + "/abandon",
        "export.abandon",
        "stacks:abandon",
        response_schema="abandon",
    ),
    Route(
        "GET",
        STACK_PATH + "/export",
        "export.export",
        "stacks:export",
        response_schema="abandon",
    ),
]
