"""The daemon that drives resources to their goal."""
