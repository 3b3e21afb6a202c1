"""Builders of validated goals and desired resources from parsed sources."""
