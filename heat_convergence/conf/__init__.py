"""Configuration options, one file a group."""
