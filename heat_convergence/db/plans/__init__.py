"""Stored plans in the database."""
