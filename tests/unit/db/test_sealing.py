"""Secrets at rest: what a sensitive row holds can't be read without the key."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heat_convergence.common.errors import InvalidEncryptionKey
from heat_convergence.db.engine import database_for
from heat_convergence.db.sealing import Keyring, Sealed, attach
from heat_convergence.db.types import Json

TABLE = sa.Table("t", sa.MetaData(), sa.Column("v", Json))
SECRET = {"password": "correct horse"}


@pytest.fixture
def database():
    database = database_for("sqlite://")
    attach(database.engine, Keyring(["key one"]))
    with database.write() as connection:
        TABLE.create(connection)
    yield database
    database.close()


def put(database, value):
    with database.write() as connection:
        connection.execute(TABLE.insert(), [{"v": value}])


def stored(database):
    with database.read() as connection:
        return connection.execute(sa.text("SELECT v FROM t")).scalar_one()


def read(database):
    with database.read() as connection:
        return connection.execute(sa.select(TABLE.c.v)).scalar_one()


def test_a_sealed_value_is_read_back_and_not_to_be_seen(database):
    put(database, Sealed(SECRET))
    assert "horse" not in stored(database)
    assert read(database) == SECRET


def test_a_new_key_opens_what_an_old_one_sealed_and_seals_with_itself(database):
    put(database, Sealed(SECRET))
    attach(database.engine, Keyring(["key two", "key one"]))
    assert read(database) == SECRET


def test_a_wrong_key_says_so(database):
    put(database, Sealed(SECRET))
    attach(database.engine, Keyring(["another"]))
    with pytest.raises(InvalidEncryptionKey, match="another auth_encryption_key"):
        read(database)


def test_without_a_key_nothing_secret_is_stored(database):
    attach(database.engine, Keyring([]))
    with pytest.raises(Exception, match="auth_encryption_key is not set"):
        put(database, Sealed(SECRET))
    put(database, SECRET)
    assert read(database) == SECRET
