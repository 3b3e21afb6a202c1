"""Shipped test support: in-memory twins and the simulator."""
