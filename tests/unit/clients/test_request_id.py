"""The id of the request that goes along with calls to services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1.identity.v3 import Password
from oslo_context.context import RequestContext
from requests import PreparedRequest, Response

from heat_convergence.clients import auth
from heat_convergence.clients.identity_api import create_identity_adapter
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter, SdkCloudClient
from heat_convergence.clients.sdk.connections import create_connection
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common.telemetry import request_contexts
from heat_convergence.common.telemetry.request_contexts import StackRequests
from heat_convergence.rpc.messages import ContextSerializer
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import (
    HOST,
    EmulatedHttpAdapter,
    create_emulation,
)

REQUEST_ID_HEADER = "X-Openstack-Request-Id"
SENT_ID = "req-5f3c6a1e-1a1b-4a5c-8a55-0f5b3c2d1e0f"


class RecordingAdapter(EmulatedHttpAdapter):
    """The emulated cloud, which keeps the request id of what it is sent, by path."""

    def __init__(self) -> None:
        super().__init__(create_emulation())
        self.request_ids: dict[str, str | None] = {}

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        self.request_ids[str(request.path_url)] = request.headers.get(REQUEST_ID_HEADER)
        return super().send(request)


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> Iterator[RequestContext]:
    context = RequestContext(overwrite=False, global_request_id=SENT_ID)
    monkeypatch.setattr(request_contexts, "get_current", lambda: context)
    return context


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, RecordingAdapter]:
    adapter = RecordingAdapter()
    plugin = Password(
        f"http://{HOST}/identity/v3", user_id="u", password="p", project_id=PROJECT_ID
    )
    session = auth.create_session(ClientSettings(), plugin)
    session.session.mount("http://", adapter)
    return session, adapter


@pytest.fixture
def no_request() -> Iterator[None]:
    request_contexts._no_request().update_store()
    yield
    request_contexts._no_request().update_store()


@pytest.mark.usefixtures("no_request")
def test_call_without_a_request_has_no_id() -> None:
    assert request_contexts.current_request_id() is None


@pytest.mark.usefixtures("no_request")
def test_call_has_the_id_of_its_request() -> None:
    context = RequestContext()
    assert request_contexts.current_request_id() == context.request_id


@pytest.mark.usefixtures("no_request")
def test_id_that_the_caller_has_sent_goes_on() -> None:
    RequestContext(global_request_id=SENT_ID)
    assert request_contexts.current_request_id() == SENT_ID


@pytest.mark.usefixtures("current")
def test_every_call_of_a_session_has_the_id(session: tuple[Any, RecordingAdapter]) -> None:
    opened, adapter = session
    connection = create_connection(opened, ClientSettings(), "RegionOne")
    list(connection.compute.servers())  # by openstacksdk's own proxy
    client = SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))
    client.send(CloudRequest("network", "GET", "/networks"))
    create_identity_adapter(opened, ClientSettings()).get("/roles", raise_exc=False)
    paths = set(adapter.request_ids)
    assert {"/identity/v3/auth/tokens", "/network/v2.0/networks", "/identity/v3/roles"} <= paths
    assert any(path.startswith("/compute/v2.1/servers") for path in paths)
    assert set(adapter.request_ids.values()) == {SENT_ID}


def test_message_carries_no_id_that_would_break_a_header() -> None:
    sent = {"request_id": "req-1\r\nX-Other: 1", "global_request_id": "g" * 300}
    context = ContextSerializer().deserialize_context(sent)
    assert context.request_id.startswith("req-")
    assert "\n" not in context.request_id
    assert context.global_request_id is None


@pytest.mark.usefixtures("no_request")
class TestStackRequests:
    """The last request about each stack."""

    @staticmethod
    def remember(requests: StackRequests, stack_id: str, request_id: str) -> None:
        before = request_contexts.get_current()
        RequestContext(request_id=request_id)
        requests.remember(stack_id)
        assert before is not None
        before.update_store()

    @staticmethod
    def id_within(requests: StackRequests, *stack_ids: str) -> str | None:
        with requests.resumed(*stack_ids):
            context = request_contexts.current_request()
            return None if context is None else str(context.request_id)

    def test_last_request_is_resumed_and_left_again(self) -> None:
        requests = StackRequests()
        self.remember(requests, "one", "req-1")
        self.remember(requests, "one", "req-2")
        assert self.id_within(requests, "one") == "req-2"
        assert request_contexts.current_request() is None

    def test_nothing_but_the_ids_of_the_request_is_kept(self) -> None:
        requests = StackRequests()
        RequestContext(request_id="req-1", auth_token="a-token", project_id="p", roles=["admin"])
        requests.remember("one")
        RequestContext(request_id="req-2")
        with requests.resumed("one"):
            context = request_contexts.get_current()
        assert context is not None
        assert (context.request_id, context.project_id) == ("req-1", "p")
        assert (context.auth_token, context.roles) == (None, [])

    def test_unknown_stack_resumes_no_request(self) -> None:
        assert self.id_within(StackRequests(), "one") is None
        RequestContext(request_id="req-other")
        assert self.id_within(StackRequests(), "one") is None
        assert self.id_within(StackRequests()) == "req-other"

    def test_stacks_of_several_requests_resume_none_of_them(self) -> None:
        """Their messages may be processed by a thread that works for yet another request."""
        requests = StackRequests()
        self.remember(requests, "one", "req-1")
        self.remember(requests, "two", "req-2")
        RequestContext(request_id="req-other")
        assert self.id_within(requests, "one", "two") is None
        context = request_contexts.current_request()
        assert context is not None
        assert context.request_id == "req-other"

    def test_stacks_of_one_request_resume_it_together(self) -> None:
        requests = StackRequests()
        for stack_id, request_id in {"one": "req-1", "two": "req-1", "three": "req-2"}.items():
            self.remember(requests, stack_id, request_id)
        assert self.id_within(requests, "one", "two") == "req-1"
        assert self.id_within(requests, "one", "three") is None
        assert self.id_within(requests, "one", "unknown") is None

    def test_number_of_stacks_is_limited(self) -> None:
        requests = StackRequests(2)
        for stack_id in ("one", "two", "three"):
            self.remember(requests, stack_id, f"req-{stack_id}")
        found = [self.id_within(requests, each) for each in ("one", "two", "three")]
        assert found == [None, "req-two", "req-three"]

    def test_work_without_a_request_remembers_nothing(self) -> None:
        requests = StackRequests()
        self.remember(requests, "one", "req-1")
        requests.remember("one")
        assert self.id_within(requests, "one") == "req-1"
