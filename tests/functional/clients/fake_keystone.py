"""A Keystone in a thread: tokens, trusts, application credentials, users.

Implements as much of the Identity API as ``heat_convergence.clients`` uses, over HTTP. Every
request is recorded in ``requests`` as method and path.
"""

from __future__ import annotations

import base64
import hashlib
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


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


class KeystoneHttpError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class FakeKeystone:
    """Identity API with records in memory.

    Attributes:
        users: Name, password, domain_id and enabled of each user by id.
        trusts: Trusts by id.
        ec2: EC2 credentials by access key.
        projects: Projects by id.
        tokens: User, project and trust of each token.
        catalog: Type, region and URL of endpoints beside Keystone's own, in their order.
    """

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
        self.catalog: list[tuple[str, str, str]] = []
        self.requests: list[tuple[str, str]] = []
        self.expires_at = FUTURE
        self._serial = itertools.count(1)
        self._server = make_server("127.0.0.1", 0, self._respond, handler_class=_QuietHandler)
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
        """Return all passwords, keys and tokens; tokens may be logged by their hash."""
        records = (*self.application_credentials.values(), *self.ec2.values())
        passwords = {user["password"] for user in self.users.values()}
        return passwords | {each["secret"] for each in records} | self.tokens.keys()

    def token_for(self, user_id: str, project_id: str = "p", **more: Any) -> str:
        token = f"token-{next(self._serial)}"
        self.tokens[token] = {"user_id": user_id, "project_id": project_id, **more}
        return token

    # -- HTTP

    def _respond(self, environ: dict[str, Any], start_response: Any) -> Any:
        request = Request(environ)
        self.requests.append((request.method, request.path))
        try:
            response = self._handle(request)
        except KeystoneHttpError as error:
            response = Response(status=error.status)
            response.json = {"error": {"code": error.status, "message": str(error)}}
        return response(environ, start_response)

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
        caller = self.tokens.get(request.headers.get("X-Auth-Token", ""))
        if caller is None:
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        body = request.json if request.body else {}
        name = f"_{request.method.lower()}_{parts[0].lower().replace('-', '_')}"
        return getattr(self, name)(caller, parts[1:], body, request)

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
        response = _json({"token": self.token_document(self.tokens[token])}, 201)
        response.headers["X-Subject-Token"] = token
        return response

    def _by_password(self, method_data: dict[str, Any]) -> tuple[str, str]:
        requested = method_data["user"]
        for user_id, user in self.users.items():
            named = requested.get("id") == user_id or requested.get("name") == user["name"]
            if named and requested["password"] == user["password"]:
                return user_id, "service"
        raise KeystoneHttpError(401, "The request you have made requires authentication.")

    def _by_application_credential(self, method_data: dict[str, Any]) -> tuple[str, str]:
        known = self.application_credentials.get(method_data["id"])
        if known is None or known["secret"] != method_data["secret"]:
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        return known["user_id"], known["project_id"]

    def token_document(self, token: dict[str, Any]) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        own = ("identity", "R", self.url)
        catalog = [_service(*each) for each in (own, *self.catalog)]
        scope: dict[str, Any] = {
            "project": {"id": token["project_id"], "name": "p", "domain": domain}
        }
        if "domain_id" in token:
            scope = {"domain": {"id": token["domain_id"], "name": "heat"}}
        if token.get("trust_id") in self.trusts:
            trust = self.trusts[token["trust_id"]]
            users = {
                who: {"id": trust.get(f"{who}_id")} for who in ("trustor_user", "trustee_user")
            }
            scope["OS-TRUST:trust"] = {"id": trust["id"], "impersonation": True, **users}
        return {
            **scope,
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": self.expires_at,
            "user": {"id": token["user_id"], "name": token["user_id"], "domain": domain},
            "roles": [{"id": "member", "name": "member"}],
            "catalog": catalog,
        }

    # -- trusts

    def _post_os_trust(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        trust_data = body["trust"]
        redelegated = self.trusts.get(caller.get("trust_id", ""), {"allow_redelegation": True})
        allowed = redelegated.get("allow_redelegation", False)
        if caller["user_id"] != trust_data["trustor_user_id"] or not allowed:
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        trust = {**trust_data, "id": f"trust-{next(self._serial)}"}
        self.trusts[trust["id"]] = trust
        return _json({"trust": trust}, 201)

    def _get_os_trust(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        trustee = request.GET["trustee_user_id"]
        if caller["user_id"] != trustee:
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        found = [t for t in self.trusts.values() if t["trustee_user_id"] == trustee]
        return _json({"trusts": found})

    def _get_role_assignments(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
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

    def _delete_os_trust(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        trust = self.trusts.get(parts[1])
        if trust is None:
            raise KeystoneHttpError(404, "Could not find trust.")
        if caller["user_id"] not in (trust["trustor_user_id"], "heat-id"):
            raise KeystoneHttpError(403, "You are not authorized to perform the requested action.")
        del self.trusts[parts[1]]
        return Response(status=204)

    # -- users and their credentials

    def _post_users(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        record_id = f"record-{next(self._serial)}"
        if not parts:
            if any(body["user"]["name"] == known["name"] for known in self.users.values()):
                raise KeystoneHttpError(409, "Conflict occurred attempting to store user.")
            self.users[record_id] = body["user"]
            return _json({"user": {**body["user"], "id": record_id}}, 201)
        record = {
            **body["application_credential"],
            "id": record_id,
            "secret": f"secret-{record_id}",
            "user_id": parts[0],
            "project_id": caller["project_id"],
        }
        self.application_credentials[record_id] = record
        return _json({"application_credential": record}, 201)

    def _delete_users(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        records = {1: self.users, 3: self.application_credentials}[len(parts)]
        if records.pop(parts[-1], None) is None:
            raise KeystoneHttpError(404, "Could not find it.")
        return Response(status=204)

    def _get_users(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        if len(parts) == 1:
            if parts[0] not in self.users:
                raise KeystoneHttpError(404, "Could not find user.")
            return _json({"user": {**self.users[parts[0]], "id": parts[0]}})
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

    def _patch_users(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        self.users[parts[0]].update(body["user"])
        return _json({"user": {**self.users[parts[0]], "id": parts[0]}})

    def _post_credentials(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        record = body["credential"]
        keys = json.loads(record["blob"])
        self.ec2[keys["access"]] = {**keys, **record}
        return _json({"credential": record}, 201)

    def _get_credentials(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        if parts:
            record = self._credential(parts[0])
            return _json({"credential": {**record, "id": parts[0]}})
        user_id = request.GET["user_id"]
        found = [
            {**each, "id": access}
            for access, each in self.ec2.items()
            if each["user_id"] == user_id and each["type"] == request.GET["type"]
        ]
        return _json({"credentials": found})

    def _delete_credentials(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        del self.ec2[self._credential(parts[0])["access"]]
        return Response(status=204)

    def _credential(self, credential_id: str) -> dict[str, Any]:
        for access, record in self.ec2.items():
            if hashlib.sha256(access.encode()).hexdigest() == credential_id:
                return record
        raise KeystoneHttpError(404, "Could not find the credential.")

    def _post_ec2tokens(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        signed = body["credentials"]
        known = self.ec2.get(signed["access"], {"secret": ""})
        pairs = "&".join(
            f"{quote(k, safe='-_~')}={quote(v, safe='-_~')}"
            for k, v in sorted(signed["params"].items())
        )
        text = "\n".join([signed["verb"], signed["host"], signed["path"], pairs])
        expected = hmac.digest(known["secret"].encode(), text.encode(), "sha256")
        if signed["signature"] != base64.b64encode(expected).decode():
            raise KeystoneHttpError(401, "The request you have made requires authentication.")
        if "Timestamp" in signed["params"]:  # [credential] auth_ttl: a quarter of an hour
            signed_at = datetime.fromisoformat(signed["params"]["Timestamp"])
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

    def _post_projects(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        record = {**body["project"], "id": f"project-{next(self._serial)}"}
        if any(record["name"] == known["name"] for known in self.projects.values()):
            raise KeystoneHttpError(409, "Conflict occurred attempting to store project.")
        self.projects[record["id"]] = record
        return _json({"project": record}, 201)

    def _get_projects(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        name = request.GET.get("name")
        if name == "":
            raise KeystoneHttpError(400, "Invalid input for field/attribute name.")
        return _json({"projects": [p for p in self.projects.values() if p["name"] == name]})

    def _delete_projects(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        if self.projects.pop(parts[0], None) is None:
            raise KeystoneHttpError(404, "Could not find project.")
        return Response(status=204)

    def _patch_projects(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        self.projects[parts[0]].update(body["project"])
        return _json({"project": self.projects[parts[0]]})

    def _put_projects(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        self.grants.add((parts[0], parts[2], parts[4]))
        return Response(status=204)

    def _get_roles(self, caller: Any, parts: Any, body: Any, request: Any) -> Response:
        name = request.GET.get("name")
        return _json({"roles": [{"id": f"role-{name}", "name": name}]})


def _json(document: Any, status: int = 200) -> Response:
    response = Response(status=status)
    response.json = document
    return response


def _service(service_type: str, region: str, url: str) -> dict[str, Any]:
    name = f"{service_type} {region}"
    endpoint = {"interface": "public", "region": region, "region_id": region, "url": url}
    return {
        "type": service_type,
        "name": name,
        "id": name,
        "endpoints": [{**endpoint, "id": name}],
    }
