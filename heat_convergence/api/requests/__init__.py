"""Parsers of bodies and query strings; every error names the place of the mistake."""
