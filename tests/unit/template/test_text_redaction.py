"""Hidden values in messages: unusual ones are masked everywhere, words where they stand alone."""

from __future__ import annotations

import pytest

from heat_convergence.template.text_redaction import redact, redact_values, sensitive_texts

MASKED = [
    ("Secret12", "user:Secret12@host xSecret12y", "user:******@host x******y"),
    ("p@ss", "ap@ssb", "a******b"),
    ("a long passphrase", "xa long passphrasey", "x******y"),
    ("abcdefghijklmnopqrst", "got abcdefghijklmnopqr…", "got ******…"),
    ("Controller", "bad Controller", "bad ******"),
    ("Controller", "'Controller' and Controller.", "'******' and ******."),
    ("hunter", "mysql://root:hunter@db", "mysql://root:******@db"),
    ("hunter", "großhunterß", "groß******ß"),
    ("48151623", "pin 48151623, x=48151623", "pin ******, x=******"),
    ("string", "'string' is not an integer", "'******' is not an integer"),
    ("role-data", "no role-data", "no ******"),
]
SHOWN = [
    ("Controller", "Error in ControllerServiceChain output role_data"),
    ("role", "Error in x output role_data"),
    ("output", "Error in x output y"),
    ("Value", "Value must be a string; got a list"),
    ("8080", "port 18080"),
    ("abc", "abc"),
]


@pytest.mark.parametrize(("secret", "message", "expected"), MASKED)
def test_message_is_masked(secret: str, message: str, expected: str) -> None:
    assert redact(message, sensitive_texts({"a": [secret]})) == expected


@pytest.mark.parametrize(("secret", "message"), SHOWN)
def test_word_inside_other_text_is_shown(secret: str, message: str) -> None:
    assert redact(message, sensitive_texts(secret)) == message


def test_typed_value_is_masked_wherever_a_secret_occurs_in_it() -> None:
    values = {"a": "Controller", "b": ["xControllery", "output"], "c": 12345}
    secrets = set(sensitive_texts(["Controller", "output", 12345]))
    assert redact_values(values, secrets) == {
        "a": "******",
        "b": ["x******y", "******"],
        "c": "******",
    }
