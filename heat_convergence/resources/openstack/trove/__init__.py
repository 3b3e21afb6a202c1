"""Trove's types with behavior of their own."""
