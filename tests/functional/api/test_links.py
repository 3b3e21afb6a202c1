"""Links in responses: from the option ``public_endpoint``, else from a valid Host header."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from oslo_middleware import http_proxy_to_wsgi
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService

PUBLIC = "https://cloud.example/orchestration"
BAD_HOSTS = [
    'x"><script>alert(1)</script>',
    "evil.example/path?",
    "user@evil.example",
    "evil.example:port",
    "evil.example:80:90",
    "evil example",
    "evil.example\\@good",
    "[::1",
    "é.example",
    "a" * 300,
]
StartService = Callable[..., LocalService]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartService]:
    started: list[LocalService] = []

    def start(conf: cfg.ConfigOpts | None = None, **options: Any) -> LocalService:
        service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions(**options))
        service.use_application(build_app(service.services, conf=conf))
        started.append(service)
        return service

    yield start
    for service in started:
        service.close()


def send(service: LocalService, path: str, body: Any = None, **environ: str) -> Response:
    request = Request.blank(path, method="GET" if body is None else "POST")
    request.environ.update(environ)
    if body is not None:
        request.json = body
    return request.get_response(service.app)


def create(service: LocalService, **environ: str) -> Response:
    template = {"heat_template_version": "2018-08-31"}
    return send(service, "/v1/p/stacks", {"stack_name": "s", "template": template}, **environ)


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_an_invalid_host_header_is_refused(start: StartService, host: str) -> None:
    service = start()
    for path in ("/", "/v1/p/stacks", "/v1/p/stacks/s"):
        response = send(service, path, HTTP_HOST=host)
        assert (response.status_int, response.json["error"]["type"]) == (400, "HTTPBadRequest")
        assert host not in response.text


@pytest.mark.parametrize(
    "host", ["a.example", "a-1.example:8004", "10.0.0.1", "[fd00::1]:8004", "node_1", "a.example."]
)
def test_a_valid_host_header_is_the_host_of_links(start: StartService, host: str) -> None:
    location = create(start(), HTTP_HOST=host).headers["Location"]
    assert location.startswith(f"http://{host}/v1/p/stacks/s/")


def test_links_name_the_public_endpoint_and_not_the_header(start: StartService) -> None:
    service = start(public_endpoint=PUBLIC)
    host = "evil.example"
    created = create(service, HTTP_HOST=host)
    assert created.headers["Location"].startswith(f"{PUBLIC}/v1/p/stacks/s/")
    listed = send(service, "/v1/p/stacks", HTTP_HOST=host)
    versions = send(service, "/", HTTP_HOST=host)
    redirect = send(service, "/v1/p/stacks/s", HTTP_HOST=host)
    assert versions.json["versions"][0]["links"][0]["href"] == f"{PUBLIC}/v1/"
    assert redirect.headers["Location"].startswith(f"{PUBLIC}/v1/p/stacks/s/")
    texts = [json.dumps(each.json) for each in (created, listed, versions)]
    assert not any(host in text for text in texts)


def proxy_options(*, parse_headers: bool) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    conf.register_opts(http_proxy_to_wsgi.OPTS, group="oslo_middleware")
    conf.set_override("enable_proxy_headers_parsing", parse_headers, group="oslo_middleware")
    return conf


@pytest.mark.parametrize("parse_headers", [True, False])
def test_headers_of_a_proxy_count_only_where_they_are_enabled(
    start: StartService, parse_headers: bool
) -> None:
    service = start(conf=proxy_options(parse_headers=parse_headers))
    forwarded = {"HTTP_X_FORWARDED_HOST": "public.example", "HTTP_X_FORWARDED_PROTO": "https"}
    location = create(service, **forwarded).headers["Location"]
    expected = "https://public.example/" if parse_headers else "http://localhost/"
    assert location.startswith(expected)


@pytest.mark.parametrize(
    "forwarded",
    [
        {"HTTP_X_FORWARDED_HOST": 'x"><b>'},
        {"HTTP_X_FORWARDED_PROTO": "javascript"},
    ],
)
def test_invalid_headers_of_a_proxy_are_refused(
    start: StartService, forwarded: dict[str, str]
) -> None:
    service = start(conf=proxy_options(parse_headers=True))
    assert create(service, **forwarded).status_int == 400


def test_the_health_check_answers_any_host(start: StartService) -> None:
    assert send(start(), "/healthcheck", HTTP_HOST="10.0.0.1:xx").status_int == 200
