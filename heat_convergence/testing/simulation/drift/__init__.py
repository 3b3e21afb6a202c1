"""Simulated watch and repairs: foreign changes, incomplete lists, and their rules."""
