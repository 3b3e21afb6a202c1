"""Traversals that repair drift without a request."""
