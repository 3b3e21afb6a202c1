"""Octavia."""
