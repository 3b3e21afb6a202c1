"""The console as the API serves it: files, headers, refusals."""

from __future__ import annotations

import configparser
import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from webob import Request, Response

from heat_convergence.api.console.console import Console
from heat_convergence.api.console.local_browser import LocalBrowserCheck
from heat_convergence.common import errors

STATIC = Path(__file__).parents[3] / "heat_convergence" / "console" / "static"
PAGE = (STATIC.parents[2] / "docs" / "use" / "console.rst").read_text()
FILES = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file())


def rest_api(environ: dict[str, Any], start_response: Any) -> Any:
    return Response("the API")(environ, start_response)


@pytest.fixture(scope="module")
def console() -> Console:
    return Console(rest_api, None)


def send(application: Any, path: str, **headers: str) -> Response:
    request = Request.blank("/", headers=headers)
    request.environ["PATH_INFO"] = path
    return request.get_response(application)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_as_it_is(console: Console, name: str) -> None:
    response = send(console, f"/console/{name}")
    assert response.status_int == 200
    assert response.body == (STATIC / name).read_bytes()


def test_address_without_a_slash_leads_to_the_page(console: Console) -> None:
    response = send(console, "/console")
    assert (response.status_int, response.headers["Location"]) == (308, "console/")
    assert "<!DOCTYPE html>" in send(console, "/console/").text


def test_page_may_load_nothing_foreign_and_stand_in_no_frame(console: Console) -> None:
    headers = send(console, "/console/").headers
    parts = headers["Content-Security-Policy"].split("; ")
    policy = dict(part.split(" ", 1) for part in parts)
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_page_holds_no_inline_script_or_style_and_no_foreign_address() -> None:
    page = (STATIC / "index.html").read_text()
    assert "<style" not in page
    assert "style=" not in page
    assert page.count("<script") == page.count('<script type="module" src=') == 1
    for name in FILES:
        text = (STATIC / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        assert "innerHTML" not in text, name


@pytest.mark.parametrize(
    "path",
    [
        "/console/../app.js",
        "/console/lib/../../__init__.py",
        "/console/..%2f__init__.py",
        "/console//etc/passwd",
        "/console/lib",
        "/console/lib/",
        "/console/__init__.py",
        "/console/unknown.js",
        "/console/tokens",
        "/console/\xe9\0",
    ],
)
def test_names_that_are_no_file_are_not_found(console: Console, path: str) -> None:
    response = send(console, path)
    assert response.status_int == 404
    assert response.content_type == "text/plain"
    assert "Content-Security-Policy" in response.headers


def test_files_are_compressed_for_browsers_that_can_read_it(console: Console) -> None:
    response = send(console, "/console/app.js", **{"Accept-Encoding": "gzip, br"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(response.body) == (STATIC / "app.js").read_bytes()
    assert response.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in send(console, "/console/app.js").headers


def test_browser_that_has_a_file_gets_304(console: Console) -> None:
    first = send(console, "/console/app.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again = send(console, "/console/app.js", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_int, again.body) == (304, b"")
    other = {"If-None-Match": first.headers["ETag"], "Accept-Encoding": "gzip"}
    assert send(console, "/console/app.js", **other).status_int == 200


def test_files_are_only_read(console: Console) -> None:
    request = Request.blank("/console/app.js", method="POST", POST=b"x")
    response = request.get_response(console)
    assert (response.status_int, response.headers["Allow"]) == (405, "GET, HEAD")


def test_settings_name_no_login(console: Console) -> None:
    response = send(console, "/console/settings.json")
    assert response.json == {"auth": "none", "project_id": "standalone"}
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/v1/p/stacks", "/consoles", "/v1/console/app.js", "/"])
def test_other_paths_are_the_apis(console: Console, path: str) -> None:
    assert send(console, path).text == "the API"


def test_wheel_has_every_file() -> None:
    setup = configparser.ConfigParser(delimiters=("=",))
    setup.read(STATIC.parents[2] / "setup.cfg")
    patterns = setup["options.package_data"]["heat_convergence.console"].split(", ")
    packed = {path for pattern in patterns for path in STATIC.parent.glob(pattern)}
    assert {STATIC / name for name in FILES} == {path for path in packed if path.is_file()}


def test_whole_console_is_smaller_than_500_kilobytes_as_documented() -> None:
    sizes = [len(gzip.compress((STATIC / name).read_bytes())) for name in FILES]
    assert sum(sizes) < 100_000
    whole = sum((STATIC / name).stat().st_size for name in FILES)
    compressed_kb, whole_kb = round(sum(sizes) / 1000), round(whole / 1000)
    figures = re.search(r"loads (\d+) files, (\d+) KB compressed and (\d+) KB in all", PAGE)
    assert figures is not None
    assert tuple(map(int, figures.groups())) == (len(FILES), compressed_kb, whole_kb)


@pytest.mark.parametrize("host", ["localhost", "localhost:8004", "127.0.0.1:8004", "[::1]:8004"])
def test_requests_of_the_consoles_own_page_pass(host: str) -> None:
    own = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    check = LocalBrowserCheck(rest_api)
    assert send(check, "/v1/p/stacks", **own).text == "the API"
    assert send(check, "/v1/p/stacks", Host=host).text == "the API"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8004"},
        {"Host": "[::1"},
        {"Host": "localhost", "Origin": "http://evil.example"},
        {"Host": "localhost", "Origin": "http://localhost:9000"},
        {"Host": "localhost", "Origin": "null"},
        {"Host": "localhost", "Sec-Fetch-Site": "cross-site"},
        {"Host": "localhost", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(headers: dict[str, str]) -> None:
    check = LocalBrowserCheck(rest_api)
    with pytest.raises(errors.HTTPForbidden):
        send(check, "/v1/p/stacks", **headers)
