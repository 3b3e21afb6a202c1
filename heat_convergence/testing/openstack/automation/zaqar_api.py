"""Zaqar's API: queues that exist as soon as they are used, subscriptions and signatures."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedCollection
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any
_DEFAULT_METADATA = {"_max_messages_post_size": 262144, "_default_message_ttl": 3600}
_SUBSCRIPTIONS = "/queues/{queue_name}/subscriptions"
_MESSAGES = "/queues/{name}/messages"
_MAX_PAGE = 20
# Zaqar notifies such a subscriber as the user, by a trust that it adds to the options.
_TRUSTED, _TRUST = "trust+", "trust_id"


def install(emulation: Emulation) -> None:
    """Install Zaqar's handlers."""
    handlers = (
        ("PUT", "/queues/{name}", _put_queue),
        ("GET", "/queues/{name}", _read_queue),
        ("GET", "/queues", _list_queues),
        ("PATCH", "/queues/{name}", _patch_queue),
        ("DELETE", "/queues/{name}", _delete_queue),
        ("POST", "/queues/{name}/share", _share_queue),
        ("POST", _MESSAGES, _post_messages),
        ("GET", _MESSAGES, _list_messages),
        ("POST", _SUBSCRIPTIONS, _subscribe),
        ("PATCH", f"{_SUBSCRIPTIONS}/{{id}}", _change_subscription),
    )
    emulation.add_handlers("message", handlers)


def _put_queue(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    name, queues = request.path_parameters["name"], emulation.collection("zaqar.queue")
    if not name.replace("-", "").replace("_", "").isalnum() or len(name) > 64:
        raise EmulatedError(400, "Queue names may only contain ASCII letters, digits, - and _.")
    existing = queues.get(name)
    if existing is not None:
        existing.body["metadata"] = dict(request.body)
        return EmulatedResponse(204)
    queues.add({"name": name, "metadata": dict(request.body or {})})
    return EmulatedResponse(201)


def _metadata(emulation: Emulation, name: str) -> dict[str, Json]:
    item = emulation.collection("zaqar.queue").get(name)
    return {} if item is None else item.body["metadata"]


def _read_queue(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    found = _metadata(emulation, request.path_parameters["name"])
    return EmulatedResponse(200, {**_DEFAULT_METADATA, **found})


def _list_queues(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    query = {name: values for name, values in request.query.items() if name != "detailed"}
    bodies, _more = emulation.collection("zaqar.queue").list_page(query)
    links = [{"rel": "next", "href": "/v2/queues?marker=of-the-last-one"}]
    return EmulatedResponse(200, {"queues": bodies, "links": links})


def _patch_queue(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("zaqar.queue", request.path_parameters["name"])
    metadata = item.body["metadata"]
    for change in request.body:
        key = change["path"].removeprefix("/metadata/").replace("~1", "/").replace("~0", "~")
        if change["op"] != "add" and key not in metadata and key not in _DEFAULT_METADATA:
            raise EmulatedError(409, f"Can not {change['op']} non-existent object {key}.")
        if change["op"] == "remove":
            del metadata[key]
        else:
            metadata[key] = change["value"]
    return EmulatedResponse(200, metadata)


def _post_messages(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Post messages; the queue exists from the first one on."""
    name, messages = request.path_parameters["name"], _messages(emulation, request)
    if emulation.collection("zaqar.queue").get(name) is None:
        _put_queue(emulation, EmulatedRequest("message", "PUT", "", {}, {}, {"name": name}))
    for each in request.body["messages"]:
        posted_s = emulation.now_s
        messages.add({"ttl": 3600, **each, "posted_s": posted_s})
    return EmulatedResponse(201, {"resources": []})


def _list_messages(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """List the messages after a marker that have not expired, oldest first.

    Like Zaqar on Redis, it lists the first message again after the marker of that message, and
    all messages after the marker of one that has expired; and it cannot list claimed messages
    without a marker.
    """
    limit = min(int(request.query.get("limit", ["10"])[0]), _MAX_PAGE)
    marker = request.query.get("marker", [None])[0]
    if marker is None and "include_claimed" in request.query:
        raise EmulatedError(503, "Messages could not be listed.")
    bodies = [
        body
        for body in _messages(emulation, request).bodies()
        if body["posted_s"] + body["ttl"] > emulation.now_s
    ]
    rank = next((index for index, body in enumerate(bodies) if body["id"] == marker), 0)
    start = rank + 1 if rank else 0
    page = [
        {"id": each["id"], "ttl": each["ttl"], "age": 0, "body": each["body"]}
        for each in bodies[start : start + limit]
    ]
    path = f"/v2/queues/{request.path_parameters['name']}/messages"
    links = [{"rel": "next", "href": f"{path}?marker={page[-1]['id']}"}] if page else []
    return EmulatedResponse(200, {"messages": page, "links": links})


def _messages(emulation: Emulation, request: EmulatedRequest) -> EmulatedCollection:
    path_values = {"queue_name": request.path_parameters["name"]}
    return emulation.collection("zaqar.message", path_values)


def _delete_queue(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    messages = _messages(emulation, request)
    for each in messages.bodies():
        messages.remove(each["id"])
    emulation.collection("zaqar.queue").remove(request.path_parameters["name"])
    return EmulatedResponse(204)


def _share_queue(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    name, body = request.path_parameters["name"], request.body
    signed = {
        "project": PROJECT_ID,
        "paths": [f"/v2/queues/{name}/{each}" for each in body.get("paths", ["messages"])],
        "methods": body.get("methods", ["GET"]),
        "expires": body.get("expires", "2026-01-02T00:00:00"),
    }
    return EmulatedResponse(200, {**signed, "signature": "5i9n"})


def _subscriptions(emulation: Emulation, request: EmulatedRequest) -> EmulatedCollection:
    path_values = {"queue_name": request.path_parameters["queue_name"]}
    return emulation.collection("zaqar.subscription", path_values)


def _subscribe(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection = _subscriptions(emulation, request)
    if any(each["subscriber"] == request.body["subscriber"] for each in collection.bodies()):
        raise EmulatedError(409, "Such subscription already exists.")
    body = {"options": {}, **request.body}
    if str(body["subscriber"]).startswith(_TRUSTED):
        body["options"] = {**body["options"], _TRUST: new_id()}
    item = collection.add({**body, "age": 0, "source": "queue"})
    return EmulatedResponse(201, {"subscription_id": item.body["id"]})


def _change_subscription(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _subscriptions(emulation, request).get(request.path_parameters["id"])
    if item is None:
        raise EmulatedError(404, "Subscription could not be found.")
    item.body.update(request.body)
    return EmulatedResponse(204)
