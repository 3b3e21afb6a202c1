"""Imports, moves and renames of resources in the simulator, and the rules that they must keep."""
