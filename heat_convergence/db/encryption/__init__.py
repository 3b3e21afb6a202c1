"""Encryption of stored secrets."""
