"""Conformance cases of Barbican's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Barbican::{name}", prerequisites, **fields)


def _secret(name: str) -> tuple[str, str, dict[str, Any]]:
    return name, "OS::Barbican::Secret", {"payload": name}


CASES = [
    _case(
        "Secret",
        properties={"payload": "a secret", "algorithm": "aes", "bit_length": 256, "mode": "cbc"},
        attributes={"decrypted_payload": "a secret", "status": "ACTIVE"},
        replacement_properties={"payload": "another secret"},
    ),
    _case(
        "Secret",
        properties={
            "payload": "AP8=",
            "payload_content_type": "application/octet-stream",
            "payload_content_encoding": "base64",
            "secret_type": "symmetric",
        },
        attributes={"decrypted_payload": "AP8="},
        case_label="Secret of bytes",
    ),
    _case("Secret", attributes={"decrypted_payload": None}, case_label="Secret without payload"),
    _case(
        "Order",
        properties={"type": "key", "algorithm": "aes", "bit_length": 256, "mode": "cbc"},
        attributes={"status": "ACTIVE", "private_key": None, "container_ref": None},
    ),
    _case(
        "Order",
        properties={
            "type": "asymmetric",
            "algorithm": "rsa",
            "bit_length": 2048,
            "pass_phrase": "secret",
        },
        attributes={"status": "ACTIVE"},
        emulation_attributes={
            "private_key": "a new private_key",
            "public_key": "a new public_key",
        },
        case_label="Order of a key pair",
    ),
    _case(
        "GenericContainer",
        _secret("first"),
        _secret("second"),
        properties={
            "secrets": [
                {"name": "a", "ref": {"get": "first"}},
                {"name": "b", "ref": {"get": "second"}},
            ]
        },
        attributes={"secret_refs": {"a": {"get": "first"}, "b": {"get": "second"}}},
    ),
    _case(
        "CertificateContainer",
        _secret("certificate"),
        _secret("key"),
        properties={"certificate_ref": {"get": "certificate"}, "private_key_ref": {"get": "key"}},
        attributes={
            "secret_refs": {"certificate": {"get": "certificate"}, "private_key": {"get": "key"}},
            "consumers": [],
        },
    ),
    _case(
        "RSAContainer",
        _secret("private"),
        _secret("public"),
        properties={"private_key_ref": {"get": "private"}, "public_key_ref": {"get": "public"}},
    ),
]
