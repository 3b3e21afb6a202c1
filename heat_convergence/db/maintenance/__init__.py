"""Upgrade, consistency check, purge and key rotation, for operators' commands."""
