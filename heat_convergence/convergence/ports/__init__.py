"""Ports of the algorithm: the store, one protocol per noun, the bus, and settings."""
