"""Stores of other services in which this one exchanges documents with servers."""
