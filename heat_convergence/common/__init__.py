"""Errors, identifiers, clock and text utilities that every package may use."""
