"""Version documents of services, which the sessions of a process read once."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from requests import PreparedRequest, Response

from heat_convergence.clients import auth, version_documents
from heat_convergence.clients.identity_api import (
    create_identity_adapter,
    translate_keystone_errors,
)
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter, SdkCloudClient
from heat_convergence.clients.sdk.connections import create_connection
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.version_documents import DocumentUnreadable, VersionDocuments
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.common.time_limit import time_limit
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import (
    HOST,
    EmulatedHttpAdapter,
    create_emulation,
)

IMAGE = f"http://{HOST}/image"
JOBS = 10
WAIT_S = 10.0
MANY = 20


class UnversionedAdapter(EmulatedHttpAdapter):
    """The emulated cloud, whose image and identity services have endpoints without a version."""

    def __init__(self) -> None:
        super().__init__(create_emulation())
        self.requests: Counter[str] = Counter()
        self.count_lock = threading.Lock()
        self.tokens: set[str | None] = set()
        self.failures: list[Exception] = []
        self.status = 200
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.request_arrived = threading.Event()

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        path = str(request.path_url).partition("?")[0]
        with self.count_lock:  # adding one is two steps
            self.requests[f"{request.method} {path}"] += 1
        if path in ("/image", "/identity"):
            self.request_arrived.set()
            assert self.may_answer.wait(WAIT_S)
            if self.failures:
                raise self.failures.pop()
            if self.status != 200:
                return _response(request, {}, self.status)
            self.tokens.add(request.headers.get("X-Auth-Token"))
            version = {"id": "v2.16", "status": "CURRENT", "links": [
                {"rel": "self", "href": f"{IMAGE}/v2/"}]}  # fmt: skip
            return _response(request, {"versions": [version]})
        response = super().send(request)
        if path.endswith("/auth/tokens"):
            document = response.json()
            for service in document["token"]["catalog"]:
                for endpoint in service["endpoints"]:
                    url = endpoint["url"].replace("/image/v2", "/image")
                    endpoint["url"] = url.replace("/identity/v3", "/identity")
            return _response(request, document, 201, dict(response.headers))
        return response


def _response(
    request: PreparedRequest, body: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    response = Response()
    response.status_code = status
    response.url = str(request.url)
    response.request = request
    response.headers.update({**(headers or {}), "Content-Type": "application/json"})
    response.raw = io.BytesIO(json.dumps(body).encode())
    return response


@pytest.fixture
def adapter() -> UnversionedAdapter:
    return UnversionedAdapter()


class Clock:
    """A clock that the test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(clock: Clock) -> VersionDocuments:
    return VersionDocuments(clock)


def open_session(adapter: UnversionedAdapter, documents: VersionDocuments | None) -> Session:
    plugin = Password(
        f"http://{HOST}/identity/v3", user_id="u", password="p", project_id=PROJECT_ID
    )
    session = auth.create_session(ClientSettings(), plugin, documents)
    session.session.mount("http://", adapter)
    return session


def list_images(session: Session) -> None:
    connection = create_connection(session, ClientSettings(), "RegionOne")
    client = SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(JOBS))
    client.send(CloudRequest("image", "GET", "/images"))


def test_sessions_share_a_document(
    adapter: UnversionedAdapter, documents: VersionDocuments
) -> None:
    for _ in range(3):
        list_images(open_session(adapter, documents))
    assert adapter.requests["GET /image"] == 1
    assert adapter.requests["GET /image/v2/images"] == 3
    assert adapter.tokens == {None}


def test_ten_sessions_that_begin_together_read_a_document_once(
    adapter: UnversionedAdapter, documents: VersionDocuments
) -> None:
    adapter.may_answer.clear()
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = [pool.submit(list_images, open_session(adapter, documents)) for _ in range(JOBS)]
        assert adapter.request_arrived.wait(WAIT_S)
        adapter.may_answer.set()
        for job in jobs:
            job.result(WAIT_S)
    assert adapter.requests["GET /image"] == 1
    assert adapter.requests["GET /image/v2/images"] == JOBS


def test_ten_threads_of_one_session_log_in_once(
    adapter: UnversionedAdapter, documents: VersionDocuments
) -> None:
    session = open_session(adapter, documents)
    with ThreadPoolExecutor(JOBS) as pool:
        for job in [pool.submit(list_images, session) for _ in range(JOBS)]:
            job.result(WAIT_S)
    assert adapter.requests["POST /identity/v3/auth/tokens"] == 1


