"""Traversals that start from a part of their goal."""
