"""Properties of the parsers of parameters, query strings, small bodies and signed URLs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webob.multidict import MultiDict

from heat_convergence.api.context import StackUserDomain
from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.ec2_signature import Ec2SignatureAuth
from heat_convergence.api.middleware.faults import MethodNotAllowed, RouteNotFound
from heat_convergence.api.requests import list_queries
from heat_convergence.api.requests.actions import (
    parse_action_name,
    parse_health_body,
    parse_snapshot_name,
)
from heat_convergence.api.requests.params import (
    QueryParams,
    parse_boolean,
    parse_non_negative_int,
    parse_tags,
)
from heat_convergence.api.requests.software import (
    parse_config_body,
    parse_deployment_body,
    parse_deployment_update,
)
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.clients.signed_urls import (
    Signer,
    compute_signature,
    ec2_credentials,
    sign_url,
)
from heat_convergence.clients.stack_users import Ec2Keys
from heat_convergence.common.errors import AuthorizationFailure, Error, HTTPForbidden
from heat_convergence.template.parameters.parameter_schemas import (
    InvalidParameterValue,
    ParameterSchema,
    ParameterType,
    parse_parameter_schema,
)
from heat_convergence.template.parsing.template_versions import HOT_KEY, TEMPLATE_VERSIONS

NEWEST = TEMPLATE_VERSIONS["heat_template_version.2021-04-16"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.sampled_from(["true", "off", "1e5", "0x1", "1:2", "[1]", '{"a": 1}', "a,b", "9" * 400])
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


def result_of(parse: Callable[[], Any]) -> Any:
    """Return the result, or None after a documented error with a text and a 4xx status."""
    try:
        return parse()
    except Error as error:
        documented = error
    assert 400 <= documented.http_status < 500
    assert str(documented)
    return None


def value_or_text(convert: Callable[[], Any]) -> tuple[Any, str]:
    """Return the value of a parameter and an empty text, or the text of the error."""
    try:
        return convert(), ""
    except InvalidParameterValue as error:
        text = str(error)
    assert text
    return None, text


# -- parameters

CONSTRAINTS = st.lists(
    st.dictionaries(
        st.sampled_from(["length", "range", "allowed_values", "allowed_pattern", "modulo", "x"]),
        JSON | st.fixed_dictionaries({"min": SCALARS, "max": SCALARS}),
        max_size=2,
    ),
    max_size=2,
)


@given(st.sampled_from(ParameterType), JSON)
def test_converted_parameter_value_is_converted_to_itself(value_type: Any, value: Any) -> None:
    schema = ParameterSchema("p", value_type)
    converted, problem = value_or_text(lambda: schema.convert(value))
    json.dumps(converted, allow_nan=False).encode()
    assert problem or schema.convert(converted) == converted


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(NEWEST.parameter_types) | JSON},
        optional={
            "default": JSON,
            "constraints": CONSTRAINTS | JSON,
            "hidden": JSON,
            "immutable": JSON,
            "tags": JSON,
            "label": JSON,
            "absent": JSON,
        },
    ),
    JSON,
)
def test_parameter_declarations_raise_documented_errors_alone(declared: Any, value: Any) -> None:
    assert NEWEST.key == HOT_KEY
    schema = result_of(lambda: parse_parameter_schema("p", declared, NEWEST))
    if schema is None:
        return
    value_or_text(lambda: schema.validate(schema.convert(value), {}))


# -- query strings and small values

NAMES = st.sampled_from(
    ["limit", "marker", "sort_dir", "sort_keys", "status", "stack_status", "name", "tags", "type",
     "timeout_mins", "disable_rollback", "show_nested", "nested_depth", "with_detail", "x"]
)  # fmt: skip
VALUES = TEXTS | st.sampled_from(
    ["true", "FALSE", "0", "-1", "9" * 30, "١", "asc", "desc", "CREATE_COMPLETE", "_", "a,,b"]
)
QUERIES = st.lists(st.tuples(NAMES, VALUES), max_size=5).map(lambda it: QueryParams(MultiDict(it)))


@given(QUERIES)
def test_queries_of_lists_raise_documented_errors_alone(query: QueryParams) -> None:
    found = result_of(lambda: list_queries.parse_stack_list_query(query, "p", ("hidden",)))
    assert found is None or found.page.limit is None or 0 <= found.page.limit < 2**63
    assert found is None or found.filters.project_id in ("p", None)
    depth = result_of(lambda: list_queries.parse_resource_list_query(query, 5))
    assert depth is None or 0 <= depth.nested_depth <= 5
    result_of(lambda: list_queries.parse_event_list_query(query))
    result_of(lambda: list_queries.parse_template_type(query))
    result_of(lambda: list_queries.parse_ignored_errors(query))


@given(st.integers(0, 2**31 - 1))
def test_numbers_are_parsed_as_they_are_written(number: int) -> None:
    assert parse_non_negative_int("n", number) == number
    assert parse_non_negative_int("n", str(number)) == number


@given(JSON)
def test_small_values_raise_documented_errors_alone(value: Any) -> None:
    number = result_of(lambda: parse_non_negative_int("n", value))
    assert number is None or 0 <= number < 2**63
    assert result_of(lambda: parse_boolean("b", value)) in (True, False, None)
    tags = result_of(lambda: parse_tags(value))
    assert tags is None or parse_tags(",".join(tags)) == tags


# -- bodies

BODY_KEYS = st.sampled_from(
    ["stack_name", "template", "environment", "files", "parameters", "timeout_mins", "tags",
     "disable_rollback", "converge", "adopt_stack_data", "clear_parameters", "environment_files",
     "name", "group", "config", "inputs", "outputs", "options", "config_id", "server_id", "action",
     "status", "status_reason", "input_values", "output_values", "mark_unhealthy", "suspend",
     "resource_status_reason"]
)  # fmt: skip
BODIES = st.dictionaries(BODY_KEYS | TEXTS, JSON, max_size=5)
PARSERS: list[Callable[[Any], Any]] = [
    *(lambda body, purpose=purpose: parse_stack_body(body, purpose) for purpose in BodyPurpose),
    parse_config_body, parse_deployment_body, parse_deployment_update, parse_action_name,
    parse_snapshot_name, parse_health_body,
]  # fmt: skip


@given(BODIES)
def test_bodies_raise_documented_errors_alone(body: Any) -> None:
    before = json.dumps(body)
    for parse in PARSERS:
        result_of(lambda parse=parse: parse(body))
    assert json.dumps(body) == before


# -- signed URLs

PATH_PARTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/?#%"),
    min_size=1,
    max_size=8,
)
KEYS = Ec2Keys("access", "secret")


def signed(stack: str, resource: str) -> Any:
    arn = f"arn:openstack:heat::p:stacks/{stack}/id/resources/{resource}"
    return urlsplit(sign_url(f"http://Heat.example:8004/v1/signal/{quote(arn)}", KEYS))


def verified(method: str, host: str, path: str, query: dict[str, str]) -> bool:
    """Verify a request as Keystone does."""
    found = ec2_credentials(method, host, path, query)
    if found is None:
        return False
    right = compute_signature(
        KEYS.secret, found["verb"], found["host"], found["path"], found["params"]
    )
    return bool(found["signature"] == right)


@given(PATH_PARTS, PATH_PARTS, PATH_PARTS)
def test_signature_covers_method_host_path_and_query(stack: str, name: str, other: str) -> None:
    url = signed(stack, name)
    query = dict(parse_qsl(url.query))
    path = f"/v1/signal/arn:openstack:heat::p:stacks/{stack}/id/resources/{name}"
    assert verified("POST", "heat.example:8004", path, query)
    assert not verified("PUT", "heat.example:8004", path, query)
    assert not verified("POST", "other.example", path, query)
    assert not verified("POST", "heat.example:8004", f"{path}{other}", query)
    assert not verified("POST", "heat.example:8004", path, {**query, "x": other})
    for key in query:
        assert not verified(
            "POST", "heat.example:8004", path, query | {key: f"{query[key]}{other}"}
        )
        rest = {name: value for name, value in query.items() if name != key}
        assert not verified("POST", "heat.example:8004", path, rest)


class RecordingApplication:
    """The application behind the middleware; it records the requests that it gets."""

    def __init__(self) -> None:
        self.passed: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], _start: Any) -> list[bytes]:
        self.passed.append(environ)
        return []


def refuse(_credentials: Any) -> Signer:
    raise AuthorizationFailure("wrong")


ODD_PATHS = st.sampled_from(
    ["", "arn:openstack:heat::p:stacks/s/i/resources/r", "arn:", "a/b", "\xff\xfe", "%2e%2e/",
     "arn:openstack:heat::p:stacks/s/i/resources/r/x",
     "arn:openstack:heat:::stacks/s/i/resources/r",
     "arn:openstack:heat::p:stacks/s\n/i/resources/r\x00"]
) | st.text(st.characters(max_codepoint=255), max_size=40)  # fmt: skip


@given(
    st.sampled_from(["signal", "waitcondition", "signals", ""]),
    ODD_PATHS,
    st.sampled_from(["POST", "PUT", "GET", "DELETE", ""]),
    st.lists(
        st.tuples(
            st.sampled_from(["Signature", "AWSAccessKeyId", "SignatureVersion", "SignatureMethod"])
            | TEXTS,
            TEXTS,
        ),
        max_size=5,
    ),
)
def test_requests_without_a_valid_signature_signal_nothing(
    prefix: str, path: str, method: str, query: list[tuple[str, str]]
) -> None:
    others, application = RecordingApplication(), RecordingApplication()
    auth = Ec2SignatureAuth(others, application, refuse, StackUserDomain())
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": f"/v1/{prefix}/{path}",
        "QUERY_STRING": "&".join(f"{quote(name)}={quote(value)}" for name, value in query),
        "HTTP_HOST": "heat.example:8004",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    try:
        auth(environ, lambda *_: None)
    except (RouteNotFound, MethodNotAllowed, HTTPForbidden):
        assert others.passed == []
    assert application.passed == []
    assert all(CALLER_KEY not in passed for passed in others.passed)


def test_valid_signature_is_passed_on_as_a_signal_to_the_named_resource() -> None:
    signer = Signer("u", "own", "tree", "d", "users", ("heat_stack_user",))
    others, application = RecordingApplication(), RecordingApplication()
    auth = Ec2SignatureAuth(others, application, lambda _: signer, StackUserDomain(id="d"))
    url = signed("s", "r")
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/v1/signal/arn:openstack:heat::p:stacks/s/id/resources/r",
        "QUERY_STRING": url.query,
        "HTTP_HOST": url.netloc,
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    auth(environ, lambda *_: None)
    (passed,) = application.passed
    assert passed["PATH_INFO"] == "/own/stacks/s/id/resources/r/signal"
    assert (passed["QUERY_STRING"], passed[CALLER_KEY].stack_user_tree_id) == ("", "tree")
    assert others.passed == []


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_unsigned_request_to_a_signed_url_is_forbidden(method: str) -> None:
    application = RecordingApplication()
    auth = Ec2SignatureAuth(application, application, refuse, StackUserDomain())
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": "/v1/signal/arn:openstack:heat::p:stacks/s/id/resources/r",
        "QUERY_STRING": "",
        "HTTP_HOST": "heat.example",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    with pytest.raises(HTTPForbidden):
        auth(environ, lambda *_: None)
    assert application.passed == []