def test_failed_read_is_repeated(adapter: UnversionedAdapter, documents: VersionDocuments) -> None:
    adapter.failures = [requests.ConnectionError("refused")]
    session = open_session(adapter, documents)
    arguments = {"headers": {"Accept": "application/json"}, "authenticated": False}
    with pytest.raises(DocumentUnreadable, match="refused"):
        session.get(IMAGE, connect_retries=0, **arguments)
    assert session.get(IMAGE, **arguments).json()["versions"][0]["id"] == "v2.16"


def test_one_failed_connection_is_repaired_at_once(
    adapter: UnversionedAdapter, documents: VersionDocuments
) -> None:
    adapter.failures = [requests.ConnectionError("refused")]
    list_images(open_session(adapter, documents))
    assert adapter.requests["GET /image/v2/images"] == 1


@pytest.fixture(params=[None, 502, 503, 504])
def unreachable(adapter: UnversionedAdapter, request: pytest.FixtureRequest) -> UnversionedAdapter:
    if request.param is None:
        adapter.failures = [requests.ConnectionError("refused") for _ in range(MANY)]
    else:
        adapter.status = request.param
    return adapter


def test_unreachable_service_is_no_service_without_the_version(
    unreachable: UnversionedAdapter, documents: VersionDocuments
) -> None:
    session = open_session(unreachable, documents)
    with pytest.raises(TemporaryFailure, match="image cannot be reached"):
        list_images(session)
    unreachable.failures.clear()
    unreachable.status = 200
    list_images(session)


def test_unreachable_keystone_refuses_nothing(
    unreachable: UnversionedAdapter, documents: VersionDocuments
) -> None:
    session = open_session(unreachable, documents)
    client = create_identity_adapter(session, ClientSettings(), "RegionOne")
    with (
        pytest.raises(TemporaryFailure, match="not now: Keystone did not answer"),
        translate_keystone_errors("not now"),
    ):
        client.post("/OS-TRUST/trusts", json={})
    assert unreachable.requests["POST /identity/OS-TRUST/trusts"] == 0


def test_document_is_read_again_after_a_while(
    adapter: UnversionedAdapter, documents: VersionDocuments, clock: Clock
) -> None:
    list_images(open_session(adapter, documents))
    clock.now_s = version_documents.KEPT_S - 1
    list_images(open_session(adapter, documents))
    assert adapter.requests["GET /image"] == 1
    clock.now_s = version_documents.KEPT_S
    list_images(open_session(adapter, documents))
    assert adapter.requests["GET /image"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"authenticated": True},
        {"authenticated": False, "headers": {"X-Auth-Token": "t"}},
        {"authenticated": False, "headers": {"x-subject-token": "t"}},
    ],
)
def test_nothing_that_depends_on_a_token_is_kept(
    adapter: UnversionedAdapter, documents: VersionDocuments, arguments: dict[str, Any]
) -> None:
    session = open_session(adapter, documents)
    for _ in range(2):
        session.get(IMAGE, **arguments)
    assert adapter.requests["GET /image"] == 2


@pytest.fixture
def few_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_documents, "MAX_DOCUMENTS", 2)


@pytest.mark.usefixtures("few_documents")
def test_documents_are_bounded(documents: VersionDocuments) -> None:
    counts: Counter[str] = Counter()

    def read(name: str) -> None:
        def fetch() -> Response:
            counts[name] += 1
            return _response(PreparedRequest(), {"version": {}})

        documents.get(f"http://{name}", {}, fetch)

    for name in ("a", "b", "c", "c", "a"):
        read(name)
    assert counts == {"a": 2, "b": 1, "c": 1}


def test_large_document_is_not_kept(documents: VersionDocuments) -> None:
    large = {"version": "x" * version_documents.MAX_DOCUMENT_BYTES}
    answers = [_response(PreparedRequest(), large) for _ in range(2)]
    found = [documents.get(IMAGE, {}, lambda one=one: one) for one in answers]
    assert found == answers


def test_time_limit_ends_the_wait_for_another_session(
    adapter: UnversionedAdapter, documents: VersionDocuments
) -> None:
    adapter.may_answer.clear()
    arguments = {"headers": {"Accept": "application/json"}, "authenticated": False}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(open_session(adapter, documents).get, IMAGE, **arguments)
        assert adapter.request_arrived.wait(WAIT_S)
        with time_limit(0.05), pytest.raises(Exception, match="has not ended"):
            open_session(adapter, documents).get(IMAGE, **arguments)
        adapter.may_answer.set()
        assert first.result(WAIT_S).ok
