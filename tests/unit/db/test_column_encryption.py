"""Secrets at rest: values of a sensitive row cannot be read without the key."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.db.column_types import JsonText
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import (
    Keyring,
    SensitiveValue,
    attach_keyring,
)

TABLE = sa.Table("t", sa.MetaData(), sa.Column("v", JsonText))
SECRET = {"password": "correct horse"}


@pytest.fixture
def database():
    database = database_from_url("sqlite://")
    attach_keyring(database.engine, Keyring(["key one"]))
    with database.write() as connection:
        TABLE.create(connection)
    yield database
    database.close()


def insert_value(database, value):
    with database.write() as connection:
        connection.execute(TABLE.insert(), [{"v": value}])


def read_stored_text(database):
    with database.read() as connection:
        return connection.execute(sa.text("SELECT v FROM t")).scalar_one()


def read_value(database):
    with database.read() as connection:
        return connection.execute(sa.select(TABLE.c.v)).scalar_one()


def test_encrypted_value_round_trip(database):
    insert_value(database, SensitiveValue(SECRET))
    assert "horse" not in read_stored_text(database)
    assert read_value(database) == SECRET


def test_new_key_decrypts_values_of_old_key(database):
    insert_value(database, SensitiveValue(SECRET))
    attach_keyring(database.engine, Keyring(["key two", "key one"]))
    assert read_value(database) == SECRET


def test_value_of_another_key_raises_when_it_is_used(database):
    insert_value(database, SensitiveValue(SECRET))
    attach_keyring(database.engine, Keyring(["another"]))
    found = read_value(database)
    with pytest.raises(StoredValueUnreadable, match="another auth_encryption_key"):
        found["password"]


def test_sensitive_value_needs_a_key(database):
    attach_keyring(database.engine, Keyring([]))
    with pytest.raises(Exception, match="auth_encryption_key is not set"):
        insert_value(database, SensitiveValue(SECRET))
    insert_value(database, SECRET)
    assert read_value(database) == SECRET


@pytest.mark.parametrize("length", [0, 1 << 15, 3 << 20])
def test_long_texts_are_stored_compressed(length: int) -> None:
    text = ("ÿé\U0001f600text " * (length // 8))[:length]
    token = Keyring(["key"]).encrypt(text)
    assert Keyring(["other", "key"]).decrypt(token) == text
    assert not length or len(token) < length / 10


def test_text_that_was_not_compressed_is_read() -> None:
    text = "x" * (2 << 20)
    keyring = Keyring(["key"])
    assert keyring.decrypt(keyring._fernets[0].encrypt(text.encode()).decode()) == text
