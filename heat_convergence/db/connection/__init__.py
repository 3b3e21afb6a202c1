"""Connections to the database: engine, errors, round trips and TLS."""
