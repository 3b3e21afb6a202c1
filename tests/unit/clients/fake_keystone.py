"""A Keystone in a thread: tokens, trusts, application credentials, users.

As much of the Identity API as ``heat_convergence.client_settings`` uses, over real HTTP.
Every request is noted in ``requests`` as (method, path).
"""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from wsgiref.simple_server import WSGIRequestHandler, make_server

from webob import Request, Response

FUTURE = "2126-01-01T00:00:00.000000Z"
SERVICE_USER, SERVICE_PASSWORD = "heat", "service-password"


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


class KeystoneHttpError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class FakeKeystone:
    """``users``: id → {name, password, domain_id, enabled}; ``trusts``, ``credentials``
    (EC2 too) and ``projects`` by id; ``tokens``: token → what it stands for."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {
            "heat-id": {
                "name": SERVICE_USER,
                "password": SERVICE_PASSWORD,
                "domain_id": "default",
            },
            "demo-id": {"name": "demo", "password": "demo-password", "domain_id": "default"},
            "admin-id": {
                "name": "domain_admin",
                "password": "admin-password",
                "domain_id": "heat-domain",
            },
        }
        self.trusts: dict[str, dict[str, Any]] = {}
        self.application_credentials: dict[str, dict[str, Any]] = {}
        self.projects: dict[str, dict[str, Any]] = {}
        self.ec2: dict[str, dict[str, Any]] = {}
        self.grants: set[tuple[str, str, str]] = set()  # project, user, role
        self.tokens: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.expires_at = FUTURE
        self._serial = itertools.count(1)
        self._server = make_server("127.0.0.1", 0, self._answer, handler_class=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v3"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def secrets(self) -> set[str]:
        """All that nobody else should see; tokens are logged by their hash."""
        kept = (*self.application_credentials.values(), *self.ec2.values())
        passwords = {user["password"] for user in self.users.values()}
        return passwords | {each["secret"] for each in kept} | self.tokens.keys()

    def token_for(self, user_id: str, project_id: str = "p", **more: Any) -> str:
        token = f"token-{next(self._serial)}"
        self.tokens[token] = {"user_id": user_id, "project_id": project_id, **more}
        return token

    # -- HTTP

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        request = Request(environ)
        self.requests.append((request.method, request.path))
        try:
            answer = self._handle(request)
        except KeystoneHttpError as error:
            answer = Response(status=error.status)
            answer.json = {"error": {"code": error.status, "message": str(error)}}
        return answer(environ, start_response)

    def _handle(self, request: Request) -> Response:
        parts = request.path.strip("/").split("/")[1:]
        if not parts:
            return _json(
                {
                    "version": {
                        "id": "v3.14",
                        "status": "stable",
                        "links": [{"rel": "self", "href": self.url + "/"}],
                    }
                }
            )
        if parts == ["auth", "tokens"]:
            return self._log_in(request.json["auth"])
        who = self.tokens.get(request.headers.get("X-Auth-Token", ""))
        if who is None:
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        body = request.json if request.body else {}
        name = f"_{request.method.lower()}_{parts[0].lower().replace('-', '_')}"
        return getattr(self, name)(who, parts[1:], body, request)

    # -- logging in

    def _log_in(self, auth: dict[str, Any]) -> Response:
        identity = auth["identity"]
        method = identity["methods"][0]
        user_id, project_id = getattr(self, f"_by_{method}")(identity[method])
        scope = auth.get("scope", {})
        more: dict[str, Any] = {}
        if "OS-TRUST:trust" in scope:
            trust = self.trusts.get(scope["OS-TRUST:trust"]["id"])
            if trust is None:
                raise KeystoneHttpError(404, "Could not find trust.")
            more["trust_id"] = trust["id"]
            user_id, project_id = trust["trustor_user_id"], trust["project_id"]
        elif "domain" in scope:
            more["domain_id"] = scope["domain"].get("id", "heat-domain")
        elif "project" in scope:
            project_id = scope["project"].get("id") or scope["project"].get("name")
        token = self.token_for(user_id, project_id, **more)
        answer = _json({"token": self.described(self.tokens[token])}, 201)
        answer.headers["X-Subject-Token"] = token
        return answer

    def _by_password(self, given: dict[str, Any]) -> tuple[str, str]:
        wanted = given["user"]
        for user_id, user in self.users.items():
            named = wanted.get("id") == user_id or wanted.get("name") == user["name"]
            if named and wanted["password"] == user["password"]:
                return user_id, "service"
        raise KeystoneHttpError(401, "The request you have made requires authentication.")

    def _by_application_credential(self, given: dict[str, Any]) -> tuple[str, str]:
        known = self.application_credentials.get(given["id"])
        if known is None or known["secret"] != given["secret"]:
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        return known["user_id"], known["project_id"]

    def described(self, token: dict[str, Any]) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        links = [
            {"interface": "public", "region": "R", "region_id": "R", "url": self.url, "id": "e"}
        ]
        scope: dict[str, Any] = {
            "project": {"id": token["project_id"], "name": "p", "domain": domain}
        }
        if "domain_id" in token:
            scope = {"domain": {"id": token["domain_id"], "name": "heat"}}
        return {
            **scope,
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": self.expires_at,
            "user": {"id": token["user_id"], "name": token["user_id"], "domain": domain},
            "roles": [{"id": "member", "name": "member"}],
            "catalog": [{"type": "identity", "name": "keystone", "id": "k", "endpoints": links}],
        }

    # -- trusts

    def _post_os_trust(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        wanted = body["trust"]
        if who["user_id"] != wanted["trustor_user_id"] or "trust_id" in who:
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        trust = {**wanted, "id": f"trust-{next(self._serial)}"}
        self.trusts[trust["id"]] = trust
        return _json({"trust": trust}, 201)

    def _get_os_trust(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        trustee = request.GET["trustee_user_id"]
        if who["user_id"] != trustee:
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        found = [t for t in self.trusts.values() if t["trustee_user_id"] == trustee]
        return _json({"trusts": found})

    def _get_role_assignments(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        project = request.GET["scope.project.id"]
        return _json(
            {
                "role_assignments": [
                    {"user": {"id": user}, "role": {"id": role}, "scope": {"project": {"id": p}}}
                    for p, user, role in sorted(self.grants)
                    if p == project
                ]
            }
        )

    def _delete_os_trust(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        trust = self.trusts.get(parts[1])
        if trust is None:
            raise KeystoneHttpError(404, "Could not find trust.")
        if who["user_id"] not in (trust["trustor_user_id"], "heat-id"):
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        del self.trusts[parts[1]]
        return Response(status=204)

    # -- users, and what belongs to them

    def _post_users(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        made_id = f"made-{next(self._serial)}"
        if not parts:
            if any(body["user"]["name"] == known["name"] for known in self.users.values()):
                raise KeystoneHttpError(409, "Conflict occurred attempting to store user.")
            self.users[made_id] = body["user"]
            return _json({"user": {**body["user"], "id": made_id}}, 201)
        made = {
            **body["application_credential"],
            "id": made_id,
            "secret": f"secret-{made_id}",
            "user_id": parts[0],
            "project_id": who["project_id"],
        }
        self.application_credentials[made_id] = made
        return _json({"application_credential": made}, 201)

    def _delete_users(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        kept = {1: self.users, 3: self.application_credentials}[len(parts)]
        if kept.pop(parts[-1], None) is None:
            raise KeystoneHttpError(404, "Could not find it.")
        return Response(status=204)

    def _get_users(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        if parts:
            found = [
                each
                for each in self.application_credentials.values()
                if each["user_id"] == parts[0]
            ]
            return _json({"application_credentials": found})
        name = request.GET.get("name")
        found = [{**user, "id": key} for key, user in self.users.items() if user["name"] == name]
        return _json({"users": found})

    def _patch_users(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        self.users[parts[0]].update(body["user"])
        return _json({"user": {**self.users[parts[0]], "id": parts[0]}})

    def _post_credentials(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        made = body["credential"]
        keys = json.loads(made["blob"])
        self.ec2[keys["access"]] = {**keys, **made}
        return _json({"credential": made}, 201)

    def _get_credentials(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        wanted = request.GET["user_id"]
        found = [
            {**each, "id": access}
            for access, each in self.ec2.items()
            if each["user_id"] == wanted and each["type"] == request.GET["type"]
        ]
        return _json({"credentials": found})

    def _post_ec2tokens(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        given = body["credentials"]
        known = self.ec2.get(given["access"], {"secret": ""})
        pairs = "&".join(
            f"{quote(k, safe='-_~')}={quote(v, safe='-_~')}"
            for k, v in sorted(given["params"].items())
        )
        text = "\n".join([given["verb"], given["host"], given["path"], pairs])
        wanted = hmac.digest(known["secret"].encode(), text.encode(), "sha256")
        if given["signature"] != base64.b64encode(wanted).decode():
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        if "Timestamp" in given["params"]:  # [credential] auth_ttl: a quarter of an hour
            signed_at = datetime.fromisoformat(given["params"]["Timestamp"])
            if datetime.now(UTC) > signed_at + timedelta(minutes=15):
                raise KeystoneHttpError(401, "Credential is expired")
        project = self.projects[known["project_id"]]
        roles = [
            role
            for p, user, role in self.grants
            if (p, user) == (known["project_id"], known["user_id"])
        ]
        return _json(
            {
                "token": {
                    "user": {"id": known["user_id"]},
                    "project": {**project, "domain": {"id": project["domain_id"]}},
                    "roles": [{"name": role.removeprefix("role-")} for role in roles],
                }
            }
        )

    # -- projects and roles of the stack users' domain

    def _post_projects(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        made = {**body["project"], "id": f"project-{next(self._serial)}"}
        if any(made["name"] == known["name"] for known in self.projects.values()):
            raise KeystoneHttpError(409, "Conflict occurred attempting to store project.")
        self.projects[made["id"]] = made
        return _json({"project": made}, 201)

    def _get_projects(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        name = request.GET.get("name")
        return _json({"projects": [p for p in self.projects.values() if p["name"] == name]})

    def _delete_projects(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        if self.projects.pop(parts[0], None) is None:
            raise KeystoneHttpError(404, "Could not find project.")
        return Response(status=204)

    def _put_projects(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        self.grants.add((parts[0], parts[2], parts[4]))
        return Response(status=204)

    def _get_roles(self, who: Any, parts: Any, body: Any, request: Any) -> Response:
        name = request.GET.get("name")
        return _json({"roles": [{"id": f"role-{name}", "name": name}]})


def _json(document: Any, status: int = 200) -> Response:
    answer = Response(status=status)
    answer.json = document
    return answer
